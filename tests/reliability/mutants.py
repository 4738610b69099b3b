"""The mutants of a file: each changes one operator, number, condition or conditional expression."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

_COMPARED: dict[type[ast.cmpop], str] = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.In: "not in", ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is",
}  # fmt: skip
_COMPUTED: dict[type[ast.operator], str] = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "*", ast.Mod: "*",
    ast.Pow: "*",
}  # fmt: skip
_CALLED = {"min": "max", "max": "min", "any": "all", "all": "any"}
_METHODS = {"minimum": "maximum", "maximum": "minimum", "ceil": "floor", "floor": "ceil"}


_GUARDS = {"strict", "frozen", "forbid_unknown_fields"}
"""Arguments that guard against mistakes, and change no result."""
_CACHES = {"LRUCache", "ByIdentity", "Derived", "lru_cache"}
"""Their sizes change no result either."""


class Mutant(NamedTuple):
    """A change of a file: the characters from `start` to `end` become `text`."""

    path: str
    row: int
    column: int
    start: int
    end: int
    before: str
    text: str

    @property
    def key(self) -> str:
        return f"{self.path}:{self.row}:{self.column} {self.before!r} -> {self.text!r}"

    def applied(self, source: str) -> str:
        return source[: self.start] + self.text + source[self.end :]

    def line(self, source: str) -> str:
        """The changed line, without its indentation."""
        return self.applied(source).splitlines()[self.row - 1].strip()


def mutants_of(path: Path, root: Path) -> list[Mutant]:
    """All mutants of a file, in order. Annotations, decorators, errors and the sizes of caches are
    not changed."""
    source = path.read_text("utf-8")
    lines = source.splitlines(keepends=True)
    starts = [0, *accumulate(map(len, lines))]

    def offset(row: int, column: int) -> int:  # columns count bytes
        return starts[row - 1] + len(lines[row - 1].encode()[:column].decode())

    mutants: list[Mutant] = []
    for first, last, text in _changes(ast.parse(source), source, offset):
        row = source.count("\n", 0, first) + 1
        column = first - starts[row - 1]
        name = path.relative_to(root).as_posix()
        mutants.append(Mutant(name, row, column, first, last, source[first:last], text))
    return mutants


def _changes(tree: ast.AST, source: str, offset: Any) -> Iterator[tuple[int, int, str]]:
    for node in _code(tree):
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            left, right = node.left, node.comparators[0]
            yield _between(left, right, source, offset, _COMPARED[type(node.ops[0])])
        elif isinstance(node, ast.BinOp) and type(node.op) in _COMPUTED:
            yield _between(node.left, node.right, source, offset, _COMPUTED[type(node.op)])
        elif isinstance(node, ast.BoolOp) and len(node.values) == 2:
            other = "or" if isinstance(node.op, ast.And) else "and"
            left, right = node.values
            yield _between(left, right, source, offset, other)
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
            yield (*_span(node, offset), str(not node.value))
        elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            yield (*_span(node, offset), _other_number(node.value))
        elif isinstance(node, ast.If | ast.IfExp | ast.While):
            first, last = _span(node.test, offset)
            yield first, last, f"not ({source[first:last]})"
        elif isinstance(node, ast.Name) and node.id in _CALLED:
            yield (*_span(node, offset), _CALLED[node.id])
        elif isinstance(node, ast.Attribute) and node.attr in _METHODS:
            last = _span(node, offset)[1]
            yield last - len(node.attr), last, _METHODS[node.attr]


def _name(called: ast.expr) -> str:
    """The name of a function or class that is called, such as `Derived` in `Derived[int](8)`."""
    called = called.value if isinstance(called, ast.Subscript) else called
    return called.id if isinstance(called, ast.Name) else ""


def _between(
    left: ast.expr, right: ast.expr, source: str, offset: Any, operator: str
) -> tuple[int, int, str]:
    """The change of the operator between two operands, which brackets may surround."""
    first, last = _span(left, offset)[1], _span(right, offset)[0]
    gap = source[first:last]
    begin = len(gap) - len(gap.lstrip(" )\n"))
    end = len(gap.rstrip(" (\n"))
    return first + begin, first + end, operator


def _span(node: ast.expr, offset: Any) -> tuple[int, int]:
    assert node.end_lineno is not None and node.end_col_offset is not None
    return offset(node.lineno, node.col_offset), offset(node.end_lineno, node.end_col_offset)


def _other_number(value: float) -> str:
    if isinstance(value, int):
        return str(value + 1)
    return repr(value * 2 if value else 1.0)


def _code(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes below a node that are run, in order, without those of annotations and errors."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, ast.Raise | ast.JoinedStr):
                continue
            if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
                continue
            if isinstance(child, ast.keyword) and child.arg in _GUARDS:
                continue
            if isinstance(child, ast.Call) and _name(child.func) in _CACHES:
                continue
            yield child
            yield from _code(child)
