"""Allocated memory over a step, from the lifetimes of its storages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.caches.derived import Derived
from simulator.records import Role, Storage, Trace

BLOCK_BYTES = 512
"""PyTorch's caching allocator allocates multiples of this number of bytes
(c10/cuda/CUDACachingAllocator.cpp)."""


@dataclass(frozen=True)
class Memory:
    """`bytes_at[i]` is the number of bytes allocated while op i runs; `at_peak` divides the peak by
    role."""

    bytes_at: NDArray[np.int64]
    peak_bytes: int
    peak_op: int
    at_peak: dict[Role, int]


_MEMORY = Derived[Memory]()


def memory(trace: Trace, pooled: frozenset[int] = frozenset()) -> Memory:
    """Allocated bytes at each op, as the caching allocator counts them (without workspaces).

    The storages with the numbers `pooled` are in the memory pool of CUDA graphs: only graphs reuse
    the memory that another graph frees. The pool has its largest size from the first op to the
    last.
    """
    return _MEMORY.get(trace, lambda: _memory(trace, pooled), pooled)


def _memory(trace: Trace, pooled: frozenset[int]) -> Memory:
    own = [s for n, s in enumerate(trace.storages) if n not in pooled]
    over_time = _over_time(own, len(trace.ops))
    if not pooled:
        return over_time
    pool = _over_time([trace.storages[n] for n in sorted(pooled)], len(trace.ops))
    at_peak = dict(over_time.at_peak)
    for role, nbytes in pool.at_peak.items():
        at_peak[role] = at_peak.get(role, 0) + nbytes
    return Memory(
        over_time.bytes_at + pool.peak_bytes,
        over_time.peak_bytes + pool.peak_bytes,
        over_time.peak_op,
        at_peak,
    )


def _over_time(listed: Sequence[Storage], last: int) -> Memory:
    """The memory of these storages in a step of `last` ops."""
    storages = [s for s in listed if s.device == "cuda" and s.nbytes > 0]
    count = max(last, 1)  # a step without ops still holds its weights and inputs
    sizes = np.array([-(-s.nbytes // BLOCK_BYTES) * BLOCK_BYTES for s in storages], np.int64)
    born = np.array([max(s.born, 0) for s in storages], np.int64)
    freed = np.array(
        [count if s.freed is None or s.freed == last else s.freed for s in storages], np.int64
    )
    steps = np.zeros(count + 2, np.int64)
    np.add.at(steps, np.minimum(born, count), sizes)
    np.add.at(steps, np.minimum(freed, count), -sizes)  # freed before op `freed` begins
    bytes_at = np.cumsum(steps)[:count]
    peak_op = int(np.argmax(bytes_at))
    alive = (born <= peak_op) & (freed > peak_op)
    at_peak: dict[Role, int] = {}
    for storage, size, is_alive in zip(storages, sizes.tolist(), alive.tolist(), strict=True):
        if is_alive:
            at_peak[storage.role] = at_peak.get(storage.role, 0) + size
    return Memory(bytes_at, int(bytes_at[peak_op]), peak_op, at_peak)


def carried_bytes(trace: Trace) -> int:
    """Bytes of the forward pass's activations that are alive when the backward pass begins; 0
    without a backward pass."""
    backward = next((i for i, op in enumerate(trace.ops) if op.phase == "backward"), None)
    if backward is None:
        return 0
    return sum(
        s.nbytes
        for s in trace.storages
        if s.device == "cuda"
        and s.role == "activation"
        and 0 <= s.born < backward
        and (s.freed is None or s.freed > backward)
    )
