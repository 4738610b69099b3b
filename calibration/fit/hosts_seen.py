"""The speed of every host that made a measurement here: one index per process, from its first
lines.

`python -m calibration.fit.hosts_seen` lists them.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from calibration.record.read import MEASUREMENTS
from simulator.hardware.host import Parts
from simulator.hardware.host import host as find_host
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
"""Files of one machine in one night, on the calmest host; together they count as one process.
`fused` was measured with `generated_3`, in the same process."""
_BLIND = ("packages_second", "own", "blind_calls", "varied")
"""How the names of the files begin that were measured on the machines of the blind sets: no host is
fitted to those."""
MODEL = 0.15
"""The 80% range of prediction errors with the host's speed known."""


class Seen(NamedTuple):
    """The median over a number of `processes`, and where 80% of host-bound steps lie around it."""

    processes: int
    median: Parts
    spread: tuple[float, float]


def indexes() -> Iterator[tuple[str, dict[str, float]]]:
    """The file and what the fixed steps took, for each process."""
    for path in sorted(MEASUREMENTS.glob("*/*.jsonl.gz")):
        if path.name.startswith(_BLIND):
            continue
        with gzip.open(path, "rt") as lines:
            for line in lines:
                if '"host_index"' in line:
                    row = json.loads(line[line.index("{") :])
                    index = row.get("host_index") or row.get("process", {}).get("host_index")
                    if index:
                        yield f"{path.parent.name}/{path.name}", index


def seen(reference: Mapping[str, float]) -> Seen:
    """All hosts beside a reference."""
    one_night: list[Parts] = []
    each: list[Parts] = []
    for name, index in indexes():
        (one_night if name in _ONE_PROCESS else each).append(parts(index, reference))
    if one_night:
        each.append(_middle(one_night))
    middle = _middle(each)
    ratios = np.log([one.driver / middle.driver for one in each])
    low, high = np.quantile(ratios, [0.1, 0.9])
    around = (-np.hypot(low, np.log1p(MODEL)), np.hypot(high, np.log1p(MODEL)))
    least, most = (round(float(np.exp(x)), 2) for x in around)
    return Seen(len(each), middle, (least, most))


def _middle(hosts: list[Parts]) -> Parts:
    return Parts(*(float(x) for x in np.median(np.array(hosts), axis=0)))


def main() -> None:
    """A line for each process."""
    for name, index in indexes():
        print(f"{parts(index, find_host().reference).driver:5.2f}  {name}")


if __name__ == "__main__":
    main()
