"""What a traced step issues on a kind of GPU: its kernels, and what the host does for each.

All of it is kept with the trace: the next question is often about another clock, host or mode.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from simulator.hardware.gpu import GPU
from simulator.hardware.host import Host
from simulator.hardware.host_counts import counts, tail_s
from simulator.hardware.waits import syncs
from simulator.lowering import Lowered, lower
from simulator.records import Trace
from simulator.schedule.l2_reuse import Accesses, accesses
from simulator.schedule.timeline import Launches

Floats = NDArray[np.float64]
T = TypeVar("T")
_KINDS = 48  # of GPUs that are kept with a trace


@dataclass(frozen=True)
class LaunchPlan:
    """A trace and its kernels. Made anew for each question: what it finds is kept with the trace,
    but not itself, or the two would hold each other."""

    trace: Trace
    lowered: Lowered

    @cached_property
    def launches(self) -> NDArray[np.int64]:
        """Kernels of each op."""
        return np.bincount(self.lowered.op_of, minlength=len(self.trace.ops))

    @cached_property
    def _launching(self) -> bytes:
        return np.packbits(self.launches > 0).tobytes()

    def _shared(self, what: str, make: Callable[[], T]) -> T:
        """What is the same for every GPU on which the same ops launch."""
        key = what, self._launching
        if key not in self.trace.kept:
            self.trace.kept[key] = make()
        return self.trace.kept[key]

    @property
    def accesses(self) -> Accesses:
        """Reuse distances."""
        return self._shared("accesses", lambda: accesses(self.trace, self.launches > 0))

    def hot_share(self, l2_bytes: float) -> Floats:
        """Share of each kernel's bytes that an L2 of this size serves [kernels]."""
        return self.accesses.hot_share(l2_bytes)[self.lowered.op_of]

    @property
    def counts(self) -> Floats:
        """What the host does for each op [ops, counts]."""
        return self._shared("counts", lambda: counts(self.trace, self.launches))

    @cached_property
    def sync_after(self) -> NDArray[np.bool_]:
        """Kernels after which the host waits: the last ones of ops that wait."""
        waits = self._shared("waits", self._waits)
        op_of = self.lowered.op_of
        last = np.flatnonzero(np.diff(op_of, append=-1))
        found = np.zeros(op_of.size, np.bool_)
        found[last] = waits[op_of[last]]
        return found

    def _waits(self) -> NDArray[np.bool_]:
        signatures, rows = self.trace.signatures
        return np.array([syncs(s) for s in signatures], np.bool_)[rows]

    def by(self, host: Host) -> Launches:
        """The host's work spread over the launches: an op's own comes before its first. Durations
        are left out."""
        op_of = self.lowered.op_of
        done = np.cumsum(host.op_s(self.counts))
        before = done[op_of] + host.launch_s * np.arange(1, op_of.size + 1)
        tail = float(done[-1]) if done.size else 0.0
        if op_of.size:
            tail -= float(done[op_of[-1]])
        tail += tail_s(self.trace, host)
        return Launches(np.diff(before, prepend=0.0), np.zeros(0), self.sync_after, tail)


def issued(trace: Trace, gpu: GPU) -> LaunchPlan:
    """What a trace issues on a GPU."""
    key = (gpu.units, gpu.compute_capability, gpu.vendor, tuple(gpu.tensor_flops_per_s))
    held: dict[object, Lowered] = trace.kept.setdefault("lowered", {})
    if key not in held:
        if len(held) >= _KINDS:
            held.pop(next(iter(held)))
        held[key] = lower(trace, gpu)
    return LaunchPlan(trace, held[key])
