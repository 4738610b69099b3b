"""Write the body of a kernel from its results backwards: a value is computed where it is read, once
for each element that is read.

A kernel loops over elements (`i`), or over rows (`r`) and the elements of a row (`c`). A short row
fits into registers. The kernel loops along a longer row, once for each reduction that depends on
another.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from simulator.errors import InputError
from simulator.fusion.dataflow import Value
from simulator.kernel_source.element import Element, rule_of
from simulator.kernel_source.group import FusedGroup, GroupOp
from simulator.kernel_source.indices import Index
from simulator.kernel_source.layouts import At, Layout
from simulator.kernel_source.sizes import Names, Size
from simulator.kernel_source.terms import Hint, Term, kind


@dataclass
class Operand:
    """A tensor that the kernel reads: its name, and its layout and filling for the check."""

    value: Value
    name: str
    layout: Layout
    hint: Hint


def read(value: Value, layout: Layout, group: FusedGroup, name: str) -> Operand:
    """The operand of a value from memory. A part of a storage is read from the whole storage."""
    elements = group.elements[value]
    if not layout.dense or layout.numel != elements:
        zero = elements - elements
        layout = Layout((elements,), (zero + 1,), zero, layout.dtype)
    hints = {"float": "normal", "int": "count", "bool": "flag"}
    return Operand(value, name, layout, hints[kind(layout.dtype)])


@dataclass
class _Scope:
    lines: list[str] = field(default_factory=list[str])
    known: dict[Any, Term] = field(default_factory=dict[Any, Term])


class Writer:
    """`walking` is True if the kernel walks along rows in a loop; `lines` are the body."""

    def __init__(self, group: FusedGroup, walking: bool) -> None:
        self.group, self.walking = group, walking
        self.names = Names()
        self.operands: dict[Value, Operand] = {}
        self.row: Index | None = None
        self.cols: Size | None = None
        self._top = _Scope()
        self._loop: _Scope | None = None
        self._taken = {"r", "c", "i", "tl", "start", "cols", "inside", "in_rows", "in_cols"}
        self._guards: tuple[Term, ...] = ()
        self._exponentials: dict[Any, tuple[str, str]] = {}

    @property
    def lines(self) -> list[str]:
        return self._top.lines

    # -- values -----------------------------------------------------------------------------------

    def value(self, value: Value, read_as: Layout, at: At, name: str = "x") -> Term:
        """The element `at` of a value, in the layout in which an op reads it."""
        maker = self.group.makers.get(value)
        if maker is None:
            return self.load(value, read_as, at, name)
        op, place = maker
        layout = op.outputs[place][1]
        if (layout.shape, layout.stride, layout.offset) != (
            read_as.shape,
            read_as.stride,
            read_as.offset,
        ):
            self._check_whole(op, value, layout)
            at = layout.at(read_as.place(at))
        return self.computed(op, place, at)

    def _check_whole(self, op: GroupOp, value: Value, layout: Layout) -> None:
        if not layout.dense or layout.numel != self.group.elements[value]:
            raise InputError(f"{op.name} writes a part of a tensor that is read in another layout")

    def computed(self, op: GroupOp, place: int, at: At) -> Term:
        """The element `at` of an output of an op of the group."""
        rule = rule_of(op.short)
        if rule is None:
            raise InputError(f"{op.name} cannot be exported")
        key = op.number, place, at
        if known := self._known(key):
            return known
        element = Element(self, op, place, at)
        return self.let(_named(op, place), rule(element), element.depends, key)

    def load(self, value: Value, layout: Layout, at: At, name: str) -> Term:
        """An element from memory, half precision as fp32."""
        operand = self.operand(value, layout, name)
        place = layout.place(at)
        key = value, place
        if known := self._known(key):
            return known
        depends = place.depends.union(*(g.depends for g in self._guards))
        text = f"{operand.name}_ptr + {self._place(place, depends)}"
        mask = " & ".join([*self._inside(depends), *(g.text for g in self._guards)])
        load = f"tl.load({text}, mask={mask}, other=0)" if mask else f"tl.load({text})"
        if layout.dtype in ("float16", "bfloat16"):
            load += ".to(tl.float32)"
        return self.let(operand.name, load, depends, key)

    def operand(self, value: Value, layout: Layout, name: str) -> Operand:
        """The operand that stands for a tensor in memory."""
        if value not in self.operands:
            name = {"self": "x", "other": "y"}.get(name, name)
            alike = sum(each.name.rstrip("_0123456789") == name for each in self.operands.values())
            name = f"{name}_{alike}" if alike else name
            self.operands[value] = read(value, layout, self.group, name)
        return self.operands[value]

    def _place(self, place: Index, depends: frozenset[str]) -> str:
        """The text of a place, broadcast to the shape of these loop variables."""
        parts = [place.text(self.names), *(f"{d} * 0" for d in sorted(depends - place.depends))]
        return " + ".join(parts[1:] if parts[0] == "0" and parts[1:] else parts)

    # -- lines ------------------------------------------------------------------------------------

    def let(self, name: str, text: str, depends: frozenset[str], key: Any = None) -> Term:
        """The name of an expression, defined in a new line if needed."""
        scope = self._scope(depends)
        same = self._known(("line", text))
        if same is not None:
            term = same
        elif text in self._taken:  # it is a name already
            term = Term(text, depends)
        else:
            term = Term(self._fresh(name), depends)
            scope.lines.append(f"{term.text} = {text}")
            scope.known[("line", text)] = term
        if key is not None:
            scope.known[(key, self._guards)] = term
        return term

    def _known(self, key: Any) -> Term | None:
        if not (
            isinstance(key, tuple) and key[0] == "line"
        ):  # the text of a line contains its guards
            key = key, self._guards
        if self._loop and key in self._loop.known:
            return self._loop.known[key]
        return self._top.known.get(key)

    def _scope(self, depends: frozenset[str]) -> _Scope:
        return self._loop if self._loop is not None and "c" in depends else self._top

    def _fresh(self, name: str) -> str:
        """Reserve and return a new name."""
        fresh, count = name, 0
        while fresh in self._taken:
            count += 1
            fresh = f"{name}_{count}"
        self._taken.add(fresh)
        return fresh

    def _inside(self, depends: frozenset[str]) -> list[str]:
        if self.row is None:
            return ["inside"] if depends else []
        both = {"r", "c"} <= depends
        names = {"r": "in_rows", "c": "in_cols"}
        return ["inside"] if both else [names[each] for each in depends]

    @contextmanager
    def guarded(self, condition: Term) -> Generator[None]:
        """Mask loads by a condition inside this context."""
        before = self._guards
        self._guards = (*before, condition)
        try:
            yield
        finally:
            self._guards = before

    # -- rows -------------------------------------------------------------------------------------

    @contextmanager
    def walk(self) -> Generator[None]:
        """Put the lines that depend on `c` into a loop along the row, inside this context."""
        if not self.walking:
            yield
            return
        before, self._loop = self._loop, _Scope()
        guards, self._guards = self._guards, ()
        try:
            yield
        finally:
            body, self._loop, self._guards = self._loop, before, guards
            self._top.lines += [
                "for start in range(0, cols, COLS):",
                "    c = start + tl.arange(0, COLS)[None, :]",
                "    in_cols = c < cols",
                "    inside = in_rows & in_cols",
                *(f"    {line}" for line in body.lines),
            ]

    def over_row(self, name: str, operation: str, make: Callable[[], Term], key: Any) -> Term:
        """The "sum", "max" or "min" of each row, as a column of results."""
        key = name, key
        if known := self._top.known.get((key, ())):
            return known
        nothing = {"sum": "0.0", "max": 'float("-inf")', "min": 'float("inf")'}[operation]
        if not self.walking:
            text = f"tl.where(inside, {make().text}, {nothing})"
        else:
            text = self._fresh(f"{name}_so_far")
            self._top.lines.append(f"{text} = tl.full([ROWS, COLS], {nothing}, tl.float32)")
            into = {"sum": "{} + {}", "max": "tl.maximum({}, {})", "min": "tl.minimum({}, {})"}[
                operation
            ]
            with self.walk():
                each = f"tl.where(inside, {make().text}, {nothing})"
                assert self._loop is not None
                self._loop.lines.append(f"{text} = {into.format(text, each)}")
        term = Term(self._fresh(name), frozenset({"r"}))
        self._top.lines.append(f"{term.text} = tl.{operation}({text}, axis=1, keep_dims=True)")
        self._top.known[(key, ())] = term
        return term

    def exponentials(self, make: Callable[[], Term], key: Any) -> tuple[str, str]:
        """The maximum of a row, and the sum of exponentials of the differences to it, in one walk
        along the row. As in Inductor's online_softmax_combine, the sum of a lane is rescaled for
        every larger element."""
        if key in self._exponentials:
            return self._exponentials[key]
        most, powers, highest, summed, later, shift, least = map(
            self._fresh,
            ("most", "powers", "most_so_far", "powers_so_far", "most_later", "shift", "least"),
        )
        nothing = 'float("-inf")'
        self._top.lines += [
            f"{highest} = tl.full([ROWS, COLS], {nothing}, tl.float32)",
            f"{summed} = tl.full([ROWS, COLS], 0.0, tl.float32)",
        ]
        with self.walk():
            each = self.let(
                "each", f"tl.where(inside, {make().text}, {nothing})", frozenset({"r", "c"})
            ).text
            assert self._loop is not None
            self._loop.lines += [
                f"{later} = tl.maximum({highest}, {each})",
                f"{shift} = tl.where({later} == {nothing}, 0.0, {later})",  # -inf − -inf is NaN
                f"{summed} = {summed} * tl.exp({highest} - {shift}) + tl.exp({each} - {shift})",
                f"{highest} = {later}",
            ]
        self._top.lines += [
            f"{most} = tl.max({highest}, axis=1, keep_dims=True)",
            f"{least} = tl.where({most} == {nothing}, 0.0, {most})",
            f"{summed} = {summed} * tl.exp({highest} - {least})",
            f"{powers} = tl.sum({summed}, axis=1, keep_dims=True)",
        ]
        self._exponentials[key] = most, powers
        return most, powers

    # -- results ----------------------------------------------------------------------------------

    def store(self, name: str, term: Term, layout: Layout, at: At) -> None:
        """Write a result."""
        place = layout.place(at)
        depends = place.depends | term.depends | {"i" if self.row is None else "r"}
        mask = " & ".join(self._inside(depends))
        text = f"{name}_ptr + {self._place(place, depends)}"
        self._scope(depends).lines.append(f"tl.store({text}, {term.text}, mask={mask})")


def _named(op: GroupOp, place: int) -> str:
    """The name of an output."""
    statistics = {"native_layer_norm": ("mean", "scale"), "fused_rms_norm": ("scale",)}
    known = statistics.get(op.short, ())
    return known[place - 1] if 0 < place <= len(known) else op.short
