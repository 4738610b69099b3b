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
from simulator.timing.energies import chip_joules, energies
from simulator.timing.kernel_models import (
    RooflineTerms,
    overlap_slowdown,
    roofline_terms,
    smooth,
)
from simulator.timing.kernel_times import KernelTimes, TimeParts, at_once
from simulator.timing.offset_access import least_s
from simulator.timing.profile import Profile
from simulator.timing.rates import roof_flops_per_s
from simulator.timing.residuals import Residual
from simulator.timing.transfer import measured_on
from simulator.timing.work_columns import Group, group
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
    `beside` is how many such kernels run at once. `chip_j` and `tensor_j` are the joules of
    `ChipJoules`; NaN if unknown.
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
        )

    def parts(self, hot: Floats, dirty: Floats | float) -> TimeParts:
        """The times at the highest clock; `hot` and `dirty` as in `kernel_times`."""
        return self.kernel_times(hot, dirty).parts()

    def of(self, rows: NDArray[np.int64]) -> Roofs:
        """The roofs of these works, in this order."""
        return Roofs(*(getattr(self, f.name)[rows] for f in fields(self)))


class CurveRoofs(NamedTuple):
    """The roofs of the works of one curve."""

    works: list[Work]
    roofs: Roofs


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
        rows = np.arange(begin, begin + len(places[name]))
        known[name] = CurveRoofs(works_of[name], computed.of(rows))
        begin += rows.size
    order = np.array([place for each in places.values() for place in each], np.int64)
    by_curve = [known[name].roofs for name in places] or [computed]
    columns = ([getattr(each, field.name) for each in by_curve] for field in fields(Roofs))
    return Roofs(*map(np.concatenate, columns)).of(np.argsort(order))


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
    order = [place for curve_places in places.values() for place in curve_places]
    works = [ruled[place].work for place in order]
    points = [ruled[place].points for place in order]
    ends = np.cumsum([0, *points])
    counts = points if ends[-1] > len(points) else None
    columns = {field.name: np.zeros(ends[-1]) for field in fields(Roofs)}
    rows = _rows(ruled, order)
    every, known = group(works, counts), energies(gpu)
    units = gpu.units or profile.units
    same_kernels = gpu.id == profile.gpu or _architecture(gpu) == _architecture(
        measured_on(profile.gpu)
    )
    begin = 0
    for name, curve_places in places.items():
        check_cancelled()
        end = begin + len(curve_places)
        row = slice(int(ends[begin]), int(ends[end]))
        of = every.part(slice(begin, end), row)
        begin = end
        terms = roofline_terms(of, name, gpu, profile)
        values: dict[str, Floats | float] = {**terms._asdict(), "smooth": smooth(name)}
        residual = profile.residuals.get(name) if same_kernels else None
        if residual or any(w.dims.keys() & {"warp_sectors", "offset_slots"} for w in of.works):
            warm_rows = None if warm is None else warm[rows[row]]
            means = _means(of, name, units, residual, warm_rows, known_means)
            logs = _residual_logs(of, name, terms, gpu, means)
            values["cold_log"], values["hot_log"] = logs
        for column, value in values.items():
            columns[column][row] = value
    columns |= {
        "bytes": every.bytes,
        "write_bytes": stacked([work.write_bytes for work in works], counts),
        "tensor": stacked([work.engine == "tensor" for work in works], counts),
        "beside": stacked([at_once(work) for work in works], counts),
        "chip_j": np.full(int(ends[-1]), np.nan),
        "tensor_j": np.full(int(ends[-1]), np.nan),
    }
    if known is not None:
        columns |= chip_joules(works, counts, columns["compute_s"], gpu, known)._asdict()
    back = np.argsort(rows)
    return Roofs(**{name: column[back] for name, column in columns.items()})


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
    of: Group,
    curve: str,
    units: int,
    residual: Residual | None,
    warm: NDArray[np.bool_] | None,
    known: dict[str, Means] | None,
) -> Floats:
    """The mean residuals of works [rows, 2]; 0 without a residual."""
    if residual is None:
        return np.zeros((len(of.bytes), 2))
    if known is None or warm is None:
        return residual.of(of.works, units, of.counts, warm)
    last = known.get(curve)
    if not last or last.residual is not residual or last.units != units:
        last = None
    if last is None or not np.array_equal(last.warm, warm):
        values = residual.of(of.works, units, of.counts, warm)
        last = known[curve] = Means(residual, units, warm, values)
    return last.values


def _residual_logs(
    of: Group,
    curve: str,
    terms: RooflineTerms,
    gpu: GPU,
    means: Floats,
) -> tuple[Floats, Floats]:
    """The columns `cold_log` and `hot_log`, given mean residuals. No residual makes a kernel faster
    than its engine's peak, or slower from L2 than from DRAM."""
    from_dram = np.maximum(terms.compute_s, terms.cold_s)
    from_l2 = np.maximum(terms.compute_s, terms.hot_s)
    if smooth(curve):
        from_dram *= overlap_slowdown(terms.compute_s, terms.cold_s)
        from_l2 *= overlap_slowdown(terms.compute_s, terms.hot_s)
    from_dram, from_l2 = from_dram + terms.fixed_s + terms.latency_s, from_l2 + terms.fixed_s
    cold_log, hot_log = means.T
    floor = stacked([_floor_s(work, gpu) for work in of.works], of.counts)
    least = np.maximum(floor, of.bytes / gpu.bandwidth_bytes_per_s)
    with np.errstate(divide="ignore"):
        cold_log = np.maximum(cold_log, np.log(least / from_dram))
        hot_log = np.minimum(hot_log, cold_log + np.log(from_dram / from_l2))
        hot_log = np.maximum(hot_log, np.log(floor / from_l2))
    return cold_log, hot_log


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
