"""The speed of each host that took measurements, process by process.

`python -m calibration.fit.hosts_seen` lists them.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from calibration.record.host_rounds import quiet, reference_index, speed
from calibration.record.read import MEASUREMENTS
from simulator.hardware.host import Parts
from simulator.hardware.host_speed import parts

_ONE_PROCESS = tuple(
    f"h200_sxm/{suite}.jsonl.gz"
    for suite in (
        "samples",
        "recordings",
        "validation",
        "batches",
        "host",
        "compiled",
        "compiled_validation",
        "fused",
    )
)
"""Files of one machine in one night, on the least loaded host; they count as one process. `fused`
was measured with `generated_3`, in the same process."""
MODEL = 0.189
"""The prediction errors with the host's speed known: 80% of 78 steps whose families were left out
of the fit are within this factor (`calibration.fit.host`)."""


_STEPS = 2
"""Timed steps of a process that is compared with its start."""
_SAME = Parts(1.0, 1.0, 1.0)
_ENOUGH = 10
"""Minimum number of processes on machines with a GPU for a separate spread of that GPU."""


RANKS = (2, 4, 8, 16)
"""Numbers of processes that wait for each other."""


class MeasuredHosts(NamedTuple):
    """The median host over a number of `processes`, and the intervals around it that hold 80% of
    host-bound steps: on all machines, and on those with each GPU that enough processes used.

    `slowest` has the same for steps of several ranks, which wait for the slowest of their hosts, if
    the hosts are independent draws: the median relative to that of one, and the interval around
    it."""

    processes: int
    median: Parts
    spread: tuple[float, float]
    spread_with: dict[str, tuple[float, float]]
    slowest: dict[int, tuple[float, float, float]]


class Process(NamedTuple):
    """A file that a process wrote, and the times of the fixed steps at the start of the process.
    `beside` has, for each step with probes, the time factors of the host relative to
    `host_rounds.quiet`."""

    file: str
    at_start: dict[str, float]
    beside: list[Parts]

    def speed(self, reference: Mapping[str, float], times_start: Parts) -> Parts:
        """Time factors of the host: the mean over the timed steps, since a step takes the mean of
        the speeds that a host has meanwhile. If no step was timed, `times_start` times the factors
        at the start."""
        if self.beside:
            return _mean(self.beside)
        return Parts(*(a * b for a, b in zip(self.started(reference), times_start, strict=True)))

    def started(self, reference: Mapping[str, float]) -> Parts:
        """Time factors of the host at the start of the process."""
        return parts(self.at_start, reference)


def beside_over_start(of: Sequence[Process], reference: Mapping[str, float]) -> Parts:
    """The time factors of a host beside the steps of a process over those at its start: the median
    over the processes that timed both for at least `_STEPS` steps. Fixed steps at the start find
    the process alone on an idle machine."""
    ratios = [
        [a / b for a, b in zip(each.speed(reference, _SAME), each.started(reference), strict=True)]
        for each in of
        if len(each.beside) >= _STEPS
    ]
    return Parts(*(float(x) for x in np.median(np.array(ratios), axis=0))) if ratios else _SAME


def processes() -> Iterator[Process]:
    """Every process that timed the fixed steps."""
    for path in sorted(MEASUREMENTS.glob("*/*.jsonl.gz")):
        process = None
        with gzip.open(path, "rt") as lines:
            for line in lines:
                if '"host_index"' in line:
                    row = json.loads(line[line.index("{") :])
                    index = row.get("host_index") or row.get("process", {}).get("host_index")
                    if index:
                        if process:
                            yield process
                        process = Process(f"{path.parent.name}/{path.name}", index, [])
                elif process and '"probes"' in line:
                    process.beside.extend(_beside(json.loads(line)))
        if process:
            yield process


def _beside(row: dict[str, Any]) -> list[Parts]:
    """The speed of the host beside a step: the mean of the probes before and after it, or before
    each of its rounds; none if it has no probes."""
    probes = row.get("probes")
    rounds = (
        probes if isinstance(probes, list) else [r.get("probes") for r in row.get("rounds", ())]
    )
    speeds = [speed(each, quiet()) for each in rounds if each]
    return [_mean(speeds)] if speeds else []


def measured_hosts(reference: Mapping[str, float]) -> MeasuredHosts:
    """All hosts relative to a reference."""
    one_night: list[Parts] = []
    gpus: dict[str, list[list[Parts]]] = {}  # the speeds beside each step of each process
    every_process = list(processes())
    times_start = beside_over_start(every_process, reference)
    for process in every_process:
        gpu = process.file.split("/")[0].removesuffix("_second")
        if process.file in _ONE_PROCESS:
            one_night.append(process.speed(reference, times_start))
        else:
            steps = process.beside or [process.speed(reference, times_start)]
            gpus.setdefault(gpu, []).append(steps)
    if one_night:
        gpus.setdefault(_ONE_PROCESS[0].split("/")[0], []).append([_median(one_night)])
    every = [one for each in gpus.values() for one in each]
    means = [_mean(each) for each in every]
    middle = _median(means)
    enough = {gpu: each for gpu, each in gpus.items() if len(each) >= _ENOUGH}
    with_gpu = {gpu: _spread(each, middle) for gpu, each in enough.items()}
    drivers = [mean.driver / middle.driver for mean in means]
    slowest = {ranks: _slowest(drivers, ranks) for ranks in RANKS}
    return MeasuredHosts(len(every), middle, _spread(every, middle), with_gpu, slowest)


def _spread(hosts: Sequence[Sequence[Parts]], middle: Parts) -> tuple[float, float]:
    """The 10th and 90th percentile of measured over predicted times of steps, on hosts predicted as
    `middle`. `hosts` are the speeds beside the steps of each process; all processes count alike."""
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


def _slowest(drivers: list[float], ranks: int) -> tuple[float, float, float]:
    """The median of the largest of `ranks` draws, and the interval around it."""
    # the largest of n draws is below x with the n-th power of the probability of one
    low, middle, high = np.quantile(drivers, np.array([0.1, 0.5, 0.9]) ** (1 / ranks))
    return round(float(middle), 2), *_widened(low / middle, high / middle)


def _mean(hosts: Sequence[Parts]) -> Parts:
    """The mean of each part."""
    return Parts(*(float(x) for x in np.mean(np.array(hosts), axis=0)))


def _median(hosts: list[Parts]) -> Parts:
    """The median of each part."""
    return Parts(*(float(x) for x in np.median(np.array(hosts), axis=0)))


def main() -> None:
    """Print a line for each process."""
    reference = reference_index()
    every = list(processes())
    times_start = beside_over_start(every, reference)
    print(f"beside the steps of a process over its start: {times_start}")
    for process in every:
        times = process.speed(reference, times_start)
        where = f"beside {len(process.beside)}" if process.beside else "at its start"
        print(f"{times.interpreter:5.2f} {times.driver:5.2f}  {process.file}, {where}")
    print(measured_hosts(reference))


if __name__ == "__main__":
    main()
