"""The state of one rank in a simulation: its host, its streams and the speed of its GPU."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil

import numpy as np

from simulator.parallel.plan import RankPlan
from simulator.parallel.plan_shape import shape_of


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
        self.shape = plan.shape or shape_of(
            plan.stream, plan.after, plan.sync_after, [not parts for parts in plan.parts]
        )
        self.count = len(plan.stream)
        self.total = self.count * steps
        self.heads = dict(self.shape.first)  # stream -> its next kernel, which may not be issued
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
        self.issue: list[float] = []  # of the kernels issued so far
        self.start = [-1.0] * self.total
        self.end = [-1.0] * self.total
        self.moved = [-1.0] * self.total
        self.parts_left: dict[int, int] = {}
        self.held = 0
        self.absent = 0  # transfers that wait for another rank
        self.pending: list[float] = []  # times of the rank's future events
        self.ended: dict[int, int] = {}  # kernel -> how many of those that it waits for have ended
        self.blocked: dict[int, int] = {}  # stream -> the kernel that its next one waits for
        self._slowed: dict[int, list[float]] = {}  # seconds of kernels, by `held`

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

    def issue_from(self, now: float, machine: Machine) -> list[tuple[float, int]]:
        """Issue kernels from `now` on, until a sync, a full queue or the last step's end stops the
        host.

        Returns the times at which streams without kernels may begin the new ones.
        """
        plan, count, heads, start = self.plan, self.count, self.heads, self.start
        issue, streams, sync_after = self.issue, plan.stream, plan.sync_after
        host_s, issued = max(self.host_s, now), self.issued
        begins: list[tuple[float, int]] = []
        while issued < self.total:
            local = issued % count
            if local == 0 and issued > self.tail_at:
                host_s += plan.tail_s
                self.tail_at = issued
            room = issued - machine.depth
            if room >= 0:
                if start[room] < 0:
                    self.host_waits = room
                    break
                if start[room] > host_s:
                    host_s = start[room]
            host_s += plan.host_s[local]
            issue.append(host_s)
            stream = streams[local]
            if heads[stream] == issued and stream not in self.running:
                begins.append((max(now, host_s + machine.latency_s), stream))
            issued += 1
            if sync_after[local]:
                self.host_waits = issued - 1
                break
        self.host_s, self.issued = host_s, issued
        return begins

    def pop(self, k: int) -> None:
        """Remove kernel k from the head of its stream."""
        local = k % self.count
        self.heads[self.plan.stream[local]] = k + self.shape.following[local]

    def sequence(self, k: int, now: float, next_s: float, machine: Machine) -> tuple[int, float]:
        """Run kernels from k on, the head of its stream, one after another, as long as they end
        before `next_s` and nothing else depends on them. Each that makes room in the queue lets the
        host issue one.

        Returns the number of kernels, and the time at which the next one may begin.
        """
        place, after = k % self.count, self.issued % self.count
        count = min(self.shape.plain[place], self.issued - k)
        waits = self.host_waits
        issues = waits == k
        if issues:
            count = min(count, self.shape.issuable[after])
            if count and self.start[k + count] >= 0:
                count -= 1  # the host would not wait for the next kernel
        elif waits is not None and waits > k:
            count = min(count, waits - k)
        if not count:
            return 0, now
        latency_s, gap_s, host_s = machine.latency_s, machine.gap_s, self.host_s
        seconds = self.slowed_s(machine.units) if self.held else self.plan.seconds
        host_seconds = self.plan.host_s[after : after + count] if issues else [0.0] * count
        starts: list[float] = []
        ends: list[float] = []
        issued: list[float] = []
        for issue_s, own_s, more_s in zip(
            self.issue[k : k + count], seconds[place : place + count], host_seconds, strict=True
        ):
            ready_s = issue_s + latency_s
            if ready_s > now:
                now = ready_s
            end_s = now + own_s
            if end_s >= next_s:
                break
            starts.append(now)
            ends.append(end_s)
            if issues:
                host_s = (now if now > host_s else host_s) + more_s
                issued.append(host_s)
            now = end_s + gap_s
        ran = len(starts)
        if ran:
            self.start[k : k + ran] = starts
            self.end[k : k + ran] = ends
            stream = self.plan.stream[place]
            self.free_s[stream] = ends[-1] + gap_s
            self.pop(k + ran - 1)
            if issues:
                self.issue += issued
                self.issued += ran
                self.host_s, self.host_waits = host_s, k + ran
        return ran, now

    def slowed_s(self, units: int) -> list[float]:
        """Seconds of all kernels of a step while `held` multiprocessors are taken."""
        seconds = self._slowed.get(self.held)
        if seconds is None:
            free = units - min(self.held, units // 2)
            blocks = np.array(self.plan.blocks)
            waves = np.ceil(blocks / units), np.ceil(blocks / free)
            speeds = np.divide(*waves, out=np.full(blocks.shape, free / units), where=blocks > 0)
            seconds = (np.array(self.plan.seconds) / speeds).tolist()
            self._slowed[self.held] = seconds
        return seconds

    def speed(self, k: int, units: int) -> float:
        """The speed of kernel k while collectives occupy some of the multiprocessors, at most half
        of them: the inverse of its number of waves, or of the time of many small blocks."""
        if not self.held:
            return 1.0
        free = units - min(self.held, units // 2)
        blocks = self.plan.blocks[k % self.count]
        return ceil(blocks / units) / ceil(blocks / free) if blocks else free / units

    def computes(self, now: float, machine: Machine) -> bool:
        """Whether a kernel that is not a collective runs, or can begin within the gap between
        kernels."""
        if self.left:
            return True
        soon = now + machine.gap_s + 1e-12
        for stream, k in self.heads.items():
            if k >= self.issued or stream in self.running:
                continue
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
