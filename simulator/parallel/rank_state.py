"""The state of one rank in a simulation: its host, its streams and the speed of its GPU."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import ceil, inf

import numpy as np

from simulator.parallel.plan import RankPlan

_MOST = 64  # kernels of a stream that are run together


@dataclass(frozen=True)
class Machine:
    """Constants of all ranks: three durations, the `depth` of the launch queue, the number of
    multiprocessors (`units`) of a GPU, and the slowdown of transfers `beside` kernels."""

    latency_s: float
    gap_s: float
    sync_s: float
    depth: int
    units: int
    beside: float


@dataclass
class RankTimes:
    """Times of one rank in the last step: each kernel's issue, start and end, the start of a
    collective's transfers (`moved_s`), and the end of each step (`done_s`)."""

    issue_s: list[float]
    start_s: list[float]
    end_s: list[float]
    moved_s: list[float]
    done_s: list[float] = field(default_factory=list[float])


class RankState:
    """The state of one rank; its kernels are numbered consecutively over all steps."""

    def __init__(self, plan: RankPlan, steps: int) -> None:
        self.plan = plan
        self.count = len(plan.stream)
        self.total = self.count * steps
        self.queues: dict[int, deque[int]] = {}
        self.running: dict[int, int] = {}  # stream -> kernel
        self.free_s: dict[int, float] = {}
        self.left: dict[int, float] = {}  # kernel -> seconds of work left, if not a collective
        self.rates: dict[int, float] = {}  # of the kernels in `left`
        self.at = 0.0
        self.version = 0
        self.issued = 0
        self.tail_at = 0  # the kernel before which the last step's tail has been added
        self.planned: dict[int, float] = {}  # stream -> time of its next check
        self.host_s = 0.0
        self.host_waits: int | None = None  # the kernel whose end or start the host waits for
        self.issue = [0.0] * self.total
        self.start = [-1.0] * self.total
        self.end = [-1.0] * self.total
        self.moved = [-1.0] * self.total
        self.parts_left: dict[int, int] = {}
        self.held = 0
        self.absent = 0  # transfers that wait for another rank
        self.pending: list[float] = []  # times of the rank's future events
        self.ended: dict[int, int] = {}  # kernel -> how many of those that it waits for have ended
        self.blocked: dict[int, int] = {}  # stream -> the kernel that its next one waits for
        self.watched = _watched(plan)
        self.plain = _plain(plan, self.watched)
        self.streams = len(set(plan.stream))
        stops = [*plan.sync_after[:-1], True][: self.count]
        self.same_stream = _runs(stops, plan.stream)
        self.no_sync = _runs(stops)
        self.speeds: dict[int, dict[float, float]] = {}  # by `held` and the blocks of a kernel

    def ready(self, k: int) -> bool:
        """Whether all kernels that kernel k waits for have ended."""
        local = k % self.count
        base, after, end = k - local, self.plan.after[local], self.end
        for place in range(self.ended.pop(k, 0), len(after)):
            other = after[place]
            waited = base + other if other >= 0 else base - self.count - 1 - other
            if waited >= 0 and end[waited] < 0:
                self.ended[k] = place
                self.blocked[self.plan.stream[local]] = waited
                return False
        return True

    def speed(self, k: int, units: int) -> float:
        """The speed of kernel k while collectives occupy some of the multiprocessors."""
        if not self.held:
            return 1.0
        return self.speed_of(units)(self.plan.blocks[k % self.count])

    def speed_of(self, units: int) -> Callable[[float], float]:
        """The speed of a kernel by its blocks while collectives occupy some of the `units`
        multiprocessors."""
        speeds = self.speeds.get(self.held)
        if speeds is None:
            speeds = self.speeds[self.held] = _Speeds(units, self.held)
        return speeds.__getitem__

    def unheeded(self, stream: int) -> int:
        """The number of kernels that the host may issue next without an event, while a kernel of
        this stream is at the head of its queue: they neither reach a stream that waits for work,
        nor a wait, nor the last kernel of the step."""
        local = self.issued % self.count
        idle = any(not queue and s not in self.running for s, queue in self.queues.items())
        if len(self.queues) == self.streams and not idle:
            return self.no_sync[local]
        return self.same_stream[local] if self.plan.stream[local] == stream else 0

    def refill(self, starts: list[float]) -> None:
        """Issue a kernel for each that began, at `starts`; then the host waits again."""
        first, local = self.issued, self.issued % self.count
        many, issue_s, host_s = len(starts), list[float](), self.host_s
        for start_s, spent_s in zip(starts, self.plan.host_s[local : local + many], strict=True):
            if start_s > host_s:
                host_s = start_s
            host_s += spent_s
            issue_s.append(host_s)
        self.host_s, self.issued = host_s, first + many
        self.issue[first : self.issued] = issue_s
        queues = self.queues
        for k, stream in enumerate(self.plan.stream[local : local + many], first):
            queues[stream].append(k)
        assert self.host_waits is not None
        self.host_waits += many

    def run_plain(self, k: int, now: float, machine: Machine) -> tuple[float, bool]:
        """Run kernels of a stream, beginning with k, until one that is not `plain` or until an
        event. Returns the time at which the next one may begin, and whether an event comes before.

        If the host waits for room in the launch queue, it issues one kernel for each that begins.
        """
        plan, local, issued, waits = self.plan, k % self.count, self.issued, self.host_waits
        stream = plan.stream[local]
        most = min(self.plain[local], issued - k, _MOST)
        refills = waits == k
        if refills:  # up to a kernel of this stream, since one of another may have begun
            most = min(most, self.plain[local] - 1, self.unheeded(stream))
        elif waits is not None and waits > k:
            most = min(most, waits - k)
        until = self.pending[0] if self.pending else inf
        latency_s, gap_s = machine.latency_s, machine.gap_s
        seconds: Iterable[float] = plan.seconds[local : local + most]
        if self.held:
            speeds = map(self.speed_of(machine.units), plan.blocks[local : local + most])
            seconds = (own / speed for own, speed in zip(seconds, speeds, strict=True))
        starts: list[float] = []
        ends: list[float] = []
        stopped = False
        for own, issue_s in zip(seconds, self.issue[k : k + most], strict=True):
            if issue_s + latency_s > now:
                now = issue_s + latency_s
            if now > until:
                stopped = True
                break
            starts.append(now)
            end = now + own
            if end >= until:
                stopped = True
                break
            ends.append(end)
            now = end + gap_s
        self.start[k : k + len(starts)] = starts
        self.end[k : k + len(ends)] = ends
        queue = self.queues[stream]
        for _ in ends:
            queue.popleft()
        if ends:
            self.free_s[stream] = ends[-1] + gap_s
        if refills and starts:
            self.refill(starts)
        return now, stopped

    def computes(self, now: float, machine: Machine) -> bool:
        """Whether a kernel without collective runs, or begins as soon as a gap is over."""
        if self.left:
            return True
        soon = now + machine.gap_s + 1e-12
        for stream, queue in self.queues.items():
            if not queue or stream in self.running:
                continue
            k = queue[0]
            if (
                not self.plan.parts[k % self.count]
                and self.issue[k] + machine.latency_s <= soon
                and self.ready(k)
            ):
                return True
        return False

    def advance(self, now: float) -> None:
        """Account for the work done since the last change of speed."""
        if self.left and now > self.at:
            spent = now - self.at
            for k in self.left:
                self.left[k] -= spent * self.rates[k]
        self.at = now

    def times(self, steps: int) -> RankTimes:
        """The times of the last step, and the end of each step."""
        count = self.count
        first = (steps - 1) * count
        done = [
            max(self.end[step * count : (step + 1) * count], default=0.0) for step in range(steps)
        ]
        return RankTimes(
            self.issue[first:], self.start[first:], self.end[first:], self.moved[first:], done
        )


def _watched(plan: RankPlan) -> list[bool]:
    """Whether another stream or the host waits for the end of each kernel."""
    watched = list(plan.sync_after)
    for after in plan.after:
        for k in after:
            watched[k if k >= 0 else -1 - k] = True
    return watched


class _Speeds(dict[float, float]):
    """The speed of a kernel by its blocks while collectives hold `held` of the multiprocessors, at
    most half of them: the inverse of its number of waves, or of the time of many small blocks."""

    def __init__(self, units: int, held: int) -> None:
        self.units, self.free = units, units - min(held, units // 2)

    def __missing__(self, blocks: float) -> float:
        units, free = self.units, self.free
        speed = ceil(blocks / units) / ceil(blocks / free) if blocks else free / units
        self[blocks] = speed
        return speed


def _plain(plan: RankPlan, watched: list[bool]) -> list[int]:
    """The number of kernels from each on that follow one another on its stream, and that neither
    wait for another kernel nor are waited for."""
    pairs = zip(plan.parts, plan.after, watched, strict=True)
    return _runs([bool(parts or after) or ends for parts, after, ends in pairs], plan.stream)


def _runs(stops: list[bool], streams: list[int] | None = None) -> list[int]:
    """The number of kernels from each on, up to the next that stops or is on another stream."""
    at = np.arange(len(stops))
    end = np.where(np.array(stops, np.bool_), at, len(stops))
    if streams is not None:
        changes = np.flatnonzero(np.diff(np.array(streams, np.int64)))
        end[changes] = np.minimum(end[changes], changes + 1)
    runs: list[int] = (np.minimum.accumulate(end[::-1])[::-1] - at).tolist()
    return runs
