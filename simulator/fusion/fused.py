"""A trace whose ops are the launches of a compiled module, with the group of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.fusion.group import Group
from simulator.records import Trace


@dataclass(frozen=True)
class Replays:
    """A compiled step under CUDA graph trees. Op i is replayed in graph `graph_of[i]`; −1 is an
    op that the host launches. The ops `copies` copy inputs into a graph's own memory. `notes` are
    the reasons why ops are not captured. The storages `pooled` lie in the memory pool of the
    graphs."""

    graph_of: NDArray[np.int64]
    notes: tuple[str, ...]
    copies: tuple[int, ...]
    pooled: frozenset[int]


@dataclass(frozen=True)
class Fused:
    """`trace` has an op for each group of `groups`, in order, and then the unfused ops; `origin` is
    the original trace, to whose ops the groups refer. `notes` name the compiler. If the compiler
    fused a trace other than `origin`, `joint` is that trace, and the indices in it of each group's
    ops. `replays` is None if no CUDA graphs replay the step."""

    trace: Trace
    groups: list[Group]
    origin: Trace
    notes: tuple[str, ...] = (
        "compiled by rules like Inductor's, without running it; the optimizer stays eager",
    )
    joint: tuple[Trace, tuple[tuple[int, ...], ...]] | None = None
    replays: Replays | None = None

    @property
    def computed(self) -> Trace:
        """The trace whose values the groups read and write."""
        return self.joint[0] if self.joint else self.origin

    def members(self, number: int) -> tuple[int, ...]:
        """The ops of `computed` that a group computes, in their order."""
        if self.joint:
            return self.joint[1][number]
        return _members(self.groups[number])


def trace_of(step: Trace | Fused) -> Trace:
    """The trace whose ops are the launches of a step."""
    return step.trace if isinstance(step, Fused) else step


def _members(group: Group) -> tuple[int, ...]:
    return tuple(sorted({op for node in group.nodes for op in node.ops}))
