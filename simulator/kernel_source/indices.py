"""Integer expressions of loop variables, simplified: the position of an element in memory, and the
element at a position.

An index is a sum of atoms times sizes. Its quotients and remainders remain sums if the bounds of
the atoms allow it, so that reading through a view is not a chain of divisions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, reduce
from math import gcd

from simulator.kernel_source.sizes import Names, Size


@dataclass(frozen=True)
class Variable:
    """A loop variable or a loaded number, 0 ≤ name < size, and the loop variables that it depends
    on."""

    name: str
    size: Size
    depends: frozenset[str]


@dataclass(frozen=True)
class Division:
    """`inner // by` or `inner % by`, with 0 ≤ inner."""

    inner: Index
    operator: str
    by: Size

    @cached_property
    def size(self) -> Size:
        most = self.inner.most
        return most // self.by + 1 if self.operator == "//" else _least(self.by, most + 1)

    @property
    def depends(self) -> frozenset[str]:
        return self.inner.depends


Atom = Variable | Division


@dataclass(frozen=True)
class Index:
    """Σ coefficient · atom + constant."""

    terms: frozenset[tuple[Atom, Size]]
    constant: Size

    @cached_property
    def most(self) -> Size:
        """The largest possible value."""
        largest = self.constant
        for atom, coefficient in self.terms:
            largest += coefficient * (atom.size - 1)
        return largest

    @cached_property
    def depends(self) -> frozenset[str]:
        """The loop variables that it depends on."""
        return frozenset[str]().union(*(atom.depends for atom, _ in self.terms))

    def __add__(self, other: Index) -> Index:
        return _collected((*self.terms, *other.terms), self.constant + other.constant)

    def plus(self, size: Size) -> Index:
        """The index plus a size."""
        return Index(self.terms, self.constant + size)

    def times(self, size: Size) -> Index:
        """The index times a size."""
        if size.is_(0):
            return Index(frozenset(), size)
        terms = frozenset((atom, coefficient * size) for atom, coefficient in self.terms)
        return Index(terms, self.constant * size)

    def over(self, by: Size) -> Index:
        """The quotient, rounded down."""
        if by.is_(1):
            return self
        whole, rest = self._split(by)
        if rest.most.below(by):
            return whole
        if len(rest.terms) == 1 and rest.constant.is_(0):
            atom, coefficient = next(iter(rest.terms))
            if isinstance(atom, Division) and atom.operator == "//" and coefficient.is_(1):
                return whole + atom.inner.over(atom.by * by)
        if (coarse := rest._coarse(by)) is not None:
            high, _, step = coarse
            return whole + high.over(by // step)
        reduced, by = rest._reduced(by)
        return whole + _single(Division(reduced, "//", by))

    def modulo(self, by: Size) -> Index:
        """The remainder."""
        _, rest = self._split(by)
        if rest.most.below(by):
            return rest
        if (coarse := rest._coarse(by)) is not None:
            high, low, step = coarse
            return high.modulo(by // step).times(step) + low
        reduced, fewer = rest._reduced(by)
        return _single(Division(reduced, "%", fewer)).times(by // fewer)

    def _split(self, by: Size) -> tuple[Index, Index]:
        """The terms that `by` divides, divided by it, and the remaining terms."""
        whole = {(atom, c // by) for atom, c in self.terms if by.divides(c)}
        rest = {(atom, c) for atom, c in self.terms if not by.divides(c)}
        return Index(frozenset(whole), self.constant // by), Index(
            frozenset(rest), self.constant % by
        )

    def _coarse(self, by: Size) -> tuple[Index, Index, Size] | None:
        """The index as step · high + low with low < step, for a step that divides `by`. The
        quotient then depends only on high, as in (50257 · r + c) // (50257 · n). None if there is
        no such step."""
        for _, coefficient in sorted(self.terms, key=lambda term: term[1].values):
            step = Size(tuple(map(gcd, coefficient.values, by.values)))
            high, low = self._split(step)
            if low.terms and high.terms and low.most.below(step):
                return high, low, step
        return None

    def _reduced(self, by: Size) -> tuple[Index, Size]:
        """The index and `by`, divided by their greatest common factor."""
        columns = zip(
            by.values, self.constant.values, *(c.values for _, c in self.terms), strict=True
        )
        common = Size(tuple(gcd(*numbers) for numbers in columns))
        terms = frozenset((atom, c // common) for atom, c in self.terms)
        return Index(terms, self.constant // common), by // common

    def text(self, names: Names) -> str:
        """The index as Python and Triton source."""
        parts = [
            shown if (factor := names.text(c)) == "1" else f"{shown} * {factor}"
            for shown, c in sorted((_shown(atom, names), c) for atom, c in self.terms)
        ]
        if not self.constant.is_(0) or not parts:
            parts.append(names.text(self.constant))
        return " + ".join(parts).replace("+ -", "- ")


def constant(size: Size) -> Index:
    """An index without variables."""
    return Index(frozenset(), size)


def variable(name: str, size: Size, depends: frozenset[str] | None = None) -> Index:
    """A loop variable by itself, or a loaded number that depends on others."""
    return _single(Variable(name, size, frozenset({name}) if depends is None else depends))


def _single(atom: Atom) -> Index:
    one = atom.size.__class__((1,) * len(atom.size.values))
    if atom.size.is_(1):
        return constant(one - 1)
    return Index(frozenset({(atom, one)}), one - 1)


def _shown(atom: Atom, names: Names) -> str:
    if isinstance(atom, Variable):
        return atom.name
    inner = atom.inner.text(names)
    single = len(atom.inner.terms) == 1 and (
        inner.isidentifier() or (inner.count("(") == 1 and inner[0] + inner[-1] == "()")
    )
    inner = inner if single else f"({inner})"
    by = names.text(atom.by)
    return f"({inner} {atom.operator} {by if by.isalnum() else f'({by})'})"


def _least(one: Size, other: Size) -> Size:
    return Size(tuple(map(min, one.values, other.values)))


def _collected(terms: Iterable[tuple[Atom, Size]], rest: Size) -> Index:
    """Add equal atoms, and combine a quotient with its remainder."""
    sizes: dict[Atom, Size] = {}
    for atom, c in terms:
        sizes[atom] = sizes[atom] + c if atom in sizes else c
    sizes = {atom: c for atom, c in sizes.items() if not c.is_(0)}
    for atom, c in sizes.items():
        if not isinstance(atom, Division) or atom.operator != "%":
            continue
        quotient = atom.inner.over(atom.by).times(c * atom.by)
        if quotient.constant.is_(0) and all(sizes.get(a) == k for a, k in quotient.terms):
            left = [(a, k) for a, k in sizes.items() if a != atom and (a, k) not in quotient.terms]
            whole = atom.inner.times(c)
            return _collected((*left, *whole.terms), rest + whole.constant)
    return Index(frozenset(sizes.items()), rest)


def total(indices: Iterable[Index], nothing: Index) -> Index:
    """The sum of the indices, added to `nothing`."""
    return reduce(Index.__add__, indices, nothing)
