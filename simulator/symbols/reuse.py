"""Reuse distances of a family at many points at once.

The traffic between an access and the last one to the same storage is a sum over the ops between
them; how many there are of each signature is the same at every point (`simulator.residency` has
the distances of one trace).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.symbols.family import Family
from simulator.symbols.instances import Chosen

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_READ, _WRITE, _FIRST = 0, 1, 2


@dataclass(frozen=True)
class Reuse:
    """Ops of a program by what they find in L2: `op_class` [ops] (−1 where nothing is launched),
    `number` the signature of each class. One row an access of a class: which class, which place
    in its signature, how it reaches its storage, and a row of `between` [rows, signatures]."""

    op_class: Ints
    number: Ints
    of_class: Ints
    place: Ints
    how: Ints
    row: Ints
    between: Floats

    def hot_share(self, chosen: Sequence[Chosen], l2_bytes: float) -> Floats:
        """The share of the bytes of each class that an L2 of this size serves [classes, points]."""
        each = [
            np.array([i.access_bytes for i in c.instances], float).reshape(len(c.instances), -1)
            .T[:, c.of]
            for c in chosen
        ]  # fmt: skip
        traffic = np.stack([sizes.sum(axis=0) for sizes in each])
        begins = np.cumsum([0, *(len(sizes) for sizes in each)])
        sizes = np.concatenate(each)[begins[self.number[self.of_class]] + self.place]
        distance = (self.between @ traffic)[self.row] + sizes
        distance[self.how == _WRITE] = sizes[self.how == _WRITE]
        distance[self.how == _FIRST] = np.inf
        hot = np.where(distance <= l2_bytes, sizes, 0.0)
        count = np.bincount(self.of_class, minlength=len(self.number))
        found = np.zeros((len(self.number), sizes.shape[1]))
        some = np.flatnonzero(count)
        if some.size:
            starts = (np.cumsum(count) - count)[some]
            total = np.add.reduceat(sizes, starts, axis=0)
            found[some] = np.add.reduceat(hot, starts, axis=0) / np.maximum(total, 1)
        return found


def reuse(family: Family, launching: NDArray[np.bool_]) -> Reuse:
    """Of the ops that launch kernels [ops]; kept with the family."""
    key = "reuse", np.packbits(launching).tobytes()
    if key not in family.kept:
        family.kept[key] = _reuse(family, launching)
    return family.kept[key]


def _reuse(family: Family, launching: NDArray[np.bool_]) -> Reuse:
    rows, storages = np.array(family.rows, np.int64), family.op_columns[2]
    ops = np.flatnonzero(launching)
    kinds = rows[ops]
    reads_of = np.array([len(f.inputs) for f in family.signatures], np.int64)
    count_of = reads_of + [len(f.outputs) for f in family.signatures]
    counts = count_of[kinds]
    first = np.cumsum(counts) - counts
    row = np.repeat(np.arange(ops.size), counts)  # the op of each access
    place = np.arange(row.size) - first[row]
    storage = np.array([s for op in ops.tolist() for s in storages[op]], np.int64)
    by_storage = np.argsort(storage, kind="stable")
    again = np.flatnonzero(np.diff(storage[by_storage]) == 0) + 1
    last = np.full(row.size, -1)  # the op that touched the storage last
    last[by_storage[again]] = row[by_storage[again - 1]]
    reads = place < reads_of[kinds][row]
    how = np.where(reads, np.where(last < 0, _FIRST, _READ), _WRITE)
    # Ops of each signature before each op; those after the last one lie between.
    numbers = len(family.signatures)
    before = np.zeros((ops.size + 1, numbers), np.int32)
    np.add.at(before, (np.arange(ops.size) + 1, kinds), 1)
    before = np.cumsum(before, axis=0, dtype=np.int32)
    between = np.zeros((row.size, numbers), np.int32)
    told = how == _READ
    between[told] = before[row[told]] - before[last[told] + 1]
    distinct, code = _distinct(between)
    # Ops are of one class where signature and every access are alike.
    classes: dict[Any, int] = {}
    op_class = np.full(len(rows), -1)
    pairs = (code * 3 + how).tolist()
    examples: list[int] = []
    for each, (op, kind, begin, count) in enumerate(
        zip(ops.tolist(), kinds.tolist(), first.tolist(), counts.tolist(), strict=True)
    ):
        key = kind, tuple(pairs[begin : begin + count])
        if key not in classes:
            classes[key] = len(classes)
            examples.append(each)
        op_class[op] = classes[key]
    accesses = np.concatenate(
        [np.arange(first[e], first[e] + counts[e]) for e in examples] or [np.zeros(0, np.int64)]
    )
    of_class = np.repeat(np.arange(len(examples)), counts[examples] if examples else 0)
    return Reuse(
        op_class, kinds[examples] if examples else np.zeros(0, np.int64), of_class,
        place[accesses], how[accesses], code[accesses], distinct.astype(float),
    )  # fmt: skip


def _distinct(table: NDArray[np.int32]) -> tuple[NDArray[np.int32], Ints]:
    """The distinct rows, and which of them each one is."""
    found: dict[bytes, int] = {}
    code = [found.setdefault(row.tobytes(), len(found)) for row in table]
    first = np.unique(code, return_index=True)[1] if code else np.zeros(0, np.int64)
    return table[first], np.array(code, np.int64)
