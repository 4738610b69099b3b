"""The state of one rank in a simulation: its host, its streams and the speed of its GPU."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from math import ceil

from simulator.parallel.plan import RankPlan


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
