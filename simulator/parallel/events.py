"""Simulate ranks in time order: hosts issue, streams execute, collectives wait for all ranks.

On each GPU a stream runs one kernel at a time. On a GPU with several streams, these rules apply:

- a NCCL kernel that is ready while a kernel of another stream runs begins when that kernel ends,
  since that kernel's blocks hold the multiprocessors. On two H200s, a reduce-scatter of 165 µs
  alongside products of 1.45 ms runs once per product;
- while a NCCL kernel holds `channels` of the multiprocessors, waiting for its peers or not, other
  kernels run at (units − channels)/units of their speed;
- a transfer that begins while other work runs takes `beside` times as long;
- two kernels that are not collectives share the GPU.

Kernels that nothing else on their rank can affect run in sequence, without events.
"""

from __future__ import annotations

import heapq
from math import inf

from simulator.errors import InputError
from simulator.parallel.plan import RankPlan
from simulator.parallel.rank_state import Machine, RankState, RankTimes


def run(plans: list[RankPlan], machine: Machine, steps: int) -> list[RankTimes]:
    """Run `steps` steps back to back on all ranks. Raises InputError if the ranks deadlock."""
    return _Simulation(plans, machine, steps).run()


class _Simulation:
    def __init__(self, plans: list[RankPlan], machine: Machine, steps: int) -> None:
        self.machine = machine
        self.steps = steps
        self.ranks = [RankState(plan, steps) for plan in plans]
        self.events: list[tuple[float, int, int, int, int]] = []
        self.order = 0
        self.arrived: dict[object, list[tuple[int, int]]] = {}
        self.is_single = len(self.ranks) == 1

    # kinds of events: 0 a stream may begin its next kernel, 1 a kernel that is not a collective may
    # be done (a = version), 2 a transfer is done (a = kernel), 3 the host continues

    def push(self, time: float, kind: int, rank: int, a: int = 0) -> None:
        self.order += 1
        heapq.heappush(self.events, (time, kind, self.order, rank, a))
        if not self.is_single:
            heapq.heappush(self.ranks[rank].pending, time)

    def next_s(self, rank: RankState) -> float:
        """The time of the next event of a rank."""
        if self.is_single:
            return self.events[0][0] if self.events else inf
        return rank.pending[0] if rank.pending else inf

    def is_next(self, time: float) -> bool:
        """Whether no event of any rank comes before this time, or at it."""
        return not self.events or time < self.events[0][0]

    def run(self) -> list[RankTimes]:
        for r in range(len(self.ranks)):
            self.push(0.0, 3, r)
        while self.events:
            now, kind, _, r, a = heapq.heappop(self.events)
            rank = self.ranks[r]
            if not self.is_single:
                heapq.heappop(rank.pending)
            if kind == 0:
                self.begin(r, a, now)
            elif kind == 1:
                if a == rank.version:
                    self.progress(r, now)
            elif kind == 2:
                rank.parts_left[a] -= 1
                if rank.parts_left[a] == 0:
                    rank.advance(now)
                    rank.held -= rank.plan.channels[a % rank.count]
                    self.finish(r, a, now)
                    self.retime(r, now)
            else:
                self.issue(r, now)
        self.check()
        return [rank.times(self.steps) for rank in self.ranks]

    # -- the host --------------------------------------------------------------------------

    def issue(self, r: int, now: float) -> None:
        """Let the host of a rank continue at `now`."""
        for time, stream in self.ranks[r].issue_from(now, self.machine):
            self.push(time, 0, r, stream)

    def wake(self, r: int, k: int, now: float, ended: bool) -> None:
        """Continue the host, which waits for kernel k."""
        rank = self.ranks[r]
        synced = rank.issued == k + 1 and rank.plan.sync_after[k % rank.count]
        if synced and not ended:
            return
        rank.host_waits = None
        if synced:
            self.push(max(now, rank.host_s) + self.machine.sync_s, 3, r)
        else:
            self.issue(r, now)

    # -- streams ---------------------------------------------------------------------------

    def begin(self, r: int, stream: int, now: float, others: bool = False) -> None:
        """Begin the next kernel of a stream if nothing blocks it. With `others`, other streams may
        begin kernels at the same time."""
        rank = self.ranks[r]
        k = rank.heads[stream]
        if k >= rank.issued or stream in rank.running:
            return
        awaited = rank.blocked.get(stream)
        if awaited is not None:
            if rank.end[awaited] < 0:
                return
            del rank.blocked[stream]
        local = k % rank.count
        ready = rank.issue[k] + self.machine.latency_s
        ready = max(ready, rank.free_s.get(stream, 0.0))
        if ready > now + 1e-12:
            if rank.planned.get(stream) != ready:
                rank.planned[stream] = ready
                self.push(ready, 0, r, stream)
            return
        if rank.plan.after[local] and not rank.ready(k):
            return  # this stream continues when the awaited kernel ends
        parts = rank.plan.parts[local]
        if parts and any(
            s != stream and not rank.plan.parts[j % rank.count] for s, j in rank.running.items()
        ):
            return
        if not (parts or rank.left or rank.absent or others):
            now = self.row(r, stream, now)
            k = rank.heads[stream]
            if k >= rank.issued or now < 0:
                return
            local = k % rank.count
            if rank.start[k] < 0:
                self.push(max(now, rank.issue[k] + self.machine.latency_s), 0, r, stream)
                return
        rank.pop(k)
        rank.running[stream] = k
        if rank.start[k] < 0:
            rank.start[k] = now
            if rank.host_waits == k:
                self.wake(r, k, now, False)
        rank.advance(now)
        if parts:
            rank.held += rank.plan.channels[local]
            rank.parts_left[k] = len(parts)
            step = k // rank.count
            for part in parts:
                arrived = self.arrived.setdefault((part.key, step), [])
                arrived.append((r, k))
                rank.absent += 1
                if len(arrived) == part.members:
                    self.transfer(arrived, part.seconds, now)
        else:
            rank.left[k] = rank.plan.seconds[local]
        self.retime(r, now)

    def row(self, r: int, stream: int, now: float) -> float:
        """Run the kernels at the head of a stream that nothing can affect, beginning at `now`.

        Returns the time at which the next one may begin, or −1 if an event continues the stream; a
        kernel that has begun, but may be affected, stays at the head with its start.
        """
        rank, machine = self.ranks[r], self.machine
        parts, after, watched = rank.plan.parts, rank.plan.after, rank.shape.watched
        next_s = self.next_s(rank)
        while (k := rank.heads[stream]) < rank.issued:
            ran, now = rank.sequence(k, now, next_s, machine)
            if ran:
                continue
            local = k % rank.count
            if parts[local] or (after[local] and not rank.ready(k)):
                return now
            now = max(now, rank.issue[k] + machine.latency_s)
            if now > next_s:
                return now
            rank.start[k] = now
            if rank.host_waits == k:
                self.wake(r, k, now, False)
                next_s = self.next_s(rank)
            seconds = rank.slowed_s(machine.units) if rank.held else rank.plan.seconds
            ends = now + seconds[local]
            if ends >= next_s or (watched[local] and not self.is_next(ends)):
                return now
            rank.pop(k)
            if not watched[local]:
                rank.end[k] = ends
                rank.free_s[stream] = now = ends + machine.gap_s
                continue
            rank.running[stream] = k
            self.end(r, k, ends)
            now, k = ends + machine.gap_s, rank.heads[stream]
            if k < rank.issued:
                ready_s = rank.issue[k] + machine.latency_s
                if rank.left or rank.absent or ready_s > now or not self.is_next(now):
                    self.push(now, 0, r, stream)
                    self.retime(r, ends)
                    return -1.0
                next_s = self.next_s(rank)
            else:
                self.retime(r, ends)
        return now

    def transfer(self, arrived: list[tuple[int, int]], seconds: float, now: float) -> None:
        """Start a transfer for which all ranks have arrived."""
        if any(self.ranks[r].computes(now, self.machine) for r, _ in arrived):
            seconds *= self.machine.beside
        for r, k in arrived:
            rank = self.ranks[r]
            rank.moved[k] = max(rank.moved[k], now)
            rank.absent -= 1
            self.push(now + seconds, 2, r, k)

    def retime(self, r: int, now: float) -> None:
        """Set the speed of the running kernels, and schedule the end of the kernel that ends
        first."""
        rank = self.ranks[r]
        rank.version += 1
        if not rank.left:
            return
        sharing = len(rank.left)
        if sharing == 1:
            ((k, left),) = rank.left.items()
            rate = rank.speed(k, self.machine.units) if rank.held else 1.0
            rank.rates = {k: rate}
            self.push(now + max(0.0, left / rate), 1, r, rank.version)
            return
        rank.rates = {k: rank.speed(k, self.machine.units) / sharing for k in rank.left}
        until = min(left / rank.rates[k] for k, left in rank.left.items())
        self.push(now + max(0.0, until), 1, r, rank.version)

    def progress(self, r: int, now: float) -> None:
        """End the kernels with the least work left."""
        rank = self.ranks[r]
        rank.advance(now)
        if len(rank.left) == 1:
            done = [*rank.left]
        else:
            least = min(rank.left[k] / rank.rates[k] for k in rank.left)
            done = [k for k, left in rank.left.items() if left <= (least + 1e-13) * rank.rates[k]]
        for k in done:
            del rank.left[k]
            self.finish(r, k, now)
        self.retime(r, now)

    def finish(self, r: int, k: int, now: float) -> None:
        """End a kernel; the next one of its stream may begin after a gap."""
        self.end(r, k, now)
        rank = self.ranks[r]
        stream = rank.plan.stream[k % rank.count]
        if rank.heads[stream] < rank.issued:
            self.push(now + self.machine.gap_s, 0, r, stream)

    def end(self, r: int, k: int, now: float) -> None:
        """End a kernel; kernels of other streams may begin."""
        rank = self.ranks[r]
        stream = rank.plan.stream[k % rank.count]
        rank.end[k] = now
        del rank.running[stream]
        rank.free_s[stream] = now + self.machine.gap_s
        if rank.host_waits == k:
            self.wake(r, k, now, True)
        for other, head in rank.heads.items():
            if head < rank.issued and other != stream and other not in rank.running:
                awaited = rank.blocked.get(other)
                if awaited is None or rank.end[awaited] >= 0:
                    self.begin(r, other, now, True)

    # -- the end ---------------------------------------------------------------------------

    def check(self) -> None:
        for rank in self.ranks:
            if min(rank.end, default=0.0) < 0:
                k = next(k for k, end_s in enumerate(rank.end) if end_s < 0)
                raise InputError(
                    f"rank {rank.plan.rank} waits forever for its collective number {k} of "
                    "the step: expected every rank of a group to call the same collectives "
                    "in the same order; correct the program"
                )
