"""Fit one curve of a profile to measured kernels: first the kernel model, then its residuals."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from calibration.fit.residual import fit_residual
from calibration.fit.solvers import least_squares
from calibration.record.samples import Sample
from simulator.hardware.gpu import GPU
from simulator.timing.kernel_models import overlap_slowdown, roofline_terms, smooth
from simulator.timing.profile import Profile, Tiles, Traffic
from simulator.timing.roofline import ALL_HOT
from simulator.timing.work_columns import Group, group

Floats = NDArray[np.float64]

_JUDGED = 500  # maximum number of samples for the fit of a curve's kernel model
_WINOGRAD = 2.25  # factor by which the algorithm reduces the products of a 3×3 convolution
_TILE_LIMITS = {
    "utilisation": (0.02, _WINOGRAD), "feed": (2.0, 500.0), "narrow": (0.1, 500.0),
    "wave_s": (1e-8, 2e-5), "split_s": (5e-7, 2e-5), "dram": (0.1, 0.91), "l2": (0.03, 1.0),
    "fixed_s": (5e-7, 2e-5), "unaligned": (1.0, 8.0), "cold_s": (1e-9, 1e-5), "alone": (1.0, 8.0),
    "masked": (1.0, 8.0), "edge": (1.0, 8.0),
}  # fmt: skip
_HEADS_OWN = {"alone", "masked", "edge", "narrow"}
_PRODUCTS_OWN = {"split_s", "unaligned", "feed"}


WHEREVER = ("gemm_vector", "pointwise_strided")
"""Curves whose residual does not depend on where the operands are. The residual is equally accurate
on held-out kernels, and no kernel is predicted to be slower from L2 than from DRAM, which would be
clipped."""


class Measured:
    """Samples of one curve, stacked once for many evaluations."""

    def __init__(self, name: str, samples: Sequence[Sample]) -> None:
        self.name = name
        self.group = group([s.work for s in samples], [name] * len(samples))
        self.hot = np.array([s.hot for s in samples])
        self.dirty = np.array([s.dirty for s in samples])
        self.seconds = np.array([s.seconds for s in samples])

    def errors(self, gpu: GPU, profile: Profile) -> Floats:
        """log(predicted / measured) of each sample, by the kernel model."""
        terms = roofline_terms(self.group, gpu, profile)
        cold_s = terms.cold_s + terms.written_back_s * self.dirty
        memory_s = cold_s * (1 - self.hot) + terms.hot_s * self.hot
        total = np.maximum(terms.compute_s, memory_s)
        if smooth(self.name):
            total = total * overlap_slowdown(terms.compute_s, memory_s)
        total = total + terms.fixed_s + terms.latency_s * (self.hot < ALL_HOT)
        return np.log(total / self.seconds)


def _solve(
    make: Callable[[Floats], Profile],
    starts: Sequence[Floats | Sequence[float]],
    low: Sequence[float],
    high: Sequence[float],
    measured: Measured,
    gpu: GPU,
) -> Floats:
    """The best fit from several starting points: a limit that is active at none of the samples at
    one start has no gradient there."""

    def residuals(log_values: Floats) -> Floats:
        return np.clip(measured.errors(gpu, make(np.exp(log_values))), -5, 5)

    every = [
        least_squares(
            residuals,
            np.log(start),
            bounds=(np.log(low), np.log(high)),
            loss="soft_l1",
            f_scale=0.1,
            diff_step=0.02,
            max_nfev=40,
        )
        for start in starts
    ]
    best = min(every, key=lambda each: each.cost)
    return np.array([float(f"{v:.4g}") for v in np.exp(best.x).tolist()])


def fit_curve(name: str, samples: Sequence[Sample], gpu: GPU, base: Profile) -> Profile:
    """`base` with one curve fitted: first its kernel model, then its residual by shape."""
    measured = Measured(name, samples)
    judged = Measured(name, _spread(samples))
    old, fitted = _start_of(name, base), base
    if old is not None:
        free = [f for f in _TILE_LIMITS if f not in (_PRODUCTS_OWN if _heads(name) else _HEADS_OWN)]

        def tiled(v: Floats) -> Profile:
            tiles = msgspec.structs.replace(old, **dict(zip(free, v.tolist(), strict=True)))
            return msgspec.structs.replace(base, tiles={**base.tiles, name: tiles})

        low, high = zip(*(_TILE_LIMITS[f] for f in free), strict=True)
        if not name.startswith("conv"):
            high = (1.0, *high[1:])  # apart from its FLOPs, a product executes no instructions
        start = np.clip([getattr(old, f) for f in free], np.array(low) * 1.01, high)
        fitted = tiled(_solve(tiled, [start.tolist()], low, high, judged, gpu))
    elif len(samples) >= 4:

        def profile_of(v: Floats) -> Profile:
            traffic = {**base.traffic, name: Traffic(*v.tolist())}
            return msgspec.structs.replace(base, traffic=traffic)

        start = [14.0, 0.5, 0.5, 1.5e-6, 5e-7, 5e10, 1e-9, 60.0, 1e-9]
        low = [0.3, 0.02, 0.01, 2e-7, 1e-9, 1e6, 1e-12, 1e-3, 1e-12]
        high = [40.0, 1, 1, 2e-4, 5e-6, 1e13, 1e-4, 1e5, 1e-4]
        likely = _run_clocks(measured, gpu)
        starts = [start, [*start[:6], 1e-7, 1000.0, 1e-7], [*start[:6], 5e-9, likely, 1e-9]]
        fitted = only_seen(
            name, profile_of(_solve(profile_of, starts, low, high, judged, gpu)), measured.group
        )
    return with_residual(name, samples, gpu, fitted)


def with_residual(name: str, samples: Sequence[Sample], gpu: GPU, fitted: Profile) -> Profile:
    """The profile with a residual of the curve fitted to these samples, and an unchanged kernel
    model."""
    measured = Measured(name, samples)
    logs = -measured.errors(gpu, fitted)
    works = [s.work for s in samples]
    hot = [0.0] * len(works) if name in WHEREVER else measured.hot.tolist()
    residual = fit_residual(works, hot, logs.tolist(), fitted.units)
    if residual is None:
        return fitted
    return msgspec.structs.replace(fitted, residuals={**fitted.residuals, name: residual})


def _run_clocks(measured: Measured, gpu: GPU) -> float:
    """The number of clocks per run at which the runs of nine in ten samples fit in the measured
    time. With more clocks, the runs would dominate every sample."""
    runs = measured.group.runs
    if not runs.any():
        return 60.0
    clocks = measured.seconds[runs > 0] / runs[runs > 0] * (gpu.units or 1) * (gpu.boost_hz or 1.0)
    return float(np.clip(np.quantile(clocks, 0.1), 1e-2, 1e4))


def only_seen(name: str, fitted: Profile, of: Group) -> Profile:
    """The profile in which those figures of a curve are 0 that the works in `of` do not determine.
    The curve also predicts kinds of kernels that have no curve of their own."""
    unseen: dict[str, float] = {}
    if not of.rows.any():
        unseen["row"] = 0.0
    if not of.runs.any():
        unseen["run_clocks"] = 0.0
    if not of.steps.any():
        unseen |= {"step_s": 0.0, "cold_step_s": 0.0}
    traffic = msgspec.structs.replace(fitted.traffic[name], **unseen)
    return msgspec.structs.replace(fitted, traffic={**fitted.traffic, name: traffic})


def _spread(samples: Sequence[Sample]) -> Sequence[Sample]:
    """A subset of the samples, large enough for few parameters and the same on every machine."""
    if len(samples) <= _JUDGED:
        return samples
    rows: list[int] = np.sort(np.random.default_rng(0).permutation(len(samples))[:_JUDGED]).tolist()
    return [samples[row] for row in rows]


def _heads(name: str) -> bool:
    return name.startswith("attention")


def _start_of(name: str, base: Profile) -> Tiles | None:
    """The start of a tiled family's fit: its own tiles, or those of its base curve."""
    kinds = [kind for kind in base.tiles if name == kind or name.startswith(kind + "_")]
    return base.tiles[max(kinds, key=len)] if kinds else None
