"""Reuse distances of a family at many points at once.

The traffic between an access and the last one to the same storage is a sum over the ops between
them; how many there are of each signature is the same at every point (`simulator.schedule.l2_reuse`
has the distances of one trace).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.caches.derived import Derived
from simulator.records import ITEM_BYTES
from simulator.symbols.family import Family

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_READ, _WRITE, _FIRST = 0, 1, 2


@dataclass(frozen=True)
class Reuse:
    """Ops of a program by what they find in L2: `op_class` [ops] (−1 where nothing is launched),
    `number` the signature of each class. One row for the accesses of a class that are alike: which
    class, how many, which tensor of the family, how it reaches its storage, and a row of `between`,
    which counts the tensors that were moved since [rows, tensors]."""

    op_class: Ints
    number: Ints
    of_class: Ints
    count: Floats
    tensor: Ints
    how: Ints
    row: Ints
    between: Floats

    def hot_share(self, tensor_bytes: Floats, l2_bytes: float) -> Floats:
        """The share of the bytes of each class that an L2 of this size serves [classes, points],
        where the family's tensors have these [tensors, points]."""
        sizes = tensor_bytes[self.tensor]
        distance = np.where(
            (self.how == _READ)[:, None], (self.between @ tensor_bytes)[self.row] + sizes, sizes
        )
        served = (distance <= l2_bytes) & (self.how != _FIRST)[:, None]
        total = sizes * self.count[:, None]
        hot = total * served
        rows = np.bincount(self.of_class, minlength=len(self.number))
        found = np.zeros((len(self.number), sizes.shape[1]))
        some = np.flatnonzero(rows)
        if some.size:
            starts = (np.cumsum(rows) - rows)[some]
            whole = np.add.reduceat(total, starts, axis=0)
            found[some] = np.add.reduceat(hot, starts, axis=0) / np.maximum(whole, 1)
        return found


def tensor_bytes(family: Family, sizes: Ints) -> Floats:
    """The bytes of each tensor of a family [tensors, points], as `Tensor.nbytes`."""
    found = np.empty((len(family.tensors), sizes.shape[1]))
    for row, (shape, stride, dtype, _) in zip(found, family.tensors, strict=True):
        row[:] = ITEM_BYTES[dtype]
        for size, step in zip(shape, stride, strict=True):
            row *= np.where(sizes[step] != 0, sizes[size], 1)
    return found


_REUSE = Derived[Reuse]()


def reuse(family: Family, launching: NDArray[np.bool_]) -> Reuse:
    """The reuse of a family whose ops `launching` [ops] launch kernels."""
    key = np.packbits(launching).tobytes()
    return _REUSE.get(family, lambda: _reuse(family, launching), key)


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
    tensors = [np.array((*f.inputs, *f.outputs), np.int64) for f in family.signatures]
    held = np.stack([np.bincount(t, minlength=len(family.tensors)) for t in tensors])
    # Ops are of one class where signature and every access are alike.
    classes: dict[Any, int] = {}
    op_class = np.full(len(rows), -1)
    alike: list[tuple[int, int, int, int, int]] = []
    for op, kind, begin, count in zip(
        ops.tolist(), kinds.tolist(), first.tolist(), counts.tolist(), strict=True
    ):
        some = slice(begin, begin + count)
        key = kind, code[some].tobytes(), how[some].tobytes()
        if key not in classes:
            classes[key] = len(classes)
            same = Counter(
                zip(tensors[kind].tolist(), how[some].tolist(), code[some].tolist(), strict=True)
            )
            alike += [(classes[key], times, *each) for each, times in same.items()]
        op_class[op] = classes[key]
    number = np.array([kind for kind, *_ in classes], np.int64)
    of_class, times, tensor, means, row = np.array(alike, np.int64).reshape(-1, 5).T
    return Reuse(
        op_class,
        number,
        of_class,
        times.astype(float),
        tensor,
        means,
        row,
        (distinct @ held).astype(float),
    )


def _distinct(table: NDArray[np.int32]) -> tuple[NDArray[np.int32], Ints]:
    """The distinct rows, and which of them each one is."""
    found: dict[bytes, int] = {}
    code = [found.setdefault(row.tobytes(), len(found)) for row in table]
    first = np.unique(code, return_index=True)[1] if code else np.zeros(0, np.int64)
    return table[first], np.array(code, np.int64)
