"""The time of a kernel: the physics of its kind, and what measured kernels of its shape differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.costs import Work
from simulator.costs.curves import curve
from simulator.hardware.gpu import GPU
from simulator.timing.energies import chip_j, energies
from simulator.timing.kernel_models import roofline_terms, slower_together, smooth
from simulator.timing.profile import Profile
from simulator.timing.rates import roof_flops_per_s
from simulator.timing.residuals import Residual
from simulator.timing.transfer import measured_on
from simulator.timing.work_columns import Group, group
from simulator.varying import anywhere, stacked

Floats = NDArray[np.float64]

ALL_HOT = 0.995  # shares of L2 are rounded to hundredths when they are fitted


class Slower(NamedTuple):
    """How many times as long computing takes as at the clock at which it was timed, on vector
    lanes (and moving data in L2), and on tensor cores [points]."""

    vector: Floats | float
    tensor: Floats | float


AS_TIMED = Slower(1.0, 1.0)


@dataclass(frozen=True)
class Held:
    """Seconds of kernels whose operands are where they are: of computing, of moving bytes from DRAM
    and from L2, and fixed. `tensor` is 1 where tensor cores compute; `smooth` is None where
    computing hides moving data everywhere."""

    compute_s: Floats
    dram_s: Floats
    l2_s: Floats
    fixed_s: Floats
    tensor: Floats
    smooth: Floats | None

    def parts(self, slower: Slower = AS_TIMED) -> tuple[Floats, Floats, Floats]:
        """Compute, memory and fixed seconds at a lower clock: what computes follows it, and L2;
        DRAM does not."""
        each = slower.vector + self.tensor * (slower.tensor - slower.vector)
        compute, moved = self.compute_s * each, self.dram_s + self.l2_s * slower.vector
        if self.smooth is None:
            return compute, moved, self.fixed_s
        together = slower_together(compute, moved) ** self.smooth
        return compute * together, moved * together, self.fixed_s


@dataclass(frozen=True)
class Roofs:
    """Seconds by distinct work. `cold_s` is its memory time from DRAM, `hot_s` from L2;
    `latency_s` comes on top of `fixed_s` where anything comes from DRAM, and `written_back_s` of
    `cold_s` where L2 is full of what other kernels wrote. `cold_log` and `hot_log` are the
    logarithms of what measured kernels of this shape take over that. `bytes` and `write_bytes` are
    the work's own. `smooth` is 1 where computing and moving data hold each other up, `tensor` where
    tensor cores compute. `chip_j` are joules at the highest clock, but for DRAM's; NaN where
    nothing is known of them.
    """

    compute_s: Floats
    cold_s: Floats
    hot_s: Floats
    fixed_s: Floats
    latency_s: Floats
    written_back_s: Floats
    cold_log: Floats
    hot_log: Floats
    bytes: Floats
    write_bytes: Floats
    smooth: Floats
    tensor: Floats
    chip_j: Floats

    def dirty(self, count: Floats | float = 1.0) -> Floats:
        """How full of written lines L2 is in steps of these kernels, each so many times, [...]
        from [kernels, ...]: entirely from where half of what moves is written, as measured."""
        written = np.sum(self.write_bytes * count, axis=0)
        return np.minimum(1.0, 2 * written / np.maximum(np.sum(self.bytes * count, axis=0), 1))

    def held(self, hot: Floats, dirty: Floats | float) -> Held:
        """The kernels where this share of the bytes is in L2, and L2 is so full of what other
        kernels wrote."""
        over = np.exp(self.cold_log * (1 - hot) + self.hot_log * hot)
        return Held(
            self.compute_s * over,
            (self.cold_s + self.written_back_s * dirty) * (1 - hot) * over,
            self.hot_s * hot * over,
            (self.fixed_s + self.latency_s * (hot < ALL_HOT)) * over,
            self.tensor,
            self.smooth if self.smooth.any() else None,
        )

    def parts(self, hot: Floats, dirty: Floats | float) -> tuple[Floats, Floats, Floats]:
        """Their compute, memory and fixed seconds at the highest clock."""
        return self.held(hot, dirty).parts()

    def of(self, rows: NDArray[np.int64]) -> Roofs:
        """The roofs of these works, in this order."""
        return Roofs(*(getattr(self, f.name)[rows] for f in fields(self)))


def roofs(works: Sequence[Work], gpu: GPU, profile: Profile) -> Roofs:
    """The roofline of each work on a GPU. What measured kernels differ is left out on another
    architecture, where the libraries have others: of 58 timm networks on an RTX 3090 and 4090,
    those that were looked at, it made the median error 7.7% instead of 4.3%."""
    return roofs_of([Ruled(work, curve(work)) for work in works], gpu, profile)


class Ruled(NamedTuple):
    """A work, maybe with its numbers at several points, and the curve that rules it."""

    work: Work
    curve: str
    points: int = 1


def roofs_of(
    ruled: Sequence[Ruled], gpu: GPU, profile: Profile, warm: NDArray[np.bool_] | None = None
) -> Roofs:
    """The roofline of each work, a row for each of its points. Only rows that are `warm` find
    anything in L2: `hot_log` holds for those."""
    counts = [each.points for each in ruled]
    begins = np.cumsum([0, *counts])
    found = np.zeros((begins[-1], len(fields(Roofs))))
    places: dict[str, list[int]] = {}
    known = energies(gpu)
    alike = gpu.id == profile.gpu or _architecture(gpu) == _architecture(measured_on(profile.gpu))
    for place, each in enumerate(ruled):
        places.setdefault(each.curve, []).append(place)
    for name, some in places.items():
        works = [ruled[place].work for place in some]
        many = [counts[place] for place in some] if len(begins) <= begins[-1] else None
        row = np.concatenate([np.arange(begins[p], begins[p + 1]) for p in some])
        of = group(works, many)
        found[row, :6] = times = roofline_terms(of, name, gpu, profile)
        found[row, 8] = of.bytes
        found[row, 9] = stacked([work.write_bytes for work in works], many)
        found[row, 10] = smooth(name)
        found[row, 11] = stacked([work.engine == "tensor" for work in works], many)
        found[row, 12] = np.nan if known is None else chip_j(works, many, times[:, 0], gpu, known)
        residual = profile.residuals.get(name)
        if residual and alike:
            some = None if warm is None else warm[row]
            found[row, 6:8] = _measured(of, name, times, gpu, profile, residual, some)
    return Roofs(*found.T)


def _architecture(gpu: GPU | None) -> int:
    """The major number of the compute capability, which libraries choose their kernels by."""
    return gpu.compute_capability[0] if gpu and gpu.compute_capability else -1


def _measured(
    of: Group,
    curve: str,
    times: Floats,
    gpu: GPU,
    profile: Profile,
    residual: Residual,
    warm: NDArray[np.bool_] | None,
) -> Floats:
    """Columns `cold_log` and `hot_log`. No residual makes a kernel faster than its
    engine's peak, or slower from L2 than from DRAM."""
    compute, cold, hot, fixed, latency, _ = times.T
    from_dram = np.maximum(compute, cold)
    from_l2 = np.maximum(compute, hot)
    if smooth(curve):
        from_dram *= slower_together(compute, cold)
        from_l2 *= slower_together(compute, hot)
    from_dram, from_l2 = from_dram + fixed + latency, from_l2 + fixed
    units = gpu.units or profile.units
    cold_log, hot_log = residual.of(of.works, units, of.counts, warm).T
    floor = stacked([_floor_s(work, gpu) for work in of.works], of.counts)
    least = np.maximum(floor, of.bytes / gpu.bandwidth_bytes_per_s)
    with np.errstate(divide="ignore"):
        cold_log = np.maximum(cold_log, np.log(least / from_dram))
        hot_log = np.minimum(hot_log, cold_log + np.log(from_dram / from_l2))
        hot_log = np.maximum(hot_log, np.log(floor / from_l2))
    return np.column_stack([cold_log, hot_log])


def _floor_s(work: Work, gpu: GPU) -> Any:
    """FLOPs at the data sheet's peak, of the pairs that a causal attention computes; a
    convolution's may be fewer (Winograd, FFT)."""
    if work.family == "conv" or not anywhere(work.flops) or work.engine != "tensor":
        return 0.0
    return work.computed_flops / roof_flops_per_s(gpu, work)
