"""The time of a kernel: the roofline of its kind, and the residual of measured kernels of its
shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from operator import is_
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.caches.cancelling import check_cancelled
from simulator.costs import Work
from simulator.costs.curves import curve
from simulator.hardware.gpu import GPU
from simulator.timing.energies import ChipJoules, chip_joules, energies
from simulator.timing.kernel_models import overlap_slowdown, roofline_terms, smooth
from simulator.timing.kernel_times import KernelTimes, TimeParts, at_once, at_once_in_graph
from simulator.timing.offset_access import OFFSETS, least_s
from simulator.timing.profile import Profile
from simulator.timing.rates import roof_flops_per_s
from simulator.timing.residuals import Residual
from simulator.timing.terms import RooflineTerms
from simulator.timing.transfer import measured_on, tiles_of
from simulator.timing.work_columns import Group, Span, group
from simulator.varying import anywhere, stacked

Floats = NDArray[np.float64]

ALL_HOT = 0.995  # shares of L2 are rounded to hundredths in the fit


@dataclass(frozen=True)
class Roofs:
    """Seconds by distinct work. `cold_s` is the memory time from DRAM, `hot_s` from L2; `latency_s`
    is added to `fixed_s` if anything comes from DRAM, and `written_back_s` to `cold_s` if L2 is
    full of lines that other kernels wrote. `cold_log` and `hot_log` are the logarithms of measured
    over roofline time for this shape. `bytes` and `write_bytes` are those of the work. `smooth` is
    1 if compute and memory time overlap only in part, `tensor` is 1 for works on tensor cores.
    `beside` is how many such kernels run at once; `streams` is that of a recurrent layer's kernels
    in a CUDA graph. `chip_j` and `tensor_j` are the joules of `ChipJoules`; NaN if unknown.
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
    beside: Floats
    streams: Floats
    chip_j: Floats
    tensor_j: Floats

    def dirty(self, count: Floats | float = 1.0) -> Floats:
        """The share of L2 that holds written lines in steps of these kernels, each `count` times,
        [...] from [kernels, ...]. As measured, all of L2 holds written lines if at least half of
        the traffic is written."""
        written = np.sum(self.write_bytes * count, axis=0)
        return np.minimum(1.0, 2 * written / np.maximum(np.sum(self.bytes * count, axis=0), 1))

    def kernel_times(self, hot: Floats, dirty: Floats | float) -> KernelTimes:
        """The times if L2 holds the share `hot` of the bytes, and if lines that other kernels wrote
        fill the share `dirty` of L2."""
        over = np.exp(self.cold_log * (1 - hot) + self.hot_log * hot)
        return KernelTimes(
            compute_s=self.compute_s * over,
            dram_s=(self.cold_s + self.written_back_s * dirty) * (1 - hot) * over,
            l2_s=self.hot_s * hot * over,
            fixed_s=(self.fixed_s + self.latency_s * (hot < ALL_HOT)) * over,
            tensor=self.tensor,
            smooth=self.smooth if self.smooth.any() else None,
            beside=self.beside if (self.beside > 1).any() else None,
            streams=self.streams if (self.streams > 1).any() else None,
        )

    def parts(self, hot: Floats, dirty: Floats | float) -> TimeParts:
        """The times at the highest clock; `hot` and `dirty` as in `kernel_times`."""
        return self.kernel_times(hot, dirty).parts()

    def of(self, rows: NDArray[np.int64]) -> Roofs:
        """The roofs of these works, in this order."""
        return Roofs(*(getattr(self, f.name).take(rows) for f in fields(self)))


class CurveRoofs(NamedTuple):
    """The works of one curve, and their consecutive rows in a table of roofs."""

    works: list[Work]
    table: Roofs
    rows: slice


def roofs(
    works: Sequence[Work],
    gpu: GPU,
    profile: Profile,
    known: dict[str, CurveRoofs] | None = None,
) -> Roofs:
    """The roofline of each work on a GPU. `known` by curve, from an earlier call for this GPU and
    profile, is used for curves with the same works and brought up to date. Residuals are left out
    on another architecture, where libraries have other kernels: with them, the median error of the
    58 examined timm networks on an RTX 3090 and 4090 would be 7.7% instead of 4.3%."""
    ruled = [Ruled(work, curve(work)) for work in works]
    if known is None:
        return roofs_of(ruled, gpu, profile)
    places = _places(ruled)
    works_of = {name: [works[place] for place in each] for name, each in places.items()}
    new = [name for name, each in works_of.items() if not _are_known(each, known.get(name))]
    computed = roofs_of([ruled[place] for name in new for place in places[name]], gpu, profile)
    begin = 0
    for name in new:
        end = begin + len(works_of[name])
        known[name] = CurveRoofs(works_of[name], computed, slice(begin, end))
        begin = end
    order = np.array([place for each in places.values() for place in each], np.int64)
    if len(new) < len(places):
        parts = [known[name] for name in places]
        names = [field.name for field in fields(Roofs)]
        columns = ([getattr(part.table, name)[part.rows] for part in parts] for name in names)
        computed = Roofs(*map(np.concatenate, columns))
    return computed.of(np.argsort(order))


def _are_known(works: Sequence[Work], last: CurveRoofs | None) -> bool:
    """Whether an earlier call had exactly these works."""
    return last is not None and len(last.works) == len(works) and all(map(is_, last.works, works))


class Ruled(NamedTuple):
    """A work, possibly with numbers at several points, and its curve."""

    work: Work
    curve: str
    points: int = 1


class Means(NamedTuple):
    """The mean residuals [rows, 2] of the works of a curve, and the inputs on which they depend.
    Cards of one die, and changes of a clock or a bandwidth, share them."""

    residual: Residual
    units: int
    warm: NDArray[np.bool_]
    values: Floats


def roofs_of(
    ruled: Sequence[Ruled],
    gpu: GPU,
    profile: Profile,
    warm: NDArray[np.bool_] | None = None,
    known_means: dict[str, Means] | None = None,
) -> Roofs:
    """The roofline of each work, a row for each of its points. Only rows that are `warm` have data
    in L2; `hot_log` is valid for them. `known_means` by curve, of earlier calls for these works, is
    used and brought up to date."""
    if not ruled:
        return Roofs(*(np.zeros(0) for _ in fields(Roofs)))
    places = _places(ruled)
    curves = sorted(places, key=lambda curve: tiles_of(curve, gpu, profile) is not None)
    order = [place for curve in curves for place in places[curve]]
    works = [ruled[place].work for place in order]
    points = [ruled[place].points for place in order]
    counts = points if sum(points) > len(points) else None
    rows = _rows(ruled, order)
    every = group(works, [ruled[place].curve for place in order], counts)
    terms = roofline_terms(every, gpu, profile)
    means = _means(every, gpu, profile, None if warm is None else warm[rows], known_means)
    cold_log, hot_log = _residual_logs(every, terms, gpu, means)
    joules, known = ChipJoules(*np.full((2, rows.size), np.nan)), energies(gpu)
    if known is not None:
        joules = chip_joules(works, counts, terms.compute_s, gpu, known)
    return Roofs(
        **terms._asdict(),
        cold_log=cold_log,
        hot_log=hot_log,
        bytes=every.bytes,
        write_bytes=stacked([work.write_bytes for work in works], counts),
        smooth=every.by_curve(smooth),
        tensor=stacked([work.engine == "tensor" for work in works], counts),
        beside=stacked([at_once(work) for work in works], counts),
        streams=stacked([at_once_in_graph(work) for work in works], counts),
        **joules._asdict(),
    ).of(np.argsort(rows))


def _places(ruled: Sequence[Ruled]) -> dict[str, list[int]]:
    """The places of the works of each curve."""
    places: dict[str, list[int]] = {}
    for place, rule in enumerate(ruled):
        places.setdefault(rule.curve, []).append(place)
    return places


def _rows(ruled: Sequence[Ruled], order: Sequence[int]) -> NDArray[np.int64]:
    """The rows of the works in another order."""
    begins = np.cumsum([0, *(rule.points for rule in ruled)])
    return np.concatenate([np.arange(int(begins[p]), int(begins[p + 1])) for p in order])


def _architecture(gpu: GPU | None) -> int:
    """The major number of the compute capability, by which libraries choose kernels."""
    return gpu.compute_capability[0] if gpu and gpu.compute_capability else -1


def _means(
    every: Group,
    gpu: GPU,
    profile: Profile,
    warm: NDArray[np.bool_] | None,
    known: dict[str, Means] | None,
) -> Floats:
    """The mean residuals of works from DRAM and from L2 [rows, 2]; NaN for curves without a
    residual."""
    units = gpu.units or profile.units
    same_kernels = gpu.id == profile.gpu or _architecture(gpu) == _architecture(
        measured_on(profile.gpu)
    )
    means = np.full((len(every.bytes), 2), np.nan)
    if not same_kernels:
        return means
    for span in every.spans:
        check_cancelled()
        residual = profile.residuals.get(span.curve)
        if residual is not None:
            warm_rows = None if warm is None else warm[span.rows]
            means[span.rows] = _means_of_curve(every, span, units, residual, warm_rows, known)
    return means


def _means_of_curve(
    every: Group,
    span: Span,
    units: int,
    residual: Residual,
    warm: NDArray[np.bool_] | None,
    known: dict[str, Means] | None,
) -> Floats:
    """The mean residuals of the works of a curve [rows, 2]."""
    works, counts = every.works[span.works], every.counts and every.counts[span.works]
    if known is None or warm is None:
        return residual.of(works, units, counts, warm)
    last = known.get(span.curve)
    if not last or last.residual is not residual or last.units != units:
        last = None
    if last is None or not np.array_equal(last.warm, warm):
        values = residual.of(works, units, counts, warm)
        last = known[span.curve] = Means(residual, units, warm, values)
    return last.values


def _residual_logs(
    every: Group, terms: RooflineTerms, gpu: GPU, means: Floats
) -> tuple[Floats, Floats]:
    """The columns `cold_log` and `hot_log`, given mean residuals. No residual makes a kernel faster
    than its engine's peak, or slower from L2 than from DRAM. Without a residual, times are not
    corrected, except those of curves with works that compute offsets."""
    from_dram = np.maximum(terms.compute_s, terms.cold_s)
    from_l2 = np.maximum(terms.compute_s, terms.hot_s)
    for span in every.spans:
        if smooth(span.curve):
            rows = span.rows
            from_dram[rows] *= overlap_slowdown(terms.compute_s[rows], terms.cold_s[rows])
            from_l2[rows] *= overlap_slowdown(terms.compute_s[rows], terms.hot_s[rows])
    from_dram, from_l2 = from_dram + terms.fixed_s + terms.latency_s, from_l2 + terms.fixed_s
    corrected = ~np.isnan(means[:, 0])
    for span in every.spans:
        if any(work.dims.keys() & OFFSETS for work in every.works[span.works]):
            corrected[span.rows] = True
    cold_log, hot_log = np.where(np.isnan(means), 0.0, means).T
    floor = stacked([_floor_s(work, gpu) for work in every.works], every.counts)
    least = np.maximum(floor, every.bytes / gpu.bandwidth_bytes_per_s)
    with np.errstate(divide="ignore", invalid="ignore"):  # of times that are not corrected
        cold_log = np.maximum(cold_log, np.log(least / from_dram))
        hot_log = np.minimum(hot_log, cold_log + np.log(from_dram / from_l2))
        hot_log = np.maximum(hot_log, np.log(floor / from_l2))
    return np.where(corrected, cold_log, 0.0), np.where(corrected, hot_log, 0.0)


def _floor_s(work: Work, gpu: GPU) -> Any:
    """Lower bound of the seconds of a work.

    On tensor cores it is the time of the FLOPs (for causal attention, of the computed pairs only)
    at the data sheet's peak, or 0 for convolutions, which may compute fewer FLOPs (Winograd, FFT).
    For vector work it is `least_s`."""
    if work.engine == "vector":
        return least_s(work, gpu)
    if work.family == "conv" or not anywhere(work.flops):
        return 0.0
    return work.computed_flops / roof_flops_per_s(gpu, work)
