"""Split the plane of batches and sequence lengths where the program of a network changes.

Batch 1 and sequence 1 are separate cells: a dimension of size 1 is contiguous in any layout, so
copies appear and disappear. Four other causes are searched for: lengths that need no padding
(multiples of a modulus), short lengths (one chunk, fewer frames than a kernel), a largest length,
and few tokens (one for each expert). If a cause is missed, the points of a cell disagree, and the
cell gets no family.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from simulator.errors import InputError
from simulator.symbols.cells import HIGHLY_COMPOSITE, LARGEST_BATCH, Cell, edge
from simulator.symbols.expressions import LARGEST_MODULUS
from simulator.symbols.probes import Probes

_BATCH = 3  # batch at which sequence lengths are compared
_TRIMMED = 2 * LARGEST_MODULUS
"""The largest number of lengths, or of batches, that are left out of a cell."""
_LADDER = tuple(2**k for k in range(1, 9))


class Limits(NamedTuple):
    """The first point, and the largest batch and length; None stands for the network's limit."""

    batch: int
    seq: int | None
    largest_batch: int | None
    largest_seq: int | None


def split(probes: Probes, limits: Limits) -> list[Cell]:
    """Cells, the widest first; they need not cover all lengths and batches."""
    spans: list[Span] = [((1, 1), 1, True)]
    if limits.seq is not None:
        lengths = _lengths(probes, limits.seq, limits.largest_seq)
        spans = [part for span in lengths for part in _parts(span)] + spans
    high = limits.largest_batch or max(LARGEST_BATCH, 4 * limits.batch)
    long = max(end for (_, end), _, _ in spans)
    while high > _BATCH and not _is_supported(probes, high, long):
        high //= 4  # more elements than a tensor can have
    if high > _BATCH and not probes.same_program((_BATCH, long), (high, long)):
        high = edge(lambda b: probes.same_program((_BATCH, long), (b, long)), _BATCH, high)
    batches = (2, high), (1, 1)
    cells = [Cell(box, *span) for box in batches if box[1] >= box[0] for span in spans]
    return [_trimmed(probes, cell) for cell in cells]


def _trimmed(probes: Probes, cell: Cell) -> Cell:
    """The cell without its shortest lengths, or its smallest batches if it has one length, if the
    program of its first point differs from that of its last."""
    (low, high), (short, long) = cell.batches, cell.seqs
    last = high, long
    corners = (low, short), last
    if cell.modulus > 1 or not all(_is_supported(probes, *corner) for corner in corners):
        return cell
    if probes.same_program(*corners):
        return cell

    def differs(step: int) -> bool:
        point = (low, short + step) if short < long else (low + step, short)
        return not probes.same_program(point, last)

    size = min(_TRIMMED, long - short if short < long else high - low)
    if size == 0 or differs(size):
        return cell
    first = 1 + edge(differs, 0, size)
    if short < long:
        return replace(cell, seqs=(short + first, long))
    return replace(cell, batches=(low + first, high))


Span = tuple[tuple[int, int], int, bool]
"""First and last length, modulus, aligned: the sequence part of a cell."""


def _parts(span: Span) -> list[Span]:
    """The span, or one span for each length if there are too few lengths for a fit."""
    lengths = Cell((1, 1), *span).lengths()
    return [span] if len(lengths) > 4 else [((s, s), 1, True) for s in lengths]


def _lengths(probes: Probes, start: int, largest: int | None) -> list[Span]:
    def same(first: int, second: int) -> bool:
        return probes.same_program((_BATCH, first), (_BATCH, second))

    if start < 5:
        start = next((s for s in (64, 16, 8) if _is_supported(probes, _BATCH, s)), 1)
        if start == 1:
            return []
    near = max(3, start // 2 - 1) | 1, (start - 1) | 1
    further = (2 * start - 1) | 1
    if not same(*near) and not (_is_supported(probes, _BATCH, further) and same(near[1], further)):
        # Every length has its own program, as with a Python loop over the sequence.
        return [((start, start), 1, True)]
    end = _end(probes, start, largest or HIGHLY_COMPOSITE)
    odd, whole = _odd(end), end if end % 64 == 0 else end // 64 * 64 or end // 2 * 2
    if not same(near[1], odd):
        end = edge(lambda s: same(near[1], s | 1), near[1], odd)
        odd, whole = end, end // 64 * 64 or end - 1
    modulus = 1 if same(odd, whole) else _modulus(same, whole)
    if modulus is None:
        return [((2, end), 1, True)]  # the points disagree, and the fit will report this
    spans: list[Span] = []
    short = 1
    if modulus == 1:
        if not same(2, odd):
            short = edge(lambda s: same(2, s), 2, near[1])
            spans.append(((2, short), 1, True))
        return [((short + 1, end), 1, True), *spans]
    if not same(3, odd):
        beyond = modulus + 1 if (modulus + 1) % 2 else modulus + 3
        one_chunk = modulus > 3 and same(3, modulus - 1) and same(beyond, odd)
        short = modulus if one_chunk else edge(lambda s: same(3, s | 1), 3, odd)
        spans.append(((2, short), modulus, False))
    first = modulus
    if not same(modulus, whole):
        spans.append(((modulus, modulus), modulus, True))
        first = 2 * modulus
    return [((short + 1, end), modulus, False), ((first, end), modulus, True), *spans]


def _end(probes: Probes, start: int, largest: int) -> int:
    """The largest length that the network supports."""

    def supported(seq: int) -> bool:
        return _is_supported(probes, _BATCH, seq)

    if largest <= start or supported(largest):
        return max(largest, start)
    good, bad = start, largest
    while 2 * good < bad and supported(2 * good):
        good *= 2
    bad = min(bad, 2 * good)
    while bad - good > 1 and supported(good + 1):  # limits are mostly powers of two times the start
        middle = (good + 1 + bad) // 2
        good, bad = (middle, bad) if supported(middle) else (good + 1, middle)
    return good


def _is_supported(probes: Probes, batch: int, seq: int) -> bool:
    try:
        probes.program(batch, seq)
    except InputError:
        return False
    return True


def _odd(end: int) -> int:
    """An odd length near the end, off every grid."""
    return end - (end - 37) % 64 if end > 128 else end - 1 + end % 2


def _modulus(same: Callable[[int, int], bool], whole: int) -> int | None:
    """The smallest divisor of `whole` whose multiples have the same program as `whole`: a power of
    two, or `whole` divided by every prime factor that does not change the program."""
    low, high = 0, len(_LADDER)
    while low < high:
        middle = (low + high) // 2
        step = _LADDER[middle]
        primes = (p for p in (101, 53, 29, 13, 11) if p * step <= whole and whole % p)
        good = step <= whole and same(next(primes, 1) * step, whole)
        low, high = (low, middle) if good else (middle + 1, high)
    if low < len(_LADDER):
        return _LADDER[low]
    modulus = whole
    for prime in (2, 3, 5, 7, 11, 13):
        while modulus % prime == 0 and same(modulus // prime, whole):
            modulus //= prime
    return modulus if modulus <= LARGEST_MODULUS else None
