"""A trace whose ops are the launches of a compiled module, with the groups behind them."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.fusion.group import Group
from simulator.records import Trace


@dataclass(frozen=True)
class Fused:
    """`trace` has an op for each group of `groups`, in order, and then the ops that stay as they
    are; `origin` is the trace before, whose ops the groups name. `notes` say who fused. `joint` is
    the trace in which the compiler found the groups, with the ops of each group's nodes, where
    that is another one."""

    trace: Trace
    groups: list[Group]
    origin: Trace
    notes: tuple[str, ...] = (
        "compiled by rules like Inductor's, without running it; the optimizer stays eager",
    )
    joint: tuple[Trace, tuple[tuple[int, ...], ...]] | None = None

    @property
    def computed(self) -> Trace:
        """The trace whose values the groups read and write."""
        return self.joint[0] if self.joint else self.origin

    def members(self, number: int) -> tuple[int, ...]:
        """The ops of `computed` that a group computes, in their order."""
        if self.joint:
            return self.joint[1][number]
        return _members(self.groups[number])


def _members(group: Group) -> tuple[int, ...]:
    return tuple(sorted({op for node in group.nodes for op in node.ops}))
