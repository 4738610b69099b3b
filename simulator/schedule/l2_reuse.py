"""Data that is still in L2 when it is read again: reuse distances over a repeated step.

The reuse distance of an access is the traffic since the same storage was last touched. It depends
on the network alone; whether it fits depends on the GPU. A storage that is older than the step was
last touched by the step before. As the allocator gives freed memory to later tensors, the step
touches no more distinct bytes in between than its peak memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from simulator.caches.identity import ByIdentity
from simulator.costs.registry import stated_argument
from simulator.costs.tensor_bytes import bytes_of
from simulator.records import Signature, Trace
from simulator.schedule.memory import memory

NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Accesses:
    """The accesses of ops to storages, one per row: bytes, and other traffic since the last access.

    The distance of a step's first read of a storage is the peak memory of the step. The distance of
    a write is the size of the write, since a written line stays in L2 until it is read.
    """

    op: NDArray[np.int64]
    bytes: NDArray[np.int64]
    distance: NDArray[np.int64]
    ops: int

    def hot_share(self, l2_bytes: float) -> NDArray[np.float64]:
        """The share of each op's bytes that an L2 of this size serves [ops]."""
        hot = np.where(self.distance <= l2_bytes, self.bytes, 0)
        total = np.bincount(self.op, self.bytes, self.ops)
        return np.bincount(self.op, hot, self.ops) / np.maximum(total, 1)


def accesses(trace: Trace, launching: NDArray[np.bool_], steady: bool = True) -> Accesses:
    """Every access of the ops that launch kernels. Unless the step is one of a `steady` state, L2
    holds nothing before it, and the distance of a first read is `NEVER`."""
    signatures, kinds = trace.signatures
    sizes_of = [_sizes(s) for s in signatures]
    reads_of = np.array([len(s.inputs) for s in signatures], np.int64)
    count_of = np.array([len(sizes) for sizes in sizes_of], np.int64)
    ops = np.flatnonzero(launching)
    kind = np.array(kinds, np.int64)[ops]
    counts = count_of[kind]
    first = np.cumsum(counts) - counts
    row = np.repeat(np.arange(ops.size), counts)
    all_sizes = np.array(list(chain.from_iterable(sizes_of)), np.int64)
    begin_of = np.cumsum(count_of) - count_of
    sizes = all_sizes[np.arange(row.size) + (begin_of[kind] - first)[row]]
    accessed = [trace.ops[op].storages for op in ops.tolist()]
    storage = np.array(list(chain.from_iterable(accessed)), np.int64)
    traffic = np.concatenate([[0], np.cumsum(sizes)])
    before, after = traffic[first], traffic[first + counts]
    by_storage = np.argsort(storage, kind="stable")
    repeated = np.flatnonzero(np.diff(storage[by_storage]) == 0) + 1
    last_touched = np.full(sizes.size, -1)  # traffic when the storage was last touched
    last_touched[by_storage[repeated]] = after[row[by_storage[repeated - 1]]]
    reads = np.arange(sizes.size) - first[row] < reads_of[kind][row]
    distance = np.where(reads, before[row] - last_touched + sizes, sizes)
    distance[reads & (last_touched < 0)] = memory(trace).peak_bytes if steady else NEVER
    return Accesses(ops[row], sizes, distance, len(trace.ops))


_SIZES: ByIdentity[list[int]] = ByIdentity(512)
_MANY = 32


def _sizes(op: Signature) -> list[int]:
    """Bytes of each input and output, cached for an optimizer's long lists. Stated traffic beyond
    these bytes is spread over them."""
    if len(op.inputs) > _MANY:
        return _SIZES.get(op, None, lambda: bytes_of((*op.inputs, *op.outputs)))
    sizes = [t.nbytes for t in (*op.inputs, *op.outputs)]
    moved, stated = sum(sizes), op.args.get(stated_argument("bytes"), 0)
    return [size * stated // moved for size in sizes] if 0 < moved < stated else sizes
