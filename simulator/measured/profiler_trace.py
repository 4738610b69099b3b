"""A PyTorch profiler's trace: the kernels of one measured step, and the ops that launched them.

The file comes from `profiler.export_chrome_trace` (Chrome's trace event format, plain or gzipped).
Ops have the category `cpu_op`, kernels `kernel`. Both refer to the launch that links them: the
`correlation` of a CUDA runtime call, whose time lies within its ops.
"""

from __future__ import annotations

import gzip
import zlib
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from simulator.errors import InputError
from simulator.formats.limited import absence

_MAX_BYTES = 512 * 2**20
_GPU = ("kernel", "gpu_memcpy", "gpu_memset")
_LAUNCHES = ("cuda_runtime", "cuda_driver")
_STEP = "ProfilerStep#"


class _Event(msgspec.Struct):
    """One event; other fields are ignored."""

    ph: str = ""
    cat: str = ""
    name: str = ""
    ts: float = 0.0
    dur: float = 0.0
    tid: int | str = 0
    args: dict[str, Any] = {}


class _Document(msgspec.Struct, rename={"events": "traceEvents"}):
    events: list[_Event]


class Call(NamedTuple):
    """An op's name without its namespace ("addmm"), a number that identifies the call, and the
    shapes of its tensors; () if the profiler did not record shapes."""

    name: str
    number: int
    shapes: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True)
class ProfiledKernel:
    """One kernel, copy or fill. `calls` are the ops within which it was launched, the innermost
    first: addmm, linear; () if no op launched it."""

    name: str
    start_s: float
    duration_s: float
    calls: tuple[Call, ...]


@dataclass(frozen=True)
class ProfiledStep:
    """The kernels of a step in the order of their launches."""

    kernels: tuple[ProfiledKernel, ...]

    @property
    def gpu_busy_s(self) -> float:
        """Seconds in which at least one kernel ran."""
        total, reached = 0.0, float("-inf")
        for k in sorted(self.kernels, key=lambda k: k.start_s):
            end = k.start_s + k.duration_s
            total += max(0.0, end - max(k.start_s, reached))
            reached = max(reached, end)
        return total

    @property
    def span_s(self) -> float:
        """Seconds from the first kernel's start to the last one's end: not the step's time, since
        the profiler slows the host down."""
        ends = [k.start_s + k.duration_s for k in self.kernels]
        return max(ends) - min(k.start_s for k in self.kernels)


def read(path: Path) -> ProfiledStep:
    """The step of a trace: the last complete step if the profiler marked steps, else the whole
    trace.

    Raises InputError for a file that is not a profiler trace or has no kernels.
    """
    everything = _events(path)
    _refuse_impossible(path, everything)
    events = [e for e in everything if e.ph == "X"]
    low, high = _step(events)
    ops: dict[Any, list[_Event]] = {}
    launches: dict[int, _Event] = {}
    for e in events:
        if e.cat == "cpu_op":
            ops.setdefault(e.tid, []).append(e)
        elif e.cat in _LAUNCHES and "correlation" in e.args:
            launches[e.args["correlation"]] = e
    nests = {tid: _Nest(thread_ops) for tid, thread_ops in ops.items()}
    thread_ops: list[tuple[float, ProfiledKernel]] = []
    for e in events:
        if e.cat not in _GPU:
            continue
        launch = launches.get(e.args.get("correlation", -1))
        at = launch.ts if launch else e.ts
        if not low <= at < high:
            continue
        nest = nests.get(launch.tid) if launch else None
        calls = nest.around(at) if nest else ()
        thread_ops.append((at, ProfiledKernel(e.name, e.ts * 1e-6, e.dur * 1e-6, calls)))
    if not thread_ops:
        raise InputError(
            f"{path} has no GPU kernels among {len(events):,} events: expected a trace "
            "recorded with ProfilerActivity.CUDA; profile the step again with it"
        )
    thread_ops.sort(key=lambda pair: (pair[0], pair[1].start_s))
    return ProfiledStep(tuple(kernel for _, kernel in thread_ops))


def _events(path: Path) -> list[_Event]:
    try:
        if path.exists() and not path.is_file():
            raise InputError(
                f"cannot read the profiler trace {path}: {absence(path)}: expected a trace of "
                "torch.profiler; check the path"
            )
        with path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        with gzip.open(path) if packed else path.open("rb") as file:
            raw = file.read(_MAX_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        what = getattr(error, "strerror", None) or error
        raise InputError(
            f"cannot read the profiler trace {path}: {what}: expected a trace of torch.profiler; "
            "check the path"
        ) from None
    if len(raw) > _MAX_BYTES:
        raise InputError(f"{path}: over 512 MiB: expected a trace of a few steps; profile fewer")
    try:
        return msgspec.json.decode(raw, type=_Document).events
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(
            f"{path} is not a profiler trace: {error}; expected a file written by torch.profiler's "
            "export_chrome_trace; choose another"
        ) from None


_MOST_OVERLAP = 0.1
"""Largest share of a stream's kernel time in which two kernels run: a few microseconds if one
launches the next early (programmatic dependent launch), else none."""
_MOST_INSIDE = 0.5
"""Largest share of a stream's kernels that run entirely within another."""


_LONGEST_US = 86_400e6  # a day
_LATEST_US = 1e17  # the year 5138 by a clock that began in 1970


def _refuse_impossible(path: Path, events: list[_Event]) -> None:
    """Raise InputError for durations and times out of range, and for kernels of one stream that
    overlap, since a stream runs one kernel after the other. Nodes of a CUDA graph may overlap."""
    streams: dict[Any, list[int]] = {}
    for place, e in enumerate(events):
        if e.ph == "X" and not 0 <= e.dur <= _LONGEST_US:
            bound = "0 or more" if e.dur < 0 else "of a day at most"
            raise InputError(
                f"{_place(path, place, e)}: dur is {e.dur:g}: expected microseconds, {bound}; "
                "record the trace again"
            )
        if abs(e.ts) > _LATEST_US:
            raise InputError(
                f"{_place(path, place, e)}: ts is {e.ts:g}: expected microseconds of a clock; "
                "record the trace again"
            )
        if not isinstance(e.args.get("correlation", 0), int):
            raise InputError(
                f"{_place(path, place, e)}: correlation is {e.args['correlation']!r:.40}: "
                "expected a whole number; record the trace again"
            )
        if e.cat in _GPU and "stream" in e.args and not e.args.get("graph node id"):
            streams.setdefault((str(e.args.get("device")), str(e.args["stream"])), []).append(place)
    for places in streams.values():
        _refuse_overlaps(path, events, sorted(places, key=lambda place: events[place].ts))


def _refuse_overlaps(path: Path, events: list[_Event], places: list[int]) -> None:
    longest, worst, total, covered, reached = 0.0, -1, 0.0, 0.0, float("-inf")
    inside = 0
    running = places[0]
    for place in places:
        e = events[place]
        overlap = max(0.0, min(reached, e.ts + e.dur) - e.ts)
        total, covered = total + e.dur, covered + overlap
        inside += 0 < e.dur <= overlap
        if overlap > longest:
            longest, worst = overlap, running
        if e.ts + e.dur > reached:
            reached, running = e.ts + e.dur, place
    if covered > _MOST_OVERLAP * total or inside > _MOST_INSIDE * len(places):
        raise InputError(
            f"{_place(path, worst, events[worst])}: other kernels of its stream run within its "
            f"{events[worst].dur:g} µs; kernels overlap for {covered:g} of {total:g} µs: expected "
            "one kernel after the other; record the trace again"
        )


def _place(path: Path, place: int, e: _Event) -> str:
    return f"{path}: traceEvents[{place}] ({e.name[:60]!r})"


def _step(events: Iterable[_Event]) -> tuple[float, float]:
    """The start and end of the last marked step, in microseconds."""
    marked = [e for e in events if e.cat == "user_annotation" and e.name.startswith(_STEP)]
    if not marked:
        return float("-inf"), float("inf")
    last = max(marked, key=lambda e: e.ts)
    return last.ts, last.ts + last.dur


def _shapes(op: _Event) -> tuple[tuple[int, ...], ...]:
    """The recorded shapes of an op's tensors. Numbers have none, and those of lists of tensors are
    left out."""
    recorded = op.args.get("Input Dims", ())
    if not isinstance(recorded, list):
        return ()
    rows: list[Any] = [row for row in recorded if isinstance(row, list) and row]  # pyright: ignore
    return tuple(tuple(row) for row in rows if all(isinstance(size, int) for size in row))


class _Nest:
    """The ops of a thread, as a forest of nested calls."""

    def __init__(self, ops: list[_Event]) -> None:
        self.ops = sorted(ops, key=lambda e: (e.ts, -e.dur))
        self.begin = [e.ts for e in self.ops]
        self.outer: list[int] = []
        running: list[int] = []
        for place, e in enumerate(self.ops):
            while running and self._end(running[-1]) <= e.ts:
                running.pop()
            self.outer.append(running[-1] if running else -1)
            running.append(place)

    def around(self, at: float) -> tuple[Call, ...]:
        """The ops that run at a point in time, innermost first."""
        place = bisect_right(self.begin, at) - 1
        while place >= 0 and self._end(place) < at:
            place = self.outer[place]
        calls: list[Call] = []
        while place >= 0:
            op = self.ops[place]
            calls.append(Call(op.name.rpartition("::")[2], place, _shapes(op)))
            place = self.outer[place]
        return tuple(calls)

    def _end(self, place: int) -> float:
        return self.ops[place].ts + self.ops[place].dur
