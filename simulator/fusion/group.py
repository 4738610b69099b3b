"""Nodes that become one kernel."""

from __future__ import annotations

from dataclasses import dataclass, field

from simulator.fusion.node import Node


@dataclass(eq=False)
class Group:
    """Nodes that are one kernel, in program order; `first` and `last` are their ends."""

    nodes: list[Node]
    first: int
    last: int
    sources: set[Group] = field(default_factory=lambda: set[Group]())

    @property
    def library(self) -> bool:
        return self.nodes[0].kind == "library"

    @property
    def reduces(self) -> Node | None:
        return next((n for n in self.nodes if n.kind == "reduction"), None)
