"""Chains: storages at the same place in every block, such as the first weight of each.

Consecutive runs of block 1 and block 2 must be equal, op by op. Storages at the same place in both
are neighbours in a chain; the residual stream is a chain too. Storages that only the optimizer
touches, such as Adam's moments, are matched by their places in its lists.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from simulator.blocks.optimizer_lists import lists
from simulator.blocks.runs import Run, UnequalBlocksError
from simulator.records import Op, Trace


@dataclass
class Chains:
    """The chains of a trace to which `added` blocks are added, new storages numbered from `end`.

    place_of    by storage of the trace, its chain and its place in the chain, if any
    elements    storages of the trace by chain
    new         new storages by chain
    of_block_1  by the length of the optimizer's lists, the places of block 1 in these lists
    """

    added: int
    end: int
    place_of: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    elements: list[list[int]] = field(default_factory=list[list[int]])
    new: list[list[int]] = field(default_factory=list[list[int]])
    of_block_1: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    _by_shift: dict[int, dict[int, int]] = field(default_factory=dict[int, dict[int, int]])

    def add(self, elements: list[int]) -> None:
        """Add a chain."""
        self._by_shift.clear()
        self.place_of.update((s, (len(self.elements), i)) for i, s in enumerate(elements))
        self.elements.append(elements)
        self.new.append(list(range(self.end, self.end + self.added)))
        self.end += self.added

    def at(self, chain: int, place: int) -> int:
        """The storage at a place of the longer chain: the first old storage, the new ones, then the
        other old ones."""
        new, old = self.new[chain], self.elements[chain]
        if place <= 0:
            return old[0]
        return new[place - 1] if place <= len(new) else old[place - len(new)]

    def moved(self, storages: tuple[int, ...], shift: int) -> tuple[int, ...]:
        """The storages, with each storage of a chain replaced by the one `shift` places further."""
        moved = self._by_shift.get(shift)
        if moved is None:
            of = self.place_of.items()
            moved = {s: self.at(chain, place + shift) for s, (chain, place) in of}
            self._by_shift[shift] = moved
        return tuple([moved.get(s, s) for s in storages])

    def first_places(self, listed: tuple[int, ...]) -> list[int]:
        """The places in a list that hold the first elements of chains."""
        of = [self.place_of.get(s) for s in listed]
        return [i for i, each in enumerate(of) if each is not None and each[1] == 0]

    @property
    def growth(self) -> tuple[int, int]:
        """The numbers of the optimizer's tensors before and after; (1, 1) if they are not one
        list."""
        if len(self.of_block_1) != 1:
            return 1, 1
        ((length, places),) = self.of_block_1.items()
        return length, length + self.added * len(places)


def chains_of(trace: Trace, entries: list[Run], added: int) -> Chains:
    """The chains of a trace. Raises UnequalBlocksError if blocks 1 and 2 differ."""
    following = _following(trace, entries)
    chains = Chains(added, len(trace.storages))
    for first in sorted(following.keys() - set(following.values())):
        elements = [first]
        while elements[-1] in following:
            elements.append(following[elements[-1]])
        chains.add(elements)
    for listed in _optimizer_lists(trace, entries):
        places = chains.first_places(listed)
        if places and len(listed) > 1:
            chains.of_block_1.setdefault(len(listed), places)
    for listed in _optimizer_lists(trace, entries):
        if any(s in chains.place_of for s in listed):
            continue
        for place in chains.of_block_1.get(len(listed), ()):
            if listed[place] not in chains.place_of:
                chains.add([listed[place]])
    return chains


def neighbours(entries: list[Run]) -> list[tuple[Run, Run]]:
    """Pairs of consecutive runs of block 1 and block 2, in time order."""
    pairs = [
        (a, b) for a, b in pairwise(entries) if {a.block, b.block} == {1, 2} and a.phase == b.phase
    ]
    if 2 * len(pairs) != sum(run.block in (1, 2) for run in entries) or not pairs:
        raise UnequalBlocksError("blocks 1 and 2 do not follow each other")
    return pairs


def _following(trace: Trace, entries: list[Run]) -> dict[int, int]:
    """Maps each storage of block 1 that differs in block 2 to the storage of block 2."""
    following: dict[int, int] = {}
    for a, b in neighbours(entries):
        one, two = (a, b) if a.block == 1 else (b, a)
        if len(one.ops) != len(two.ops):
            raise UnequalBlocksError("blocks 1 and 2 have different numbers of ops")
        for i, j in zip(one.ops, two.ops, strict=True):
            x, y = trace.ops[i], trace.ops[j]
            if not _same(x, y):
                raise UnequalBlocksError(f"{x.name} in block 1 is {y.name} in block 2")
            for s, t in zip(x.storages, y.storages, strict=True):
                if s != t and following.setdefault(s, t) != t:
                    raise UnequalBlocksError("one storage of block 1 corresponds to two of block 2")
    return following


def _same(a: Op, b: Op) -> bool:
    """Whether two ops are equal except for their storages."""
    x, y = a.collective, b.collective
    if a.signature != b.signature or a.stream != b.stream:
        return False
    if x is None or y is None:
        return x is y
    return (x.kind, x.message_bytes, x.ranks) == (y.kind, y.message_bytes, y.ranks)


def _optimizer_lists(trace: Trace, entries: list[Run]) -> Iterator[tuple[int, ...]]:
    """The storages of each list of each of the optimizer's ops."""
    for run in entries:
        if run.block is None:
            for i in run.ops:
                op = trace.ops[i]
                for start, length in lists(op.signature):
                    yield op.storages[start : start + length]
