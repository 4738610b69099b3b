"""Sizes as exact expressions of batch and sequence, from their values at a few points.

A size is a sum of at most three monomials with integer coefficients in the batch B, the sequence S,
and these: ⌈S/m⌉ or ⌈B/m⌉ where a kernel or a network pads to a multiple of m; min(S, w) where a
cache holds a window of w; B·S/m, rounded, where an expert gets one of m tokens. Examples: 768·B·S,
4·B·S², 32·⌈S/32⌉, 64·⌈S/64⌉ − S, 512·B·min(S, 128), 4096·[B·S/4]. The simplest expression that
agrees at every point is chosen; there are always at least two points more than unknowns, so that
agreement is evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Point = tuple[int, int]
"""A batch and a sequence length, which is 1 if a network has none."""

LARGEST_MODULUS = 256
_MOST_TERMS = 3
_SPARE = 2  # points beyond the unknowns


TOKENS = 2


class Atom(NamedTuple):
    """⌈min(axis, most) / divisor⌉; axis 0 is the batch, 1 the sequence. If `most` is 0, there is no
    limit. Axis TOKENS is [B·S / divisor], rounded as `round` does: to the nearest integer, ties to
    even."""

    axis: int
    divisor: int = 1
    most: int = 0

    def at(self, batch: Any, seq: Any) -> Any:
        if self.axis == TOKENS:
            whole, rest = (batch * seq) // self.divisor, (batch * seq) % self.divisor
            tie = (2 * rest == self.divisor) & (whole % 2 == 1)
            return whole + ((2 * rest > self.divisor) | tie)
        size = seq if self.axis else batch
        if self.most:  # the minimum, for integers and arrays
            size = (size + self.most - abs(size - self.most)) // 2
        return -(-size // self.divisor)

    @property
    def is_plain(self) -> bool:
        """Whether this is the axis itself."""
        return self.divisor == 1 and not self.most

    def __str__(self) -> str:
        if self.axis == TOKENS:
            return f"[B·S/{self.divisor}]"
        letter = "BS"[self.axis]
        size = f"min({letter}, {self.most})" if self.most else letter
        return size if self.divisor == 1 else f"⌈{size}/{self.divisor}⌉"


BATCH, SEQ = Atom(0), Atom(1)
Monomial = tuple[Atom, ...]


@dataclass(frozen=True)
class Expression:
    """Σ coefficient · product of atoms; the empty product is 1."""

    terms: tuple[tuple[int, Monomial], ...]

    def at(self, batch: Any, seq: Any) -> Any:
        """The value, for two integers or for two integer arrays of one shape."""
        return sum(c * prod(a.at(batch, seq) for a in atoms) for c, atoms in self.terms)

    @property
    def adjusted(self) -> set[Atom]:
        """The atoms that are padded, limited or rounded."""
        return {atom for _, atoms in self.terms for atom in atoms if not atom.is_plain}

    def __str__(self) -> str:
        parts = ["·".join([str(c), *map(str, atoms)]) for c, atoms in self.terms]
        return " + ".join(parts).replace("+ -", "− ") or "0"


def constant(value: int) -> Expression:
    """A size that is the same everywhere."""
    return Expression(((value, ()),))


class Search:
    """Expressions for vectors of values at fixed points.

    Atoms that occur in earlier expressions are tried first, and sums use only those: a padded,
    limited or rounded size occurs by itself before it occurs in a sum.
    """

    def __init__(self, points: Sequence[Point]) -> None:
        self.points = list(points)
        self.batch = np.array([b for b, _ in points], np.int64)
        self.seq = np.array([s for _, s in points], np.int64)
        self.adjusted_atoms: set[Atom] = set()
        atoms, factors = _factors()
        rows = [np.ones_like(self.batch), *(atom.at(self.batch, self.seq) for atom in atoms)]
        values = np.array(rows)[factors].prod(axis=1)
        everywhere = values.all(axis=1)
        self._singles = [m for m, fits in zip(_singles(), everywhere, strict=True) if fits]
        self._values = values[everywhere]

    def expressions(self, vectors: Sequence[tuple[int, ...]]) -> list[Expression | None]:
        """An expression for each vector of values; None if no expression of this form fits."""
        singles = [self._single(vector) for vector in vectors]
        self.adjusted_atoms |= {atom for single in singles if single for atom in single.adjusted}
        return [e or self._sum(vector) for e, vector in zip(singles, vectors, strict=True)]

    def _single(self, vector: tuple[int, ...]) -> Expression | None:
        if len(set(vector)) == 1:
            return constant(vector[0])
        if len(vector) < 1 + _SPARE or not all(vector):
            return None
        if max(map(abs, vector)) < 2**62:
            values = np.array(vector, np.int64)
            factors = values[0] // self._values[:, 0]
            fits = (self._values * factors[:, None] == values).all(axis=1)
            candidates = np.flatnonzero(fits)
        else:
            candidates = range(
                len(self._singles)
            )  # too large for int64: try all in Python's integers
        chosen: Expression | None = None
        for index in candidates:
            monomial = self._singles[index]
            value = prod(a.at(*self.points[0]) for a in monomial)
            expression = Expression(((vector[0] // value, monomial),))
            if all(expression.at(*p) == v for p, v in zip(self.points, vector, strict=True)):
                if expression.adjusted <= self.adjusted_atoms:
                    return expression
                chosen = chosen or expression
        return chosen or self._limited(vector)

    def _limited(self, vector: tuple[int, ...]) -> Expression | None:
        """A multiple of min(S, most) or of B·min(S, most). Two lengths up to `most` and two beyond
        it must agree: one of each gives the factor and `most`."""
        by_length = sorted(zip(self.points, vector, strict=True), key=lambda each: each[0][1])
        (first, low), *_, (last, high) = by_length
        for others in ((), (BATCH,)):
            factor = low // (first[1] * prod(a.at(*first) for a in others))
            most = factor and high // (factor * prod(a.at(*last) for a in others))
            if most < 2:
                continue
            lengths = {seq for _, seq in self.points}
            beyond = sum(seq > most for seq in lengths)
            expression = Expression(((factor, (*others, Atom(1, 1, most))),))
            enough = beyond >= _SPARE and len(lengths) - beyond >= _SPARE
            if enough and all(expression.at(*p) == v for p, v in by_length):
                return expression
        return None

    def _sum(self, vector: tuple[int, ...]) -> Expression | None:
        for count in range(2, 1 + min(_MOST_TERMS, len(vector) - _SPARE)):
            for adjusted in ((), *((atom,) for atom in sorted(self.adjusted_atoms))):
                basis = [
                    (m, [prod(a.at(*point) for a in m) for point in self.points])
                    for m in _monomials(adjusted)
                ]
                for chosen in combinations(basis, count):
                    coefficients = _solve([column for _, column in chosen], vector)
                    if coefficients is not None:
                        pairs = zip(coefficients, (m for m, _ in chosen), strict=True)
                        return Expression(tuple(pairs))
        return None


def _monomials(adjusted: Sequence[Atom]) -> list[Monomial]:
    """Monomials of degree at most two in batch and in sequence, the simplest first."""

    def degree(axis: int) -> list[Monomial]:
        atoms = [Atom(axis), *(a for a in adjusted if a.axis == axis)]
        squares = [(a, b) for i, a in enumerate(atoms) for b in atoms[i:]]
        return [(), *((a,) for a in atoms), *squares]

    rounded = [(atom,) for atom in adjusted if atom.axis == TOKENS]
    return sorted([*((*b, *s) for b in degree(0) for s in degree(1)), *rounded], key=len)


@cache
def _singles() -> list[Monomial]:
    """Every monomial with at most one divisor; powers of two before other divisors."""
    powers = [2**k for k in range(1, LARGEST_MODULUS.bit_length())]
    others = [m for m in range(3, LARGEST_MODULUS) if m not in powers]
    monomials = dict.fromkeys(_monomials([]))
    for modulus in powers + others:
        for axis in (1, 0):
            monomials |= dict.fromkeys(_monomials([Atom(axis, modulus)]))
    monomials |= dict.fromkeys((Atom(TOKENS, modulus),) for modulus in powers + others)
    return list(monomials)


@cache
def _factors() -> tuple[list[Atom], NDArray[np.int64]]:
    """The atoms of `_singles`, and the numbers of those that each monomial multiplies, counted from
    1 [monomials, atoms of the longest]; 0 stands for no atom."""
    atoms = list(dict.fromkeys(atom for monomial in _singles() for atom in monomial))
    number = {atom: place for place, atom in enumerate(atoms, 1)}
    longest = max(map(len, _singles()))
    padded = [[number[a] for a in m] + [0] * (longest - len(m)) for m in _singles()]
    return atoms, np.array(padded)


def _solve(columns: list[list[int]], vector: tuple[int, ...]) -> list[int] | None:
    """Nonzero integers c with Σ c·column = vector, by elimination in exact integers, or None."""
    rows = [[*row, v] for *row, v in zip(*columns, vector, strict=True)]
    size = len(columns)
    for k in range(size):
        pivot = next((r for r in range(k, len(rows)) if rows[r][k]), None)
        if pivot is None:
            return None
        rows[k], rows[pivot] = rows[pivot], rows[k]
        top = rows[k]
        for r in range(k + 1, len(rows)):
            row = rows[r]
            if row[k]:
                rows[r] = [top[k] * x - row[k] * y for x, y in zip(row, top, strict=True)]
    if any(row[size] for row in rows[size:]):
        return None
    solution: list[int] = [0] * size
    for k in reversed(range(size)):
        rest = rows[k][size] - sum(rows[k][j] * solution[j] for j in range(k + 1, size))
        solution[k], remainder = divmod(rest, rows[k][k])
        if remainder or not solution[k]:
            return None
    return solution
