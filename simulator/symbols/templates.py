"""Templates of values that differ from trace to trace: constant parts and slots for sizes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

from simulator.symbols.expressions import Expression, Search, constant

Template = tuple[str, Any]
"""A kind and its content: ("same", value), ("size", slot), ("float", slot), ("inverse", slot),
("list", templates), ("dict", {name: template}), ("text", [str or slot, ...])."""


class ProgramMismatchError(Exception):
    """Traces have different programs, or a size has no expression."""


class Slots:
    """The distinct vectors of values over the points, numbered."""

    def __init__(self) -> None:
        self._slots: dict[tuple[int, ...], int] = {}

    def slot(self, vector: Sequence[int]) -> int:
        return self._slots.setdefault(tuple(vector), len(self._slots))

    def expressions(self, search: Search) -> list[Expression]:
        """The expression of each slot. Raises ProgramMismatchError if no expression fits a size."""
        vectors = list(self._slots)
        if len(search.points) == 1:
            return [constant(vector[0]) for vector in vectors]
        expressions = search.expressions(vectors)
        unfitted = [v for v, e in zip(vectors, expressions, strict=True) if e is None]
        if unfitted:
            at = ", ".join(f"{b} × {s}" for b, s in search.points)
            raise ProgramMismatchError(
                f"a size is {', '.join(map(str, unfitted[0]))} at {at}, which no expression fits"
            )
        return [e for e in expressions if e is not None]


def shape_of(value: Any) -> Any:
    """The parts of an argument that are not sizes: types, keys and text."""
    if isinstance(value, dict):
        parts = cast("dict[str, Any]", value)
        return {key: shape_of(part) for key, part in parts.items()}
    if isinstance(value, list):
        return [shape_of(part) for part in cast("list[Any]", value)]
    if isinstance(value, str):
        return _NUMBER.split(value)[::2]
    return value if isinstance(value, bool) else type(value).__name__


def template(values: Sequence[Any], slots: Slots) -> Template:
    """The template of a value at every point.

    Raises ProgramMismatchError if its values differ in more than sizes.
    """
    first = values[0]
    kinds: set[type[Any]] = {type(value) for value in values}
    if len(kinds) != 1:
        raise ProgramMismatchError(
            f"an argument is of type {' or '.join(sorted(k.__name__ for k in kinds))}"
        )
    if all(value == first for value in values):
        return "same", first
    if isinstance(first, dict):
        if len({tuple(value) for value in values}) != 1:
            keys = list(cast("dict[str, Any]", first))
            raise ProgramMismatchError(f"arguments {keys} are not present at every point")
        return "dict", {
            key: template([value[key] for value in values], slots)
            for key in cast("dict[str, Any]", first)
        }
    if isinstance(first, list):
        if len({len(value) for value in values}) != 1:
            raise ProgramMismatchError("a list of arguments has different lengths")
        return "list", [template(parts, slots) for parts in zip(*values, strict=True)]
    if isinstance(first, str):
        return "text", _text(values, slots)
    if isinstance(first, float):
        return _real(values, slots)
    if isinstance(first, bool) or not isinstance(first, int):
        raise ProgramMismatchError(
            f"an argument is {first!r} at one point and {values[-1]!r} at another"
        )
    return "size", slots.slot(values)


_NUMBER = re.compile(r"(\d+)")


def _text(values: Sequence[str], slots: Slots) -> list[str | int]:
    pieces = [_NUMBER.split(value) for value in values]
    if len({tuple(p[::2]) for p in pieces}) != 1:
        raise ProgramMismatchError(
            f"a text is {values[0]!r} at one point and {values[-1]!r} at another"
        )
    return [
        part[0] if place % 2 == 0 else slots.slot([int(p) for p in part])
        for place, part in enumerate(zip(*pieces, strict=True))
    ]


def _real(values: Sequence[float], slots: Slots) -> Template:
    """A size as a float, or its reciprocal, such as the 1/n of a mean's backward pass."""
    if all(value.is_integer() for value in values):
        return "float", slots.slot([int(value) for value in values])
    counts = [round(1 / value) if value else 0 for value in values]
    if all(count and 1 / count == value for count, value in zip(counts, values, strict=True)):
        return "inverse", slots.slot(counts)
    raise ProgramMismatchError(
        f"a number is {values[0]!r} at one point and {values[-1]!r} at another"
    )


def fill(form: Template, sizes: Sequence[Any]) -> Any:
    """The value of a template with these sizes by slot, each a number or a column of them."""
    kind, content = form
    match kind:
        case "same":
            return content
        case "size":
            return sizes[content]
        case "float":
            return 1.0 * sizes[content]
        case "inverse":
            return 1 / sizes[content]
        case "list":
            return [fill(part, sizes) for part in content]
        case "dict":
            return {key: fill(part, sizes) for key, part in content.items()}
        case _:
            return "".join(p if isinstance(p, str) else str(sizes[p]) for p in content)


def slots_in(form: Template) -> set[int]:
    """The slots that a template uses."""
    kind, content = form
    match kind:
        case "same":
            return set()
        case "list":
            return {slot for part in content for slot in slots_in(part)}
        case "dict":
            return {slot for part in content.values() for slot in slots_in(part)}
        case "text":
            return {part for part in content if isinstance(part, int)}
        case _:
            return {content}
