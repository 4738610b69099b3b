"""Data that is still in L2 when it is read again: reuse distances over a repeated step.

The reuse distance of an access is the traffic since the same storage was last touched. It depends
on the network alone; whether it fits depends on the GPU. A storage that is older than the step was
last touched by the step before. Because the allocator gives freed memory to later tensors, the step
touches no more distinct bytes in between than its peak memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from simulator.caches.derived import Derived
from simulator.caches.identity import ByIdentity
from simulator.costs.registry import stated_argument
from simulator.costs.tensor_bytes import bytes_of
from simulator.records import Signature, Trace
from simulator.schedule.memory import memory

Ints = NDArray[np.int64]

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


@dataclass(frozen=True)
class _Pattern:
    """Which storages the ops of a step touch, without sizes: the same at all points of a family.

    ops       the ops that touch storages
    counts    accesses of each of `ops`
    first     the first access of each of `ops`
    row       the index among `ops` of each access
    is_read   whether each access reads
    is_again  whether the storage of each access was accessed before
    previous  the index among `ops` of the storage's last access before each access; 0 without one
    """

    ops: Ints
    counts: Ints
    first: Ints
    row: Ints
    is_read: NDArray[np.bool_]
    is_again: NDArray[np.bool_]
    previous: Ints


_PATTERNS = Derived[_Pattern](size=8)  # by the ops that launch kernels


def share_patterns(family: object, trace: Trace) -> None:
    """Let the traces of a family, whose ops differ only in sizes, share their access patterns."""
    _PATTERNS.share(family, trace)


def _pattern(trace: Trace, launching: NDArray[np.bool_]) -> _Pattern:
    signatures, kinds = trace.signatures
    reads_of = np.array([len(s.inputs) for s in signatures], np.int64)
    writes_of = np.array([len(s.outputs) for s in signatures], np.int64)
    ops = np.flatnonzero(launching)
    kind = np.array(kinds, np.int64)[ops]
    counts = (reads_of + writes_of)[kind]
    first = np.cumsum(counts) - counts
    row = np.repeat(np.arange(ops.size), counts)
    accessed = (trace.ops[op].storages for op in ops.tolist())
    storage = np.array(list(chain.from_iterable(accessed)), np.int64)
    by_storage = np.argsort(storage, kind="stable")
    repeated = np.flatnonzero(np.diff(storage[by_storage]) == 0) + 1
    is_again, previous = np.zeros(storage.size, np.bool_), np.zeros(storage.size, np.int64)
    is_again[by_storage[repeated]] = True
    previous[by_storage[repeated]] = row[by_storage[repeated - 1]]
    is_read = np.arange(storage.size) - first[row] < reads_of[kind][row]
    return _Pattern(ops, counts, first, row, is_read, is_again, previous)


def accesses(trace: Trace, launching: NDArray[np.bool_], steady: bool = True) -> Accesses:
    """Every access of the ops that launch kernels. Unless the step is one of a `steady` state, L2
    holds nothing before it, and the distance of a first read is `NEVER`."""
    at = _PATTERNS.get(trace, lambda: _pattern(trace, launching), np.packbits(launching).tobytes())
    signatures, kinds = trace.signatures
    known: dict[int, int] = {}
    sizes_of = [_sizes(s, known) for s in signatures]
    each = np.array(list(chain.from_iterable(sizes_of)), np.int64)
    count_of = np.array([len(sizes) for sizes in sizes_of], np.int64)
    begin = (np.cumsum(count_of) - count_of)[np.array(kinds, np.int64)[at.ops]]
    sizes = each[np.arange(at.row.size) + (begin - at.first)[at.row]]
    traffic = np.concatenate([[0], np.cumsum(sizes)])
    before, after = traffic[at.first], traffic[at.first + at.counts]
    last_touched = after[at.previous]  # traffic when the storage was last touched
    distance = np.where(at.is_read, before[at.row] - last_touched + sizes, sizes)
    distance[at.is_read & ~at.is_again] = memory(trace).peak_bytes if steady else NEVER
    return Accesses(at.ops[at.row], sizes, distance, len(trace.ops))


_SIZES: ByIdentity[list[int]] = ByIdentity(512)
_MANY = 32


def _sizes(op: Signature, known: dict[int, int]) -> list[int]:
    """Bytes of each input and output, cached for an optimizer's long lists. Stated traffic beyond
    these bytes is spread over them. `known` are bytes by the identity of a trace's tensors, which
    its ops share."""
    if len(op.inputs) > _MANY:
        return _SIZES.get(op, None, lambda: bytes_of((*op.inputs, *op.outputs)))
    tensors = (*op.inputs, *op.outputs)
    for tensor in tensors:
        if id(tensor) not in known:
            known[id(tensor)] = tensor.nbytes
    sizes = [known[id(tensor)] for tensor in tensors]
    moved, stated = sum(sizes), op.args.get(stated_argument("bytes"), 0)
    return [size * stated // moved for size in sizes] if 0 < moved < stated else sizes
