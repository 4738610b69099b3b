"""Sweeps over the batch: is the regime the measured one, and where does it change?

A step is ruled by overhead where doubling its batch takes less than √2 times as long: the GPU,
which has twice as much to do, is not what is waited for. That can be read off a measured sweep as
well as off a predicted one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from calibration.record.read import Timed, timed
from calibration.validate.trace_fidelity import retrace
from simulator import predict_trace
from simulator.hardware.host import Host


@dataclass(frozen=True)
class Sweep:
    """One network over batches; measured and predicted seconds a step."""

    name: str
    batches: tuple[int, ...]
    measured_s: tuple[float, ...]
    predicted_s: tuple[float, ...]

    @property
    def agreement(self) -> list[bool]:
        """For each doubling: do both say that overhead rules, or both that it does not?"""
        pairs = zip(growth(self.measured_s), growth(self.predicted_s), strict=True)
        return [(a < 0.5) == (b < 0.5) for a, b in pairs]

    @property
    def crossings(self) -> tuple[float | None, float | None]:
        """The batch at which overhead ceases to rule, measured and predicted."""
        return crossing(self.batches, self.measured_s), crossing(self.batches, self.predicted_s)


def growth(seconds: Sequence[float]) -> list[float]:
    """Binary logarithm of what each doubling multiplies the time by: 0 where nothing changes, 1
    where the time doubles too."""
    return [float(np.log2(b / a)) for a, b in pairwise(seconds)]


def crossing(batches: Sequence[int], seconds: Sequence[float]) -> float | None:
    """The batch at which `growth` rises through 0.5, on a logarithmic axis between the middles of
    two doublings; None where it does not."""
    slopes = growth(seconds)
    middles = [float(np.log2(batch) + 0.5) for batch in batches[:-1]]
    for (x0, y0), (x1, y1) in pairwise(zip(middles, slopes, strict=True)):
        if y0 < 0.5 <= y1:
            return float(2 ** (x0 + (0.5 - y0) / (y1 - y0) * (x1 - x0)))
    return None


def sweeps(host: Host) -> list[Sweep]:
    """Every recorded sweep, predicted with this host."""
    groups: dict[str, list[Timed]] = {}
    for each in timed("batches"):
        groups.setdefault(each.name.rsplit("/b", 1)[0], []).append(each)
    each_batch: list[Sweep] = []
    for name, each in groups.items():
        each.sort(key=lambda t: t.case["batch"])
        predicted = [predict_trace(retrace(t.case), host=host).period_s for t in each]
        batches = tuple(t.case["batch"] for t in each)
        each_batch.append(Sweep(name, batches, tuple(t.period_s for t in each), tuple(predicted)))
    return each_batch
