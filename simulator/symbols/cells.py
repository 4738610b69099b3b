"""The domain of a family: a box of batches and sequence lengths, with an alignment."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass

from simulator.symbols.expressions import Point

HIGHLY_COMPOSITE = 120_960
"""2⁷·3³·5·7: a multiple of nearly all sizes that networks pad or chunk to."""
LARGEST_BATCH = 16_384

_INNER_LENGTHS = (
    (0.97, 37),
    (0.35, 5),
    (0.6, 22),
    (0.15, 12),
    (0.5, 40),
    (0.8, 21),
    (0.25, 53),
    (0.7, 48),
)
"""Positions between the ends on a logarithmic scale, and residues mod 64, unaligned ones first. At
each of the first four, at least two of ⌈S/8⌉·8, ⌈S/16⌉·16, ⌈S/32⌉·32 and ⌈S/64⌉·64 differ."""


@dataclass(frozen=True)
class Cell:
    """Batches and sequence lengths, inclusive. If `aligned`, only lengths that are multiples of
    `modulus`; otherwise only the others. A modulus of 1 includes all."""

    batches: tuple[int, int]
    seqs: tuple[int, int]
    modulus: int = 1
    aligned: bool = True

    def holds(self, batch: int, seq: int) -> bool:
        low, high = self.seqs
        return self.batches[0] <= batch <= self.batches[1] and low <= seq <= high and self.fits(seq)

    def fits(self, seq: int) -> bool:
        return (seq % self.modulus == 0) == self.aligned

    def around(self, seq: int) -> list[int]:
        """The last length of the cell up to `seq`, and the first beyond it."""
        low, high = self.seqs
        below = (s for s in range(min(seq, high), low - 1, -1) if self.fits(s))
        above = (s for s in range(max(seq + 1, low), high + 1) if self.fits(s))
        return [s for s in (next(below, None), next(above, None)) if s is not None]

    def lengths(self) -> list[int]:
        """Lengths of the cell: the ends first, then lengths in between, both multiples and
        non-multiples of the sizes that kernels pad to."""
        unit = self.modulus if self.aligned else 1
        low, high = -(-self.seqs[0] // unit), self.seqs[1] // unit
        ladder = [s for s in range(low, high + 1) if unit > 1 or self.fits(s)]
        if not ladder:
            return []
        lengths = [ladder[0], ladder[-1], *self._composite(high)]
        for share, residue in _INNER_LENGTHS:
            place = bisect_left(ladder, round(low * (high / low) ** share))
            near = ladder[max(0, place - 64) : place + 64]
            matches = [s for s in near if s % 64 == residue]
            lengths += sorted(matches, key=lambda s: abs(s - ladder[min(place, len(ladder) - 1)]))[
                :1
            ]
        return [unit * s for s in dict.fromkeys([*lengths, *ladder[:64]])]

    def _composite(self, high: int) -> list[int]:
        """Lengths with many divisors that belong to the cell. If the end is not a multiple of all
        common moduli, these lengths reveal another modulus."""
        if self.aligned and (self.modulus > 1 or high % HIGHLY_COMPOSITE == 0):
            return []
        composite: list[int] = []
        for unit in (7_560, 4_480, 1_680, 840, 240, 336, 48, 12):
            fits = (s for s in range(high // unit * unit, 0, -unit) if self.fits(s))
            length = next(fits, 0)
            if length >= self.seqs[0] and length not in composite:
                composite.append(length)
        return composite[:2]

    def points(self, count: int) -> list[Point]:
        """At most `count` points: the corners of the box, then others in it."""
        low, high = self.batches
        inner = [b for b in (7, 41, 3, 211, 5, 23) if low < b < high]
        lengths = self.lengths()
        if low == high:
            return [(low, s) for s in lengths[:count]]
        if len(lengths) == 1:
            return [(b, lengths[0]) for b in [low, high, *inner][:count]]
        batches = [low, high, high, low, *inner, *inner]
        places = [0, 1, 0, 2, 3, 4, 5, 6, 7, 8]
        pairs = [(b, lengths[p % len(lengths)]) for b, p in zip(batches, places, strict=False)]
        return list(dict.fromkeys(pairs))[:count]


def edge(same: Callable[[int], bool], low: int, high: int) -> int:
    """The last number, starting at `low`, for which `same` holds, given that it fails for `high`:
    by doubling steps, then bisection."""
    good, step = low, 1
    while good + step < high and same(good + step):
        good, step = good + step, 2 * step
    bad = min(good + step, high)
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if same(middle) else (good, middle)
    return good
