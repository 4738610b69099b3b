"""Sizes of the parts of weights on FSDP2's ranks, for two numbers of ranks.

Rank 0 of n holds the first ⌈D/n⌉ of the D rows of each weight. `fsdp.chunk_cat` takes the whole
gradients of a group of weights, so that a trace shows D.
"""

from __future__ import annotations

from itertools import accumulate
from math import prod
from typing import TypeVar

from simulator.records import Trace

PACK_GRADIENTS = "fsdp.chunk_cat.default"
Shape = tuple[int, ...]
K = TypeVar("K")
V = TypeVar("V")


class UnknownSizeError(ValueError):
    """Raised if a size in the trace follows from no weight, or from two different weights."""


class SizeTable(dict[K, V]):
    """Sizes for the other number of ranks, by size in the trace. A missing size raises
    UnknownSizeError."""

    def add(self, key: K, value: V) -> None:
        """Add a size. Raises UnknownSizeError if it already has another value."""
        if self.setdefault(key, value) != value:
            raise UnknownSizeError

    def __missing__(self, key: K) -> V:
        raise UnknownSizeError


class PartSizes:
    """Map sizes for `before` ranks, the number in the trace, to sizes for `after` ranks.

    shapes   shape of a rank's part of a weight
    parts    number of elements of each part in a group of weights
    groups   number of elements of a group
    offsets  (number of elements of a group, offset of a part in it) → offset
    """

    def __init__(self, trace: Trace, before: int, after: int) -> None:
        self.before, self.after = before, after
        self.shapes = SizeTable[Shape, Shape]()
        self.parts = SizeTable[Shape, list[int]]()
        self.groups = SizeTable[int, int]()
        self.offsets = SizeTable[tuple[int, int], int]()
        for signature in trace.signatures[0]:
            if signature.name == PACK_GRADIENTS:
                self._add([t.shape for t in signature.tensors("tensors")])

    def _add(self, weights: list[Shape]) -> None:
        shapes = [[_first_rows(w, n) for w in weights] for n in (self.before, self.after)]
        old, new = ([prod(shape) for shape in each] for each in shapes)
        for a, b in zip(*shapes, strict=True):
            self.shapes.add(a, b)
        self.parts.add(tuple(old), new)
        self.groups.add(sum(old), sum(new))
        starts = (list(accumulate(each, initial=0))[:-1] for each in (old, new))
        for a, b in zip(*starts, strict=True):
            self.offsets.add((sum(old), a), b)

    def gathered(self, elements: int) -> int:
        """The elements of all ranks' parts of a group, for the other number of ranks. Raises
        UnknownSizeError if the trace has no such group."""
        each, rest = divmod(elements, self.before)
        if rest:
            raise UnknownSizeError
        return self.groups[each] * self.after


def _first_rows(shape: Shape, ranks: int) -> Shape:
    return (-(-shape[0] // ranks), *shape[1:]) if shape else shape
