"""Predictions of a family's steps at many batches and sequence lengths at once.

Points with the same number of kernels are scheduled together; kernels with the same signature
and reuse distances form one class, timed once per point.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from simulator.costs import Work
from simulator.errors import InputError
from simulator.hardware.gpu import GPU
from simulator.hardware.host import Host
from simulator.modes import check_mode
from simulator.prediction import Columns, workspace_bytes
from simulator.schedule.blocks_of_kernels import straight
from simulator.schedule.steady_state import alone, bounds, steady
from simulator.schedule.timeline import Clock, Floats, Ints, Launches
from simulator.simulate.kernel_classes import KernelClasses, kernel_classes, launch_patterns
from simulator.simulate.step import host_schedule, nudged, shares
from simulator.simulate.step_columns import StepColumns, as_table, empty_table
from simulator.symbols.family import Family
from simulator.symbols.instances import Kind, Lowered, grid
from simulator.symbols.peaks import peak_bytes
from simulator.symbols.reuse import StepBytes, tensor_bytes
from simulator.symbols.templates import fill
from simulator.timing.intervals import interval
from simulator.timing.kernel_times import NO_SLOWDOWN, Slowdown
from simulator.timing.load import Load
from simulator.timing.power import supply
from simulator.timing.products import weighted_sum
from simulator.timing.profile import Profile
from simulator.timing.rates import l2_kept_bytes

_TOGETHER = 1 << 17  # maximum size (kernels × points) of a chunk's array: it fits in a cache
_CLASSES = 1 << 17  # maximum size (classes × points) before equal classes are merged
_LEAST = 16  # minimum number of points in a chunk


class Drive(NamedTuple):
    """A host and the mode in which it launches the kernels."""

    host: Host
    mode: str


@dataclass(frozen=True)
class LocatedClasses:
    """Classes of kernels at the points of a family.

    class_of  the class of each kernel
    count     the number of kernels of each class
    row       [classes, points]: the row in the table of roofs
    hot       [classes, points]: the share of bytes that is in L2
    """

    class_of: Ints
    count: Floats
    row: Ints
    hot: Floats


def at_points(
    family: Family,
    batches: Sequence[int],
    seqs: Sequence[int],
    gpu: GPU,
    profile: Profile,
    drives: Sequence[Drive],
) -> list[tuple[Floats, dict[int, str]]]:
    """For each drive a table of COLUMNS with a row per point, NaN (regime −1) without a prediction,
    and the reason for each such point. The points must belong to the family. No drive's mode may
    compile, since compiled steps are partitioned point by point (`simulator.simulate.traces`)."""
    sizes = family.sizes(np.array(batches, np.int64), np.array(seqs, np.int64))
    known = grid(family, sizes)
    kind = known.on(gpu)
    lowered = kind.lowered
    samples = np.full(sizes.shape[1], fill(family.header, list(sizes))["samples"], float)
    peak = peak_bytes(family, sizes)
    step = StepBytes(tensor_bytes(family, sizes), peak)
    workspace = _workspaces(len(samples), lowered, gpu)
    card = supply(gpu)
    parts: list[tuple[Floats, dict[int, str]]] = []
    for _ in drives:
        parts.append((empty_table(len(samples)), {}))
    patterns = [
        _pattern(family, (batches[0], seqs[0]), kind, points, step, gpu, profile)
        for points in launch_patterns(len(samples), lowered)
    ]

    def warm(rows: int) -> NDArray[np.bool_]:
        flags = np.zeros(rows, np.bool_)
        for pattern in patterns:
            for _, located in pattern.chunks:
                flags[located.row[located.hot > 0]] = True
        return flags

    table = known.roofs(gpu, profile, warm)
    for pattern_points, kernels, chunks in patterns:
        ways = _schedules(parts, drives, pattern_points, kernels, profile)
        for places, located in chunks:
            stream = Load(table.of(located.row), located.hot, located.count)
            need = peak[places] + workspace[places]
            fits = need <= gpu.memory_bytes
            for figures, scheduled, drive in ways:
                launched, clock = scheduled
                load = stream.run(drive.mode)
                host_s = float(launched.host_s.sum() + launched.tail_s)
                gaps_s = kernels.class_of.size * np.asarray(clock.gap_s)
                clock_limit = card and card.settle(load, host_s, gaps_s)
                times, busy = _timed(load, clock_limit.slowdown if clock_limit else NO_SLOWDOWN)
                periods, latency = _scheduled(located, times, *scheduled)
                ends = interval(profile, gpu, drive.host, drive.mode, periods[0], busy, host_s)
                drawn = None
                if card and clock_limit:
                    drawn = card.columns(load, clock_limit, busy, periods[0])
                figures[places] = _row(
                    periods,
                    latency,
                    busy,
                    host_s,
                    ends,
                    samples[places],
                    peak[places],
                    need,
                    fits,
                    drawn,
                )
    return parts


class _Pattern(NamedTuple):
    """Points with the same launches, and their classes of kernels in chunks of points."""

    points: Ints
    kernels: KernelClasses
    chunks: list[tuple[Ints, LocatedClasses]]


def _pattern(
    family: Family,
    point: tuple[int, int],
    kind: Kind,
    points: Ints,
    step: StepBytes,
    gpu: GPU,
    profile: Profile,
) -> _Pattern:
    kernels = kernel_classes(family, point, kind.lowered, int(points[0]))
    near = kernels.within(step.at(points), l2_kept_bytes(gpu, profile))
    chunks = [
        (places, _located(near, kind, places, step, gpu, profile))
        for places in _parts(points, near)
    ]
    return _Pattern(points, kernels, chunks)


def _schedules(
    tables: Sequence[tuple[Floats, dict[int, str]]],
    drives: Sequence[Drive],
    points: Ints,
    kernels: KernelClasses,
    profile: Profile,
) -> list[tuple[Floats, tuple[Launches, Clock], Drive]]:
    """The table, the host's schedule and the drive, for each drive that can run these points; the
    other tables receive the reason."""
    ways: list[tuple[Floats, tuple[Launches, Clock], Drive]] = []
    for (figures, refused), drive in zip(tables, drives, strict=True):
        try:
            check_mode(drive.mode)
            scheduled = host_schedule(kernels.plan, drive.host, profile, drive.mode)
            ways.append((figures, scheduled, drive))
        except InputError as error:
            refused |= dict.fromkeys(points.tolist(), str(error))
    return ways


def _row(
    periods: Floats,
    latency: Floats,
    busy: Floats,
    on_host_s: float,
    ends: tuple[Floats, Floats],
    samples: Floats,
    peak: Ints,
    need: Ints,
    fits: NDArray[np.bool_],
    drawn: tuple[Floats, Floats] | None,
) -> Floats:
    period, part = periods[0], shares(periods)
    joules, clock_hz = drawn or np.full((2, period.size), np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(period > 0, samples / period, np.nan)
    return as_table(
        StepColumns(
            period_s=period,
            latency_s=latency,
            gpu_busy_s=busy,
            host_s=np.full_like(period, on_host_s),
            low_s=ends[0],
            high_s=ends[1],
            compute=part[0],
            memory=part[1],
            overhead=part[2],
            samples_per_s=rate,
            peak_memory_bytes=peak,
            memory_bytes=need,
            fits=fits,
            joules=joules,
            clock_hz=clock_hz,
            regime=part.argmax(axis=0),
        )
    )


def _parts(points: Ints, kernels: KernelClasses) -> Iterator[Ints]:
    """The points in chunks."""
    size = max(_LEAST, _CLASSES // max(kernels.count.size, 1))
    for begin in range(0, points.size, size):
        yield points[begin : begin + size]


def _located(
    kernels: KernelClasses, kind: Kind, points: Ints, step: StepBytes, gpu: GPU, profile: Profile
) -> LocatedClasses:
    """The rows and L2 shares of the classes of kernels at these points; equal classes are
    merged."""
    reuse = kernels.reuse
    hot = reuse.hot_share(step.at(points), l2_kept_bytes(gpu, profile))
    first, of = kernels.alike(hot)
    op_class = kernels.op_class[first]
    number = reuse.number[op_class]
    row = kind.stride[:, points][number]
    row *= kernels.place[first][:, None]
    row += kind.begin[:, points][number]
    count = np.zeros(first.size)
    np.add.at(count, of, kernels.count)
    return LocatedClasses(of[kernels.class_of], count, row, hot[op_class])


def _timed(load: Load, slowdown: Slowdown) -> tuple[Floats, Floats]:
    """Seconds of each class at a lower clock, as timed and nudged [3, classes, points], and the
    GPU's busy time."""
    none = np.zeros(0, np.int64)
    columns = Columns(none, none, *load.parts(slowdown))
    return nudged(columns), weighted_sum(load.count, columns.duration_s)


def _workspaces(points: int, lowered: Sequence[Lowered], gpu: GPU) -> Ints:
    """Bytes of the libraries' workspaces [points]."""
    used = np.zeros(points, np.bool_)
    for low in lowered:
        used |= low.products
    return used * workspace_bytes([Work("gemm")], gpu)


def _scheduled(
    kernels: LocatedClasses, times: Floats, launches: Launches, clock: Clock
) -> tuple[Floats, Floats]:
    """Periods, as timed and nudged [3, points], and seconds of a single step [points]."""
    on_host = float(launches.host_s.sum() + launches.tail_s)
    if not kernels.class_of.size:
        single = cast("Floats", np.full(times.shape[2], on_host + clock.sync_s))
        return np.full(times.shape[::2], on_host), single
    on_gpu = np.einsum("c,rcp->rp", kernels.count, times)
    on_gpu += kernels.class_of.size * np.asarray(clock.gap_s)
    periods = np.maximum(on_host, on_gpu)
    solved, latency = straight(launches, clock, kernels.class_of, times[0])
    unsolved = np.flatnonzero(~solved)
    size = max(1, _TOGETHER // max(kernels.class_of.size, 1))
    for begin in range(0, unsolved.size, size):
        chunk = unsolved[begin : begin + size]
        chunk_times = times[:, :, chunk].transpose(0, 2, 1)
        base = replace(launches, duration_s=chunk_times[0][:, kernels.class_of])
        simple = bounds(base, clock)
        latency[chunk] = alone(base, clock, simple)
        rest = np.flatnonzero(~simple.period)
        if rest.size:
            slow = replace(launches, duration_s=chunk_times[:, rest][:, :, kernels.class_of])
            periods[:, chunk[rest]] = steady(slow, clock).period_s
    return periods, latency + clock.sync_s
