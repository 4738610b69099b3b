"""The speed of each host that took measurements, process by process.

`python -m calibration.fit.hosts_seen` lists them.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
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
MODEL = 0.15
"""The 80% range of prediction errors with the host's speed known."""


_ENOUGH = 10
"""Processes on machines with a GPU that give it a spread of its own."""


class MeasuredHosts(NamedTuple):
    """The median host over a number of `processes`, and the intervals around it that hold 80% of
    host-bound steps: on all machines, and on those with each GPU that enough processes used."""

    processes: int
    median: Parts
    spread: tuple[float, float]
    spread_with: dict[str, tuple[float, float]]


class Process(NamedTuple):
    """A file that a process wrote, the times of the fixed steps at the start of the process, and,
    for each of its steps, the time factors of its host relative to `host_rounds.quiet` if they were
    timed."""

    file: str
    at_start: dict[str, float]
    beside: list[Parts]

    def speed(self, reference: Mapping[str, float]) -> Parts:
        """Time factors of the host: the median over the timed steps, or the factors at the start if
        no step was timed."""
        return _median(self.beside) if self.beside else parts(self.at_start, reference)


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
    """The speed of the host before and after a step, or before each of its rounds."""
    probes = row.get("probes")
    rounds = (
        probes if isinstance(probes, list) else [r.get("probes") for r in row.get("rounds", ())]
    )
    return [speed(each, quiet()) for each in rounds if each]


def measured_hosts(reference: Mapping[str, float]) -> MeasuredHosts:
    """All hosts relative to a reference."""
    one_night: list[Parts] = []
    gpus: dict[str, list[Parts]] = {}
    for process in processes():
        gpu = process.file.split("/")[0].removesuffix("_second")
        each = one_night if process.file in _ONE_PROCESS else gpus.setdefault(gpu, [])
        each.append(process.speed(reference))
    if one_night:
        gpus.setdefault(_ONE_PROCESS[0].split("/")[0], []).append(_median(one_night))
    every = [one for each in gpus.values() for one in each]
    middle = _median(every)
    enough = {gpu: each for gpu, each in gpus.items() if len(each) >= _ENOUGH}
    with_gpu = {gpu: _spread(each, middle) for gpu, each in enough.items()}
    return MeasuredHosts(len(every), middle, _spread(every, middle), with_gpu)


def _spread(hosts: list[Parts], middle: Parts) -> tuple[float, float]:
    """The 10th and 90th percentile of measured over predicted times, on hosts predicted as
    `middle`."""
    ratios = np.log([one.driver / middle.driver for one in hosts])
    low, high = np.quantile(ratios, [0.1, 0.9])
    error = np.log1p(MODEL)
    # the model's error widens the range of hosts: by itself where all are on one side of `middle`
    least = -np.hypot(low, error) if low < 0 else low - error
    most = np.hypot(high, error) if high > 0 else high + error
    return round(float(np.exp(least)), 2), round(float(np.exp(most)), 2)


def _median(hosts: list[Parts]) -> Parts:
    """The median of each part."""
    return Parts(*(float(x) for x in np.median(np.array(hosts), axis=0)))


def main() -> None:
    """Print a line for each process."""
    reference = reference_index()
    for process in processes():
        times = process.speed(reference)
        where = f"beside {len(process.beside)}" if process.beside else "at its start"
        print(f"{times.interpreter:5.2f} {times.driver:5.2f}  {process.file}, {where}")
    print(measured_hosts(reference))


if __name__ == "__main__":
    main()
