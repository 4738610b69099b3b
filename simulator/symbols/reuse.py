"""Reuse distances of a family at many points.

The traffic between an access and the previous one to the same storage is a sum over the ops in
between. The number of ops of each signature among these is the same at every point.
(`simulator.schedule.l2_reuse` computes the distances of one trace.)
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from simulator.caches.derived import Derived
from simulator.records import ITEM_BYTES
from simulator.symbols.family import Family
from simulator.timing.products import product

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_READ, _WRITE, _FIRST = 0, 1, 2


class StepBytes(NamedTuple):
    """The bytes of each tensor of a family [tensors, points], and a step's peak memory [points]."""

    tensors: Floats
    peak: Ints

    def at(self, points: Ints) -> StepBytes:
        """The bytes at some of the points."""
        return StepBytes(self.tensors[:, points], self.peak[points])


@dataclass(frozen=True)
class Reuse:
    """Ops of a program in classes with equal L2 reuse.

    op_class     the class of each op [ops], −1 for ops without launches
    number       the signature of each class

    The other fields have one item for each group of equal accesses of a class:

    of_class     the class
    count        the number of accesses
    tensor       the index of the family's tensor
    access_kind  a first access, a read of a storage touched before, or a write
    row          a row of `between` [rows, tensors], which counts the tensors moved since the
                 previous access

    `moved` counts the reads and writes of each tensor by an op of each class [classes, tensors].
    """

    op_class: Ints
    number: Ints
    of_class: Ints
    count: Floats
    tensor: Ints
    access_kind: Ints
    row: Ints
    between: Floats
    moved: Floats

    def hot_share(self, step: StepBytes, l2_bytes: float) -> Floats:
        """The share of each class's bytes that L2 serves [classes, points]."""
        distance = product(self.between, step.tensors)  # without the tensor itself
        near = distance.min(axis=1, initial=np.inf) <= l2_bytes
        near_by = np.flatnonzero(self._may_hit(near[self.row], step, l2_bytes))
        read = step.tensors[self.tensor[near_by]]
        first = self.access_kind[near_by, None] == _FIRST
        served = np.where(first, step.peak, distance[self.row[near_by]] + read) <= l2_bytes
        hot = _sums(
            read * self.count[near_by, None] * served,
            self.of_class[near_by],
            len(self.number),
        )
        return hot / np.maximum(product(self.moved, step.tensors), 1)

    def _may_hit(
        self, near: NDArray[np.bool_], step: StepBytes, l2_bytes: float
    ) -> NDArray[np.bool_]:
        """The accesses that L2 serves at some point [accesses]: first accesses if the whole step
        fits in L2 there, and others if they are `near` [accesses]."""
        return np.where(self.access_kind == _FIRST, (step.peak <= l2_bytes).any(), near)

    def within(self, step: StepBytes, l2_bytes: float) -> tuple[Reuse, Ints]:
        """The same reuse for steps of these bytes or more, in fewer classes, and the new class of
        each old one. Accesses that miss L2 even for the smallest numbers of bytes are left out;
        classes that differ only in them are one class."""
        least = step.tensors.min(axis=1)
        nearest = product(self.between, least)[self.row] + least[self.tensor] <= l2_bytes
        near = np.flatnonzero(self._may_hit(nearest, step, l2_bytes))
        accesses = self.count, self.tensor, self.access_kind, self.row
        columns = [column[near].tolist() for column in accesses]
        # A class is its signature, followed by its accesses that may hit.
        keys: list[Any] = self.number.tolist()
        for of_class, *access in zip(self.of_class[near].tolist(), *columns, strict=True):
            keys[of_class] = keys[of_class], *access
        merged: dict[Any, int] = {}
        class_of = np.array([merged.setdefault(key, len(merged)) for key in keys], np.int64)
        first = np.unique(class_of, return_index=True)[1]
        chosen = near[np.isin(self.of_class[near], first)]
        rows, row = np.unique(self.row[chosen], return_inverse=True)
        fewer = Reuse(
            op_class=np.where(self.op_class < 0, -1, class_of[self.op_class]),
            number=self.number[first],
            of_class=class_of[self.of_class[chosen]],
            count=self.count[chosen],
            tensor=self.tensor[chosen],
            access_kind=self.access_kind[chosen],
            row=row,
            between=self.between[rows],
            moved=self.moved[first],
        )
        return fewer, class_of


def _sums(rows: Floats, of_class: Ints, classes: int) -> Floats:
    """The sum of the rows of each class [classes, points]; rows are sorted by class."""
    sums = np.zeros((classes, rows.shape[1]))
    here, starts = np.unique(of_class, return_index=True)
    if here.size:
        sums[here] = np.add.reduceat(rows, starts, axis=0)
    return sums


def tensor_bytes(family: Family, sizes: Ints) -> Floats:
    """The bytes of each tensor of a family [tensors, points], as `Tensor.nbytes`."""
    nbytes = np.empty((len(family.tensors), sizes.shape[1]))
    for row, (shape, stride, dtype, _) in zip(nbytes, family.tensors, strict=True):
        row[:] = ITEM_BYTES[dtype]
        for size, step in zip(shape, stride, strict=True):
            row *= np.where(sizes[step] != 0, sizes[size], 1)
    return nbytes


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
    repeated = np.flatnonzero(np.diff(storage[by_storage]) == 0) + 1
    previous = np.full(row.size, -1)  # the op of the previous access to the storage
    previous[by_storage[repeated]] = row[by_storage[repeated - 1]]
    reads = place < reads_of[kinds][row]
    access_kind = cast("Ints", np.where(reads, np.where(previous < 0, _FIRST, _READ), _WRITE))
    # Counts of ops of each signature before each op; their differences count those in between.
    numbers = len(family.signatures)
    before = np.zeros((ops.size + 1, numbers), np.int32)
    np.add.at(before, (np.arange(ops.size) + 1, kinds), 1)
    before = np.cumsum(before, axis=0, dtype=np.int32)
    between = np.zeros((row.size, numbers), np.int32)
    reread = access_kind == _READ
    between[reread] = before[row[reread]] - before[previous[reread] + 1]
    distinct, code = _distinct(between)
    tensors = [np.array((*f.inputs, *f.outputs), np.int64) for f in family.signatures]
    tensor_counts = np.stack([np.bincount(t, minlength=len(family.tensors)) for t in tensors])
    # Two ops belong to one class if their signatures and all of their accesses are equal.
    classes: dict[Any, int] = {}
    op_class = np.full(len(rows), -1)
    groups: list[tuple[int, int, int, int, int]] = []
    kind_of: list[int] = kinds.tolist()
    for op, kind, begin, count in zip(
        ops.tolist(), kind_of, first.tolist(), counts.tolist(), strict=True
    ):
        accesses = slice(begin, begin + count)
        key = kind, code[accesses].tobytes(), access_kind[accesses].tobytes()
        if key not in classes:
            classes[key] = len(classes)
            columns = tensors[kind], access_kind[accesses], code[accesses]
            equal = Counter(zip(*(column.tolist() for column in columns), strict=True))
            groups += [(classes[key], times, *access) for access, times in equal.items()]
        op_class[op] = classes[key]
    number = np.array([kind for kind, *_ in classes], np.int64)
    of_class, times, tensor, access_kind, row = np.array(groups, np.int64).reshape(-1, 5).T
    moved = np.zeros((len(number), tensor_counts.shape[1]))
    np.add.at(moved, (of_class, tensor), times)
    return Reuse(
        op_class=op_class,
        number=number,
        of_class=of_class,
        count=times.astype(float),
        tensor=tensor,
        access_kind=access_kind,
        row=row,
        between=(distinct @ tensor_counts).astype(float),
        moved=moved,
    )


def _distinct(table: NDArray[np.int32]) -> tuple[NDArray[np.int32], Ints]:
    """The distinct rows, and the index of each row among them."""
    indices: dict[bytes, int] = {}
    code = [indices.setdefault(row.tobytes(), len(indices)) for row in table]
    first = np.unique(code, return_index=True)[1] if code else np.zeros(0, np.int64)
    return table[first], np.array(code, np.int64)
