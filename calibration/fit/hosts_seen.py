"""The speed of each host while it measured its steps, process by process.

`python -m calibration.fit.hosts_seen` lists them.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from calibration.record.host_rounds import quiet, speed
from calibration.record.read import MEASUREMENTS, measured_on
from simulator.hardware.host import Parts

MODEL = 0.25
"""The prediction errors if the host's speed is known from the probes around each step: 80% of 511
host-bound steps from transformers, timm and networks in users' style are within this factor
(`calibration.validate.packages`). Each of 12 processes has the same weight."""
STEPS = 10
"""A process counts only if at least this number of its steps have probes. A process that timed the
fixed steps only at its start had the machine to itself at that time, and its later steps take
longer."""
_ENOUGH = 10
"""Minimum number of processes on machines with a GPU for a separate spread of that GPU."""
RANKS = (2, 4, 8, 16)
"""Numbers of processes that wait for each other."""


class MeasuredHosts(NamedTuple):
    """The median host over a number of `processes`, and the intervals around it that hold 80% of
    host-bound steps: on all machines, and on those with each GPU that enough processes used.

    `slowest` has the same for steps of several ranks, which wait for the slowest of their hosts:
    the median relative to that of one, and the interval around it. The median is that of
    independent draws of processes. The interval is the spread between moments on one machine, whose
    ranks are disturbed independently of each other: of four H200s, 14% of the ranks' probes were
    disturbed and at least one in 42% of the moments, which is 46% for independent ranks
    (`calibration/measurements/h200_sxm_x4/exchange_calls`)."""

    processes: int
    median: Parts
    spread: tuple[float, float]
    spread_with: dict[str, tuple[float, float]]
    slowest: dict[int, tuple[float, float, float]]


class Process(NamedTuple):
    """A file that a process wrote. `beside` has the time factors of the host next to each of its
    steps with probes, relative to `host_rounds.quiet`."""

    file: str
    beside: list[Parts]

    @property
    def speed(self) -> Parts:
        """The mean time factors over the steps: a step runs at the mean of the speeds that its host
        has during the step."""
        return _mean(self.beside)


def processes() -> Iterator[Process]:
    """Every process that timed the fixed steps next to at least `STEPS` of its own steps."""
    for path in sorted(MEASUREMENTS.glob("*/*.jsonl.gz")):
        of_file: list[Process] = []
        with gzip.open(path, "rt") as lines:
            for line in lines:
                if '"host_index"' in line:
                    of_file.append(Process(f"{path.parent.name}/{path.name}", []))
                elif of_file and '"probes"' in line:
                    of_file[-1].beside.extend(_beside(json.loads(line)))
        yield from (process for process in of_file if len(process.beside) >= STEPS)


def _beside(row: dict[str, Any]) -> list[Parts]:
    """The speed of the host next to a step: the mean of the probes before and after it, or before
    each of its rounds; empty if the step has no probes."""
    probes = row.get("probes")
    if isinstance(probes, list):
        rounds = cast(list[Any], probes)
    else:
        rounds = [each.get("probes") for each in row.get("rounds", ())]
    speeds = [speed(each, quiet()) for each in rounds if each]
    return [_mean(speeds)] if speeds else []


def measured_hosts() -> MeasuredHosts:
    """The hosts of all processes that count, relative to `host_rounds.quiet`."""
    every = list(processes())
    gpus: dict[str, list[list[Parts]]] = {}
    for process in every:
        gpu = process.file.split("/")[0].removesuffix("_second")
        gpus.setdefault(gpu, []).append(process.beside)
    hosts = [process.beside for process in every]
    middle = _median([process.speed for process in every])
    enough = {gpu: each for gpu, each in gpus.items() if len(each) >= _ENOUGH}
    with_gpu = {gpu: _spread(each, middle) for gpu, each in enough.items()}
    drivers = [process.speed.driver / middle.driver for process in every]
    beside = [np.array([step.driver for step in each]) / middle.driver for each in hosts]
    slowest = {ranks: _slowest(drivers, beside, ranks) for ranks in RANKS}
    return MeasuredHosts(len(every), middle, _spread(hosts, middle), with_gpu, slowest)


def _spread(hosts: Sequence[Sequence[Parts]], middle: Parts) -> tuple[float, float]:
    """The 10th and 90th percentile of measured over predicted times of steps, on hosts predicted as
    `middle`. `hosts` are the speeds next to the steps of each process; all processes have the same
    weight."""
    drivers = [step.driver / middle.driver for each in hosts for step in each]
    weights = [1 / len(each) for each in hosts for _ in each]
    low, high = np.quantile(drivers, [0.1, 0.9], weights=weights, method="inverted_cdf")
    return _widened(float(low), float(high))


def _widened(low: float, high: float) -> tuple[float, float]:
    """A range of hosts, widened by the errors of the model. A low end below 1 and a high end above
    1 are combined with these errors as independent; any other end is shifted by them."""
    error = np.log1p(MODEL)
    down, up = np.log([low, high])
    least = -np.hypot(down, error) if down < 0 else down - error
    most = np.hypot(up, error) if up > 0 else up + error
    return round(float(np.exp(least)), 2), round(float(np.exp(most)), 2)


def _slowest(
    drivers: list[float], beside: Sequence[NDArray[np.float64]], ranks: int
) -> tuple[float, float, float]:
    """The median of the largest of `ranks` draws from `drivers`, and the interval around it. The
    interval is that of the largest of `ranks` moments of one process; `beside` has the moments of
    each."""
    # the largest of n draws is below x with the n-th power of one draw's probability
    (middle,) = np.quantile(drivers, [0.5 ** (1 / ranks)]).tolist()
    moments = [np.sort(each) for each in beside]
    weights = [np.diff(np.linspace(0, 1, each.size + 1) ** ranks) for each in moments]
    low, high = np.quantile(
        np.concatenate(moments),
        [0.1, 0.9],
        weights=np.concatenate(weights),
        method="inverted_cdf",
    )
    return round(middle, 2), *_widened(float(low) / middle, float(high) / middle)


def _mean(hosts: Sequence[Parts]) -> Parts:
    """The mean of each part."""
    return Parts(*(float(x) for x in np.mean(np.array(hosts), axis=0)))


def _median(hosts: list[Parts]) -> Parts:
    """The median of each part."""
    return Parts(*(float(x) for x in np.median(np.array(hosts), axis=0)))


def main() -> None:
    """Print a line for each process: how much longer Python and ops took than on the reference,
    and where and when."""
    for process in processes():
        times = process.speed
        gpu, _, name = process.file.partition("/")
        day = measured_on(name.removesuffix(".jsonl.gz"), gpu)
        print(
            f"{times.interpreter:5.2f} {times.driver:5.2f}  {process.file}, during "
            f"{len(process.beside)} steps on {day}"
        )
    print(measured_hosts())


if __name__ == "__main__":
    main()
