"""The data of a roofline: ceilings, ends of the axes, parts of overhead. No painting."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby

import numpy as np

from app.answers.figures import causes
from app.quantities import number, scaled
from app.scenes.launches import LaunchGroup
from simulator.prediction import Prediction
from simulator.timing.ceilings import Rate, peaks, rates
from simulator.timing.profile import learned

_LEAST_INTENSITY = 1e-3
_DECADES = 6.5  # shown below the highest ceiling


@dataclass(frozen=True)
class Ceiling:
    """Peaks of equal rate, in FLOP/s; `used` is true if a kernel runs on one of them."""

    name: str
    flops_per_s: float
    measured_flops_per_s: float | None
    used: bool

    @property
    def label(self) -> str:
        """The name and the rate, with the measured rate in the same unit."""
        return self.labels[0]

    @property
    def labels(self) -> tuple[str, str, str]:
        """Labels from the longest to the shortest."""
        return _labels(self.name, self.flops_per_s, self.measured_flops_per_s)


@dataclass(frozen=True)
class Roof:
    """The ceilings of a prediction: `engines` with the highest first, `memories` with DRAM
    first."""

    engines: tuple[Ceiling, ...]
    memories: tuple[Rate, ...]
    dram_name: str

    @property
    def main(self) -> Ceiling:
        """The highest ceiling in use."""
        return next((c for c in self.engines if c.used), self.engines[0])

    @property
    def ridge(self) -> float:
        """FLOPs per byte at which the main ceiling meets DRAM's ceiling."""
        return self.main.flops_per_s / self.memories[0].known_bytes_per_s

    def label(self, memory: Rate) -> str:
        """The name and rate of a level of memory."""
        name = self.dram_name if memory.level == "DRAM" else memory.level
        if memory.bytes_per_s is None:
            return f"{name} {scaled(memory.known_bytes_per_s, 'B/s')}, measured"
        return f"{name} {_rates(memory.bytes_per_s, memory.measured_bytes_per_s, 'B/s')}"


@lru_cache(maxsize=256)
def _labels(name: str, sheet: float, measured: float | None) -> tuple[str, str, str]:
    """The labels of a ceiling. They do not change while a slider moves."""
    plain = f"{name} {scaled(sheet, 'FLOP/s')}"
    whole = f"{name} {_rates(sheet, measured, 'FLOP/s')}"
    return whole, plain, plain.removesuffix("FLOP/s")  # "989 T", as on the axis


@lru_cache(maxsize=256)
def _rates(sheet: float, measured: float | None, unit: str) -> str:
    text = scaled(sheet, unit)
    if measured is None:
        return text
    per = float(sheet) / float(
        text.partition(" ")[0].replace(",", "")
    )  # the size of the unit shown
    return f"{text}, measured {number(measured / per)}"


def roof(p: Prediction, groups: list[LaunchGroup]) -> Roof:
    """The GPU's peaks and memories; identical peaks of an engine share a line."""
    used = {(a.engine, a.peak_flops_per_s) for a in groups if a.flops}
    dtypes = {(a.engine, a.dtype) for a in groups if a.flops}
    profile = learned(p.gpu.id)
    lines: list[Ceiling] = []
    for key, same in groupby(peaks(p.gpu, profile), lambda k: (k.engine, k.flops_per_s)):
        each = list(same)
        used_peaks = [k for k in each if (k.engine, k.dtype) in dtypes] or each
        measured = [k.measured_flops_per_s for k in used_peaks if k.measured_flops_per_s]
        name = f"{', '.join(k.dtype for k in used_peaks)} {key[0]}"
        lines.append(Ceiling(name, key[1], max(measured, default=None), key in used))
    name = (p.gpu.memory_type or "DRAM").rstrip("e0123456789")
    return Roof(tuple(lines), rates(p.gpu, profile), name if name == "HBM" else "DRAM")


@dataclass(frozen=True)
class Ends:
    """The ends of both axes: FLOP/byte and FLOP/s."""

    x: tuple[float, float]
    y: tuple[float, float]


def ends(groups: list[LaunchGroup], roofs: Roof) -> Ends:
    """The ends of axes that contain every mark, the ridge, and the ceiling above the highest one in
    use."""
    intensity = [a.intensity for a in groups if a.flops]
    achieved = [a.achieved_flops_per_s for a in groups if a.flops]
    left = max(_LEAST_INTENSITY, min([*intensity, roofs.ridge / 300]) / 3)
    right = max([*(i * 3 for i in intensity), roofs.ridge * 25])
    top = roofs.main.flops_per_s * 6
    floor = min([*achieved, left * roofs.memories[0].known_bytes_per_s / 3]) / 2
    return Ends((left, right), (max(floor, top / 10**_DECADES), top))


@dataclass(frozen=True)
class RooflineScene:
    """The contents of a roofline: groups of launches, the heaviest first, and those of a
    baseline."""

    prediction: Prediction
    groups: tuple[LaunchGroup, ...]
    before: tuple[LaunchGroup, ...]
    roof: Roof
    ends: Ends


def roofline_scene(
    p: Prediction, groups: list[LaunchGroup], before: list[LaunchGroup] | None = None
) -> RooflineScene:
    """The scene of a prediction's groups, with axes that contain all of them."""
    ceilings = roof(p, groups)
    around = ends([*groups, *(before or [])], ceilings)
    return RooflineScene(p, tuple(groups), tuple(before or ()), ceilings, around)


def overhead_parts(p: Prediction) -> list[tuple[str, float]]:
    """A step's overhead in seconds: waiting for the host, launch gaps, fixed parts, syncs."""
    waits = dict(causes(p))
    return [
        ("host wait", waits["waiting for the host"]),
        ("launch gaps", waits["between kernels"]),
        ("fixed parts", float(np.sum(p.columns.fixed_s))),
        ("sync", waits["waiting for a sync"]),
    ]
