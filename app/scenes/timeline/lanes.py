"""A step as slices of time: the host's ops, the GPU's kernels, and their modules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from app.scenes.launches import NAMED
from app.scenes.pixel_scale import Floats, Scale
from simulator.prediction import REGIMES, Prediction
from simulator.schedule.launch_plan import issued

Ints = NDArray[np.int64]
HOST_WAIT, SYNC_WAIT = "waiting for the host", "waiting for a sync"
GPU_KINDS = (*REGIMES, HOST_WAIT, SYNC_WAIT)
LAUNCHES, VIEWS, WAITS = HOST_KINDS = ("launches", "launches nothing", "waits for the GPU")


@dataclass(frozen=True)
class Slices:
    """Slices of time in order, without overlaps. `kind` is an index into `kinds`; `of` is the
    kernel of a slice on the GPU, the op of a slice on the host, or an index into `names` for
    modules."""

    begin_s: Floats
    end_s: Floats
    kind: Ints
    of: Ints
    kinds: tuple[str, ...]
    names: list[str] = field(default_factory=list[str])

    @property
    def count(self) -> int:
        return self.begin_s.size

    def within(self, low_s: float, high_s: float) -> slice:
        """The slices that overlap a span."""
        first = int(np.searchsorted(self.end_s, low_s, "right"))
        return slice(first, max(first, int(np.searchsorted(self.begin_s, high_s, "left"))))

    def at(self, time_s: float, slack_s: float = 0.0) -> int | None:
        """The index of the slice at a time, else of a slice within `slack_s` of it."""
        place = int(np.searchsorted(self.begin_s, time_s, "right")) - 1
        near = [k for k in (place, place + 1) if 0 <= k < self.count]
        away = {k: max(self.begin_s[k] - time_s, time_s - self.end_s[k], 0.0) for k in near}
        best = min(near, key=lambda k: away[k], default=None)
        return best if best is not None and away[best] <= slack_s else None

    def sums(self, low_s: float, high_s: float) -> dict[str, float]:
        """Seconds of each kind inside a span."""
        rows = self.within(low_s, high_s)
        inside = np.minimum(self.end_s[rows], high_s) - np.maximum(self.begin_s[rows], low_s)
        totals_s = np.bincount(self.kind[rows], np.maximum(inside, 0.0), len(self.kinds))
        return dict(zip(self.kinds, totals_s.tolist(), strict=True))


@dataclass(frozen=True)
class Visible:
    """The drawn part of a lane. `wide` holds indices of slices with their ends in pixels. `runs`
    (first pixel, end, kind) are columns of narrower slices, each of the kind that fills most of
    it."""

    wide: Ints
    left: Floats
    right: Floats
    runs: list[tuple[int, int, int]]


def visible(slices: Slices, x: Scale, least_px: float = 2.0) -> Visible:
    """The slices inside a scale; slices narrower than `least_px` become columns of one pixel."""
    rows = slices.within(x.low, x.high)
    left, right = x.many(slices.begin_s[rows]), x.many(slices.end_s[rows])
    is_wide = right - left >= least_px
    wide = np.flatnonzero(is_wide)
    runs: list[tuple[int, int, int]] = []
    narrow = np.flatnonzero(~is_wide & (right > left))
    if narrow.size:
        pixels = max(1, int(x.end - x.begin))
        middle = (left[narrow] + right[narrow]) / 2
        column = np.clip((middle - x.begin).astype(np.int64), 0, pixels - 1)
        kind = slices.kind[rows][narrow]
        filled = np.bincount(
            kind * pixels + column, (right - left)[narrow], len(slices.kinds) * pixels
        ).reshape(len(slices.kinds), pixels)
        most = np.where(filled.any(axis=0), filled.argmax(axis=0), -1)
        ends = np.flatnonzero(np.diff(most, append=-2)) + 1
        begin, first = 0, int(x.begin)
        for end in ends.tolist():
            if most[begin] >= 0:
                runs.append((first + begin, first + end, int(most[begin])))
            begin = end
    return Visible(wide + rows.start, left[wide], right[wide], runs)


@dataclass(frozen=True)
class Lanes:
    """The lanes of a single step of a prediction, over `span_s` seconds."""

    prediction: Prediction
    gpu: Slices
    host: Slices
    outer: Slices
    inner: Slices
    launching: Ints
    """The kernels that the host launched one by one; in a CUDA graph, only the first."""
    span_s: float

    def label(self, op: int, family: str = "") -> str:
        """A short name of an op; products have the name of their module."""
        call = self.prediction.trace.ops[op]
        tail = [part for part in call.module.split(".") if part and not part.isdecimal()]
        if family in NAMED and family != "attention" and tail:
            return tail[-1].replace("_", " ")
        short = call.name.removeprefix("aten.").partition(".")[0].removeprefix("_")
        if short.startswith("scaled_dot_product"):
            return "sdpa backward" if short.endswith("backward") else "sdpa"
        short = short.removeprefix("native_")
        return short.strip("_").replace("_", " ")

    def kernel_label(self, kernel: int) -> str:
        """A short name of a launch."""
        c = self.prediction.columns
        return self.label(
            int(c.op_of[kernel]), self.prediction.works[int(c.work_of[kernel])].family
        )

    def host_label(self, op: int) -> str:
        """A short name of the host's launch."""
        if self.graph_of(op):
            return "graph"
        first = int(np.searchsorted(self.prediction.columns.op_of, op))
        return self.kernel_label(first)

    def graph_of(self, op: int) -> frozenset[int]:
        """The ops that one graph replays together with this op; empty if it is in no graph."""
        p = self.prediction
        if p.mode == "cuda_graph":
            return frozenset(range(len(p.trace.ops)))
        if p.replays is None or p.replays.graph_of[op] < 0:
            return frozenset()
        graph_of = p.replays.graph_of
        return frozenset(np.flatnonzero(graph_of == graph_of[op]).tolist())

    def kernels_of(self, ops: frozenset[int]) -> Ints:
        """The launches of ops."""
        op_indices = np.fromiter(ops, np.int64, len(ops))
        return np.flatnonzero(np.isin(self.prediction.columns.op_of, op_indices))


def lanes(p: Prediction) -> Lanes:
    """The slices of a prediction."""
    host = _host(p)
    launching = np.flatnonzero(np.diff(p.schedule.issue_s, prepend=0.0) > 0)
    ends = [p.schedule.host_end_s, *p.schedule.end_s[-1:].tolist(), 1e-9]
    gpu, (outer, inner) = _gpu(p), _modules(p, host)
    return Lanes(p, gpu, host, outer, inner, launching.astype(np.int64), max(ends))


def regimes(p: Prediction) -> Ints:
    """The regime of most of each kernel's own time, as an index into REGIMES."""
    c = p.columns
    computing = c.compute_s >= c.memory_s
    parts = np.stack(
        [np.where(computing, c.compute_s, 0.0), np.where(computing, 0.0, c.memory_s), c.fixed_s]
    )
    return parts.argmax(axis=0).astype(np.int64)


def waited_for_sync(p: Prediction) -> NDArray[np.bool_]:
    """Whether each kernel follows a sync, which caused the idle time before it."""
    after = issued(p.trace, p.gpu).sync_after
    return np.concatenate([[False], after[:-1]]) if after.size else after


def _gpu(p: Prediction) -> Slices:
    """Slices of each kernel and of the idle time before it."""
    s, count = p.schedule, p.kernel_count
    begin = np.stack([s.start_s - s.idle_s, s.start_s], axis=1).ravel()
    end = np.stack([s.start_s, s.end_s], axis=1).ravel()
    waits = np.where(waited_for_sync(p), GPU_KINDS.index(SYNC_WAIT), GPU_KINDS.index(HOST_WAIT))
    kind = np.stack([waits, regimes(p)], axis=1).ravel()
    visible = np.flatnonzero(end - begin > 1e-12)  # seconds: shorter gaps are rounding errors
    of = np.repeat(np.arange(count), 2)
    return Slices(begin[visible], end[visible], kind[visible], of[visible], GPU_KINDS)


def _host(p: Prediction) -> Slices:
    """The ops of an eager host, including ops without a launch; in other modes, slices from launch
    to launch."""
    s, op_of = p.schedule, p.columns.op_of
    before = np.concatenate([[0.0], s.issue_s])
    if p.mode != "eager" or not op_of.size:
        wide = np.flatnonzero(np.diff(before) > 0)
        kind = np.zeros(wide.size, np.int64)
        return Slices(before[wide], s.issue_s[wide], kind, op_of[wide], HOST_KINDS)
    plan = issued(p.trace, p.gpu)
    each = p.host.op_s(plan.counts)
    done = np.cumsum(each)
    ops = np.arange(each.size)
    first = np.searchsorted(op_of, ops, "left")  # the launch after an op, or the op's own launch
    base = np.concatenate([[0.0], done])[np.concatenate([[0], op_of + 1])]
    free = before.copy()  # when the host has finished the work before it
    after_sync = np.flatnonzero(plan.sync_after[:-1]) + 1
    free[after_sync] = s.issue_s[after_sync] - plan.by(p.host).host_s[after_sync]
    if plan.sync_after[-1]:
        free[-1] = s.host_end_s - plan.by(p.host).tail_s
    begin = free[first] + done - each - base[first]
    launches = plan.launches > 0
    last = np.searchsorted(op_of, ops, "right") - 1
    end = np.where(launches, before[last + 1], begin + each)
    kind = np.where(launches, HOST_KINDS.index(LAUNCHES), HOST_KINDS.index(VIEWS))
    waits = np.flatnonzero(free - before > 1e-12)
    begin, end = np.concatenate([begin, before[waits]]), np.concatenate([end, free[waits]])
    kind = np.concatenate([kind, np.full(waits.size, HOST_KINDS.index(WAITS))])
    of = np.concatenate([ops, op_of[np.maximum(waits - 1, 0)]])
    order = np.argsort(begin, kind="stable")
    return Slices(begin[order], end[order], kind[order], of[order].astype(np.int64), HOST_KINDS)


def _modules(p: Prediction, host: Slices) -> tuple[Slices, Slices]:
    """The owners of the host's ops: a layer and the part of the layer."""
    owners: dict[tuple[str, str], int] = {}
    numbers = [owners.setdefault((op.module, op.phase), len(owners)) for op in p.trace.ops]
    owner = np.array(numbers, np.int64)[host.of]
    parts = [split(*each) for each in owners]
    return _runs(host, owner, [(outer,) for outer, _ in parts]), _runs(host, owner, parts)


@lru_cache(1 << 14)
def split(module: str, phase: str = "forward") -> tuple[str, str]:
    """encoder.layer.4.attention.self.query → encoder.layer.4, attention.self."""
    parts = module.split(".") if module else []
    numbers = [i for i, part in enumerate(parts) if part.isdecimal()]
    cut = numbers[-1] + 1 if numbers else 1
    outer, rest = ".".join(parts[:cut]), parts[cut:]
    if phase != "forward":
        outer = f"{outer}, {phase}" if outer else phase
    return outer, ".".join(rest[:-1] or rest)


def _runs(host: Slices, owner: Ints, keys: Sequence[tuple[str, ...]]) -> Slices:
    """A slice for each run of ops whose owners have the same key; the last part of a key is its
    name, and a run without a name has no slice."""
    known: dict[tuple[str, ...], int] = {}
    key_of = np.array([known.setdefault(key, len(known)) for key in keys], np.int64)
    by_key = key_of[owner]
    first = np.flatnonzero(np.diff(by_key, prepend=-1))
    last = np.append(first[1:], by_key.size) - 1 if first.size else first
    short = [key[-1] for key in known]
    at_runs: list[int] = by_key[first].tolist()
    names = [short[key] for key in at_runs]
    named = np.flatnonzero([bool(name) for name in names])
    none = np.zeros(named.size, np.int64)
    begin, end = host.begin_s[first[named]], host.end_s[last[named]]
    return Slices(begin, end, none, named, ("module",), names)
