"""Values that differ from trace to trace, as templates: what is the same, and where sizes go."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from simulator.symbols.expressions import Expression, Search, constant

Template = tuple[str, Any]
"""A kind and what it holds: ("same", value), ("size", slot), ("float", slot), ("inverse", slot),
("list", templates), ("dict", {name: template}), ("text", [str or slot, ...])."""


class UnlikeError(Exception):
    """Traces that are not one program, or a size that no expression gives."""


class Slots:
    """The distinct vectors of values over the points, each with a number of its own."""

    def __init__(self) -> None:
        self._slots: dict[tuple[int, ...], int] = {}

    def slot(self, vector: Sequence[int]) -> int:
        return self._slots.setdefault(tuple(vector), len(self._slots))

    def expressions(self, search: Search) -> list[Expression]:
        """One a slot; UnlikeError names a size that has none."""
        vectors = list(self._slots)
        if len(search.points) == 1:
            return [constant(vector[0]) for vector in vectors]
        found = search.expressions(vectors)
        lost = [v for v, one in zip(vectors, found, strict=True) if one is None]
        if lost:
            at = ", ".join(f"{b} × {s}" for b, s in search.points)
            raise UnlikeError(
                f"a size is {', '.join(map(str, lost[0]))} at {at}, which no sum fits"
            )
        return [one for one in found if one is not None]


def shape_of(value: Any) -> Any:
    """What of an argument is not a size: its types, its keys and its words."""
    if isinstance(value, dict):
        return {key: shape_of(part) for key, part in value.items()}
    if isinstance(value, list):
        return [shape_of(part) for part in value]
    if isinstance(value, str):
        return _NUMBER.split(value)[::2]
    return value if isinstance(value, bool) else type(value).__name__


def template(values: Sequence[Any], slots: Slots) -> Template:
    """The template of one value at every point. UnlikeError where it is not one value."""
    first = values[0]
    kinds = {type(value) for value in values}
    if len(kinds) != 1:
        raise UnlikeError(
            f"an argument is of type {' or '.join(sorted(k.__name__ for k in kinds))}"
        )
    if all(value == first for value in values):
        return "same", first
    if isinstance(first, dict):
        if len({tuple(value) for value in values}) != 1:
            raise UnlikeError(f"arguments {list(first)} are not given everywhere")
        return "dict", {key: template([value[key] for value in values], slots) for key in first}
    if isinstance(first, list):
        if len({len(value) for value in values}) != 1:
            raise UnlikeError("a list of arguments has another length elsewhere")
        return "list", [template(parts, slots) for parts in zip(*values, strict=True)]
    if isinstance(first, str):
        return "text", _text(values, slots)
    if isinstance(first, float):
        return _real(values, slots)
    if isinstance(first, bool) or not isinstance(first, int):
        raise UnlikeError(f"an argument is {first!r} here and {values[-1]!r} there")
    return "size", slots.slot(values)


_NUMBER = re.compile(r"(\d+)")


def _text(values: Sequence[str], slots: Slots) -> list[str | int]:
    pieces = [_NUMBER.split(value) for value in values]
    if len({tuple(p[::2]) for p in pieces}) != 1:
        raise UnlikeError(f"{values[0]!r} reads {values[-1]!r} elsewhere")
    return [
        part[0] if place % 2 == 0 else slots.slot([int(p) for p in part])
        for place, part in enumerate(zip(*pieces, strict=True))
    ]


def _real(values: Sequence[float], slots: Slots) -> Template:
    """A size as a float, or one over a size, such as the 1/n of a mean's backward."""
    if all(value.is_integer() for value in values):
        return "float", slots.slot([int(value) for value in values])
    counts = [round(1 / value) if value else 0 for value in values]
    if all(count and 1 / count == value for count, value in zip(counts, values, strict=True)):
        return "inverse", slots.slot(counts)
    raise UnlikeError(f"the number {values[0]!r} is {values[-1]!r} elsewhere")


def fill(form: Template, sizes: Sequence[int]) -> Any:
    """The value whose sizes are these, by slot."""
    kind, held = form
    match kind:
        case "same":
            return held
        case "size":
            return sizes[held]
        case "float":
            return 1.0 * sizes[held]
        case "inverse":
            return 1 / sizes[held]
        case "list":
            return [fill(part, sizes) for part in held]
        case "dict":
            return {key: fill(part, sizes) for key, part in held.items()}
        case _:
            return "".join(p if isinstance(p, str) else str(sizes[p]) for p in held)


def slots_in(form: Template) -> set[int]:
    """The slots that a template is filled from."""
    kind, held = form
    match kind:
        case "same":
            return set()
        case "list":
            return {slot for part in held for slot in slots_in(part)}
        case "dict":
            return {slot for part in held.values() for slot in slots_in(part)}
        case "text":
            return {part for part in held if isinstance(part, int)}
        case _:
            return {held}
