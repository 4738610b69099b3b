"""Sweeps over the batch: compare the predicted regime, and where it changes, with the measured one.

A step is overhead-bound if it takes less than √2 times as long with twice the batch, since the GPU
then has twice the work without being the bottleneck. This can be determined from measured and from
predicted sweeps.
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
    """One network over batches, with measured and predicted seconds per step."""

    name: str
    batches: tuple[int, ...]
    measured_s: tuple[float, ...]
    predicted_s: tuple[float, ...]

    @property
    def agreement(self) -> list[bool]:
        """For each doubling, whether measurement and prediction agree on the overhead regime."""
        pairs = zip(growth(self.measured_s), growth(self.predicted_s), strict=True)
        return [(a < 0.5) == (b < 0.5) for a, b in pairs]

    @property
    def crossings(self) -> tuple[float | None, float | None]:
        """The batch at which the overhead regime ends, measured and predicted."""
        return crossing(self.batches, self.measured_s), crossing(self.batches, self.predicted_s)


def growth(seconds: Sequence[float]) -> list[float]:
    """The binary logarithm of the time ratio of each doubling: 0 if the time does not change, 1 if
    it doubles too."""
    return [float(np.log2(b / a)) for a, b in pairwise(seconds)]


def crossing(batches: Sequence[int], seconds: Sequence[float]) -> float | None:
    """The batch at which `growth` rises through 0.5, on a logarithmic axis between the middles of
    two doublings; None if it never does."""
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
