"""Numbers that may differ from case to case: the exported shape, and irregular ones.

A kernel is written once for several cases of one network, which differ in batch and sequence. A
number that is the same in all of them is a literal of the source; one that is not becomes an
argument, named by `Names`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import gcd, prod
from operator import add, floordiv, mod, mul, sub


@dataclass(frozen=True)
class Size:
    """One whole number a case. Arithmetic is by case; with an int, the int is every case's."""

    values: tuple[int, ...]

    def _with(self, other: Size | int, how: Callable[[int, int], int]) -> Size:
        theirs = (other,) * len(self.values) if isinstance(other, int) else other.values
        return Size(tuple(how(a, b) for a, b in zip(self.values, theirs, strict=True)))

    def __add__(self, other: Size | int) -> Size:
        return self._with(other, add)

    def __sub__(self, other: Size | int) -> Size:
        return self._with(other, sub)

    def __mul__(self, other: Size | int) -> Size:
        return self._with(other, mul)

    def __floordiv__(self, other: Size | int) -> Size:
        return self._with(other, floordiv)

    def __mod__(self, other: Size | int) -> Size:
        return self._with(other, mod)

    def is_(self, number: int) -> bool:
        """Is it this number in every case?"""
        return all(value == number for value in self.values)

    def below(self, other: Size) -> bool:
        """Is it less than the other in every case?"""
        return all(a < b for a, b in zip(self.values, other.values, strict=True))

    def divides(self, other: Size) -> bool:
        """Does it divide the other in every case?"""
        return all(a and b % a == 0 for a, b in zip(self.values, other.values, strict=True))


def product(sizes: Iterable[Size], cases: int) -> Size:
    """Of none, 1."""
    return Size(tuple(map(prod, zip(*(s.values for s in sizes), strict=True))) or (1,) * cases)


class Names:
    """The arguments of a kernel: `n0`, `n1` … for what differs from case to case, a common divisor
    taken out."""

    def __init__(self) -> None:
        self.values: dict[str, tuple[int, ...]] = {}

    def text(self, size: Size, prefix: str = "") -> str:
        """A literal, a name, or a literal times a name; names have the prefix."""
        if len(set(size.values)) == 1:
            return str(size.values[0])
        common = gcd(*size.values)
        values = tuple(value // common for value in size.values)
        name = next((n for n, known in self.values.items() if known == values), None)
        if name is None:
            name = f"n{len(self.values)}"
            self.values[name] = values
        return f"{prefix}{name}" if common == 1 else f"{common} * {prefix}{name}"
