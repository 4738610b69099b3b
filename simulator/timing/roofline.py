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
from simulator.timing.kernel_models import (
    RooflineTerms,
    duration_s,
    overlap_slowdown,
    roofline_terms,
    smooth,
)
from simulator.timing.offset_access import least_s
from simulator.timing.profile import Profile
from simulator.timing.rates import roof_flops_per_s
from simulator.timing.residuals import Residual
from simulator.timing.transfer import measured_on
from simulator.timing.work_columns import Group, group
from simulator.varying import anywhere, stacked

Floats = NDArray[np.float64]

ALL_HOT = 0.995  # shares of L2 are rounded to hundredths when they are fitted


class Slowdown(NamedTuple):
    """Time at a lower clock over the time at the clock at which kernels were timed: of vector lanes
    and L2, and of tensor cores [points]."""

    vector: Floats | float
    tensor: Floats | float


NO_SLOWDOWN = Slowdown(1.0, 1.0)


class TimeParts(NamedTuple):
    """The seconds of kernels by what they are spent on [kernels, ...]."""

    compute_s: Floats
    memory_s: Floats
    fixed_s: Floats

    @property
    def duration_s(self) -> Floats:
        """max(compute, memory) + fixed."""
        return duration_s(self.compute_s, self.memory_s, self.fixed_s)


@dataclass(frozen=True)
class KernelTimes:
    """The seconds of kernels that find a known share of their operands in L2, at any clock:
    computing, moving bytes from DRAM and from L2, and fixed. `tensor` is 1 where tensor cores
    compute. `smooth` is None where computing and moving data hide each other in every kernel."""

    compute_s: Floats
    dram_s: Floats
    l2_s: Floats
    fixed_s: Floats
    tensor: Floats
    smooth: Floats | None

    def parts(self, slowdown: Slowdown = NO_SLOWDOWN) -> TimeParts:
        """The times at a lower clock, which slows computing and L2 but not DRAM."""
        each = slowdown.vector + self.tensor * (slowdown.tensor - slowdown.vector)
        compute, moved = self.compute_s * each, self.dram_s + self.l2_s * slowdown.vector
        if self.smooth is None:
            return TimeParts(compute, moved, self.fixed_s)
        overlap = overlap_slowdown(compute, moved) ** self.smooth
        return TimeParts(compute * overlap, moved * overlap, self.fixed_s)


@dataclass(frozen=True)
class Roofs:
    """Seconds by distinct work. `cold_s` is its memory time from DRAM, `hot_s` from L2;
    `latency_s` comes on top of `fixed_s` where anything comes from DRAM, and `written_back_s` of
    `cold_s` where L2 is full of what other kernels wrote. `cold_log` and `hot_log` are the
    logarithms of what measured kernels of this shape take over that. `bytes` and `write_bytes` are
    the work's own. `smooth` is 1 if computing and moving data slow each other down, `tensor` where
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
        """How full of written lines L2 is in steps of these kernels, each `count` times, [...] from
        [kernels, ...]: entirely from where half of what moves is written, as measured."""
        written = np.sum(self.write_bytes * count, axis=0)
        return np.minimum(1.0, 2 * written / np.maximum(np.sum(self.bytes * count, axis=0), 1))

    def kernel_times(self, hot: Floats, dirty: Floats | float) -> KernelTimes:
        """The times where L2 holds the share `hot` of the bytes, and the share `dirty` of it holds
        lines that other kernels wrote."""
        over = np.exp(self.cold_log * (1 - hot) + self.hot_log * hot)
        return KernelTimes(
            compute_s=self.compute_s * over,
            dram_s=(self.cold_s + self.written_back_s * dirty) * (1 - hot) * over,
            l2_s=self.hot_s * hot * over,
            fixed_s=(self.fixed_s + self.latency_s * (hot < ALL_HOT)) * over,
            tensor=self.tensor,
            smooth=self.smooth if self.smooth.any() else None,
        )

    def parts(self, hot: Floats, dirty: Floats | float) -> TimeParts:
        """The times at the highest clock; `hot` and `dirty` as in `kernel_times`."""
        return self.kernel_times(hot, dirty).parts()

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
    columns = {field.name: np.zeros(begins[-1]) for field in fields(Roofs)}
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
        terms = roofline_terms(of, name, gpu, profile)
        values: dict[str, Floats | float] = {
            **terms._asdict(),
            "bytes": of.bytes,
            "write_bytes": stacked([work.write_bytes for work in works], many),
            "smooth": smooth(name),
            "tensor": stacked([work.engine == "tensor" for work in works], many),
            "chip_j": np.nan if known is None else chip_j(works, many, terms.compute_s, gpu, known),
        }
        residual = profile.residuals.get(name) if alike else None
        if residual or any(w.dims.keys() & {"warp_sectors", "offset_slots"} for w in works):
            some = None if warm is None else warm[row]
            logs = _residual_logs(of, name, terms, gpu, profile, residual, some)
            values["cold_log"], values["hot_log"] = logs
        for column, value in values.items():
            columns[column][row] = value
    return Roofs(**columns)


def _architecture(gpu: GPU | None) -> int:
    """The major number of the compute capability, which libraries choose their kernels by."""
    return gpu.compute_capability[0] if gpu and gpu.compute_capability else -1


def _residual_logs(
    of: Group,
    curve: str,
    terms: RooflineTerms,
    gpu: GPU,
    profile: Profile,
    residual: Residual | None,
    warm: NDArray[np.bool_] | None,
) -> tuple[Floats, Floats]:
    """`cold_log` and `hot_log`. No residual makes a kernel faster than its engine's peak, or slower
    from L2 than from DRAM."""
    from_dram = np.maximum(terms.compute_s, terms.cold_s)
    from_l2 = np.maximum(terms.compute_s, terms.hot_s)
    if smooth(curve):
        from_dram *= overlap_slowdown(terms.compute_s, terms.cold_s)
        from_l2 *= overlap_slowdown(terms.compute_s, terms.hot_s)
    from_dram, from_l2 = from_dram + terms.fixed_s + terms.latency_s, from_l2 + terms.fixed_s
    units = gpu.units or profile.units
    cold_log = hot_log = np.zeros(len(of.bytes))
    if residual:
        cold_log, hot_log = residual.of(of.works, units, of.counts, warm).T
    floor = stacked([_floor_s(work, gpu) for work in of.works], of.counts)
    least = np.maximum(floor, of.bytes / gpu.bandwidth_bytes_per_s)
    with np.errstate(divide="ignore"):
        cold_log = np.maximum(cold_log, np.log(least / from_dram))
        hot_log = np.minimum(hot_log, cold_log + np.log(from_dram / from_l2))
        hot_log = np.maximum(hot_log, np.log(floor / from_l2))
    return cold_log, hot_log


def _floor_s(work: Work, gpu: GPU) -> Any:
    """FLOPs at the data sheet's peak, of the pairs that a causal attention computes; a
    convolution's may be fewer (Winograd, FFT). Of vector work, its offsets."""
    if work.engine == "vector":
        return least_s(work, gpu)
    if work.family == "conv" or not anywhere(work.flops):
        return 0.0
    return work.computed_flops / roof_flops_per_s(gpu, work)
