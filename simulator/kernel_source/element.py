"""The computation of one element of an op, and the registry of its rules."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from string import Formatter
from typing import TYPE_CHECKING, Any

from simulator.costs import TRAITS, Traits, traits_of
from simulator.kernel_source.group import GroupOp
from simulator.kernel_source.indices import Index
from simulator.kernel_source.layouts import At, Layout
from simulator.kernel_source.terms import Hint, Term, literal

if TYPE_CHECKING:
    from simulator.kernel_source.writer import Writer

Rule = Callable[["Element"], str]
"""Returns the expression that an op computes for one element."""

RULES: dict[str, Rule] = {}
"""By the op's short name, such as "add"."""


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register a rule. Raises ValueError if a name has one already."""

    def decorate(function: Rule) -> Rule:
        for name in names:
            if name in RULES:
                raise ValueError(f"{name} already has a rule")
            RULES[name] = function
        return function

    return decorate


def rule_of(name: str) -> Rule | None:
    """The rule of an op, or else the expression of its traits; None without both."""
    if name in RULES:
        return RULES[name]
    traits = traits_of(name)
    return partial(_expression, traits=traits) if traits.triton else None


def supported() -> str:
    """The ops that can be exported, as listed in error messages."""
    simple = (name for name, traits in TRAITS.items() if traits.triton)
    return ", ".join(sorted({*RULES, *simple}))


class Element:
    """The element `at` of output number `place` of an op."""

    def __init__(self, writer: Writer, op: GroupOp, place: int, at: At) -> None:
        self.writer, self.op, self.place, self.at = writer, op, place, at
        self.depends: frozenset[str] = frozenset()

    def use(self, term: Term) -> str:
        """The text of a term that the element is computed from."""
        self.depends |= term.depends
        return term.text

    def index(self, index: Index) -> str:
        """The text of an index that the element is computed from."""
        self.depends |= index.depends
        text = index.text(self.writer.names)
        return text if text.isidentifier() else f"({text})"

    def has(self, name: str) -> bool:
        """Whether the op has a tensor argument of this name."""
        return name in self.op.names

    def layout(self, name: str) -> Layout:
        """The layout of an input."""
        return self.op.inputs[self.op.names.index(name)][1]

    def term(self, which: str | int, at: At | None = None) -> Term:
        """An element of an input, given by name or number; by default the element at the same
        place."""
        number = self.op.names.index(which) if isinstance(which, str) else which
        value, layout = self.op.inputs[number]
        at = self.broadcast(layout) if at is None else at
        return self.writer.value(value, layout, at, self.op.names[number])

    def broadcast(self, layout: Layout) -> At:
        """The element of an input that broadcasts to this element of the output."""
        mine = self.at[len(self.at) - len(layout.shape) :]
        return tuple(
            index.times(size - size) if size.is_(1) else index
            for index, size in zip(mine, layout.shape, strict=True)
        )

    def __getitem__(self, name: str) -> str:
        """The text of an operand: a tensor, or a plain argument."""
        if self.has(name):
            return self.use(self.term(name))
        return literal(self.op.args.get(name), self.writer.names)

    def arg(self, name: str, default: Any = None) -> Any:
        """A plain argument."""
        value = self.op.args.get(name)
        return default if value is None else value

    def fill(self, name: str, hint: Hint) -> None:
        """Set the values with which the check fills an operand from memory."""
        if self.has(name):
            value = self.op.inputs[self.op.names.index(name)][0]
            if value in self.writer.operands:
                self.writer.operands[value].hint = hint


def _expression(element: Element, traits: Traits) -> str:
    """The expression of an op's traits; operands are read in the order in which their names appear
    in it."""
    names = dict.fromkeys(name for _, name, _, _ in Formatter().parse(traits.triton) if name)
    values = {name: element[name] for name in names}
    if traits.positive:
        element.fill("self", "positive")
    return traits.triton.format(**values)
