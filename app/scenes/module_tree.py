"""The time of a step as a tree of modules and ops, with waits as additional leaves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from app.answers.figures import causes
from app.answers.groups import levels, owner
from app.scenes.op_table import parts_s
from simulator.prediction import REGIMES, Prediction, Regime, Shares


@dataclass(eq=False)
class ModuleNode:
    """A module with its contents, an op in it, a wait, or the whole step. `depth` is 0 for the
    step; `parts_s` are its launches' own seconds in the order of REGIMES, zero for a wait; `ops`
    are indices into the trace."""

    name: str
    path: str
    depth: int
    parent: ModuleNode | None = None
    wait: bool = False
    total_s: float = 0.0
    launches: int = 0
    parts_s: list[float] = field(default_factory=lambda: [0.0] * len(REGIMES))
    ops: set[int] = field(default_factory=set[int])
    modules: set[str] = field(default_factory=set[str])
    children: list[ModuleNode] = field(default_factory=list["ModuleNode"])

    @property
    def shares(self) -> Shares:
        """Shares of its launches' own time."""
        whole = sum(self.parts_s) or 1.0
        return {r: s / whole for r, s in zip(REGIMES, self.parts_s, strict=True)}

    @property
    def regime(self) -> Regime:
        """The regime with the largest share; a node that waits is overhead-bound."""
        return "overhead" if self.wait else max(REGIMES, key=lambda r: self.shares[r])

    def all(self) -> Iterator[ModuleNode]:
        """The node and its descendants."""
        yield self
        for child in self.children:
            yield from child.all()

    def up(self) -> list[ModuleNode]:
        """The ancestors of the node, the step first."""
        return [*self.parent.up(), self.parent] if self.parent else []


def module_tree(p: Prediction, alike: bool = True) -> ModuleNode:
    """The step of a prediction as a tree. Its children add up to its period, and those of every
    module to the module's time; the longest come first, waits last. If `alike`, the members of a
    list are one node."""
    step = ModuleNode("step", "", 0)
    known: dict[tuple[str, ...], ModuleNode] = {(): step}
    paths: dict[tuple[str, bool], list[str]] = {}
    own, duration = parts_s(p), p.columns.duration_s
    ops: list[int] = p.columns.op_of.tolist()
    for op, spent, parts in zip(ops, duration.tolist(), own.tolist(), strict=True):
        call = p.trace.ops[op]
        whole = owner(call.module, call.phase)
        real = paths.setdefault((whole, alike), whole.split("."))
        names = [*levels(real, alike), call.name.removeprefix("aten.").removesuffix(".default")]
        used = 0
        for depth in range(len(names) + 1):
            key = tuple(names[:depth])
            part = known.get(key)
            if part is None:
                above = known[key[:-1]]
                part = known[key] = ModuleNode(key[-1], ".".join(key), depth, above)
                above.children.append(part)
            part.total_s += spent
            part.launches += 1
            part.ops.add(op)
            part.parts_s = [a + b for a, b in zip(part.parts_s, parts, strict=True)]
            if 0 < depth < len(names):
                used += names[depth - 1].count(".") + 1
                part.modules.add(".".join(real[:used]))
    for part in list(step.all()):
        if part is not step and len(part.children) == 1 and not part.children[0].children:
            part.children.clear()  # a module with a single op is shown as the op
        part.children.sort(key=lambda child: -child.total_s)
    for name, value in causes(p):
        if value > 0:
            step.children.append(ModuleNode(name, name, 1, step, True, value))
    step.total_s = float(np.sum([child.total_s for child in step.children]))
    return step
