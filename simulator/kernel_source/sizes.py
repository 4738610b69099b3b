"""Sizes that may differ between cases: the exported shapes, and irregular ones.

A kernel is written once for several cases of one network, which differ in batch and sequence. A
number that is equal in all of them is a literal in the source; any other is an argument, named by
`Names`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import gcd, prod
from operator import add, mod, mul, sub


@dataclass(frozen=True)
class Size:
    """An integer for each case. Arithmetic is by case; an int operand applies to every case."""

    values: tuple[int, ...]

    def _with(self, other: Size | int, operation: Callable[[int, int], int]) -> Size:
        others = (other,) * len(self.values) if isinstance(other, int) else other.values
        return Size(tuple(operation(a, b) for a, b in zip(self.values, others, strict=True)))

    def __add__(self, other: Size | int) -> Size:
        return self._with(other, add)

    def __sub__(self, other: Size | int) -> Size:
        return self._with(other, sub)

    def __mul__(self, other: Size | int) -> Size:
        return self._with(other, mul)

    def __floordiv__(self, other: Size | int) -> Size:
        return self._with(other, lambda a, b: a // b)

    def __mod__(self, other: Size | int) -> Size:
        return self._with(other, mod)

    def is_(self, number: int) -> bool:
        """Whether the size equals this number in every case."""
        return all(value == number for value in self.values)

    def below(self, other: Size) -> bool:
        """Whether this is less than the other in every case."""
        return all(a < b for a, b in zip(self.values, other.values, strict=True))

    def divides(self, other: Size) -> bool:
        """Whether this divides the other in every case."""
        return all(a and b % a == 0 for a, b in zip(self.values, other.values, strict=True))


def product(sizes: Iterable[Size], cases: int) -> Size:
    """The product of sizes; 1 for an empty list."""
    return Size(tuple(map(prod, zip(*(s.values for s in sizes), strict=True))) or (1,) * cases)


class Names:
    """The arguments of a kernel: `n0`, `n1` … for sizes that differ between cases, divided by their
    common divisor."""

    def __init__(self) -> None:
        self.values: dict[str, tuple[int, ...]] = {}

    def text(self, size: Size, prefix: str = "") -> str:
        """A literal, a name, or a literal times a name, with `prefix` before the name."""
        if len(set(size.values)) == 1:
            return str(size.values[0])
        common = gcd(*size.values)
        values = tuple(value // common for value in size.values)
        name = next((n for n, v in self.values.items() if v == values), None)
        if name is None:
            name = f"n{len(self.values)}"
            self.values[name] = values
        return f"{prefix}{name}" if common == 1 else f"{common} * {prefix}{name}"
