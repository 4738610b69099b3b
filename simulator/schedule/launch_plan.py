"""The launches of a traced step on a kind of GPU: its kernels, and the host's work for each.

Each part is cached with the trace, since the next prediction often changes only the clock, host or
mode.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from simulator.caches.derived import Derived
from simulator.hardware.gpu import GPU
from simulator.hardware.host import Host
from simulator.hardware.host_counts import counts, share_counts, tail_s
from simulator.hardware.waits import syncs
from simulator.hardware.workspace_config import workspace_parsing_s
from simulator.lowering import Lowered, lower
from simulator.records import Trace
from simulator.schedule.l2_reuse import Accesses, accesses, share_patterns
from simulator.schedule.memory import share_lives
from simulator.schedule.timeline import Launches

Floats = NDArray[np.float64]
_LOWERED = Derived[Lowered](size=48)  # by kind of GPU
# The rest is equal for all GPUs on which the same ops launch.
_ACCESSES = Derived[Accesses]()
_COUNTS = Derived[Floats](32)
_WAITS = Derived[NDArray[np.bool_]]()


def share_structure(family: object, trace: Trace) -> None:
    """Let the traces of a family, whose ops and storages differ only in sizes, share everything
    that does not depend on sizes."""
    share_counts(family, trace)
    _COUNTS.share(family, trace)
    share_patterns(family, trace)
    share_lives(family, trace)


@dataclass(frozen=True)
class LaunchPlan:
    """A trace with its kernels, and figures that are derived from both."""

    trace: Trace
    lowered: Lowered

    @cached_property
    def launches(self) -> NDArray[np.int64]:
        """Number of kernels of each op."""
        return np.bincount(self.lowered.op_of, minlength=len(self.trace.ops))

    @cached_property
    def _launching(self) -> bytes:
        return np.packbits(self.launches > 0).tobytes()

    @property
    def accesses(self) -> Accesses:
        """The accesses to storages, with their reuse distances."""
        return _ACCESSES.get(
            self.trace, lambda: accesses(self.trace, self.launches > 0), self._launching
        )

    def hot_share(self, l2_bytes: float) -> Floats:
        """Share of each kernel's bytes that an L2 of this size serves [kernels]."""
        return self.accesses.hot_share(l2_bytes)[self.lowered.op_of]

    @property
    def counts(self) -> Floats:
        """Counts of the host's work for each op [ops, counts]."""
        inner_ops = self.lowered.inner_ops
        return _COUNTS.get(
            self.trace,
            lambda: counts(self.trace, self.launches, inner_ops),
            (self.launches.tobytes(), inner_ops.tobytes()),
        )

    @cached_property
    def sync_after(self) -> NDArray[np.bool_]:
        """Kernels after which the host waits: the last kernel of each op that waits."""
        waits = _WAITS.get(self.trace, self._waits)
        op_of = self.lowered.op_of
        last = np.flatnonzero(np.diff(op_of, append=-1))
        syncs = np.zeros(op_of.size, np.bool_)
        syncs[last] = waits[op_of[last]]
        return syncs

    def _waits(self) -> NDArray[np.bool_]:
        signatures, rows = self.trace.signatures
        return np.array([syncs(s) for s in signatures], np.bool_)[rows]

    def by(self, host: Host) -> Launches:
        """The host's work of each launch, without durations; the work of an op comes before its
        first launch."""
        op_of, host = self.lowered.op_of, host.in_phase(self.trace.phase)
        done = np.cumsum(host.op_s(self.counts) + workspace_parsing_s(self.trace, host))
        before = done[op_of] + host.launch_s * np.arange(1, op_of.size + 1)
        tail = float(done[-1]) if done.size else 0.0
        if op_of.size:
            tail -= float(done[op_of[-1]])
        tail += tail_s(self.trace, host)
        return Launches(np.diff(before, prepend=0.0), np.zeros(0), self.sync_after, tail)


def issued(trace: Trace, gpu: GPU) -> LaunchPlan:
    """The launch plan of a trace on a GPU."""
    key = (gpu.units, gpu.compute_capability, gpu.vendor, tuple(gpu.tensor_flops_per_s))
    return LaunchPlan(trace, _LOWERED.get(trace, lambda: lower(trace, gpu), key))
