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


class MeasuredHosts(NamedTuple):
    """The median host over a number of `processes`, and the interval around it that holds 80% of
    host-bound steps."""

    processes: int
    median: Parts
    spread: tuple[float, float]


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
    each: list[Parts] = []
    for process in processes():
        (one_night if process.file in _ONE_PROCESS else each).append(process.speed(reference))
    if one_night:
        each.append(_median(one_night))
    middle = _median(each)
    ratios = np.log([one.driver / middle.driver for one in each])
    low, high = np.quantile(ratios, [0.1, 0.9])
    around = (-np.hypot(low, np.log1p(MODEL)), np.hypot(high, np.log1p(MODEL)))
    least, most = (round(float(np.exp(x)), 2) for x in around)
    return MeasuredHosts(len(each), middle, (least, most))


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
