"""Allocated memory over a step, from the lifetimes of its storages."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.caches.derived import Derived
from simulator.records import Role, Trace

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


@dataclass(frozen=True)
class _Lives:
    """The lifetimes of storages, without sizes: the same at all points of a family. `born` and
    `freed` are ops [storages]; `count` is the number of ops, or 1 for a step without ops, which
    still holds its weights and inputs."""

    on_gpu: NDArray[np.bool_]
    born: NDArray[np.int64]
    freed: NDArray[np.int64]
    roles: list[Role]
    count: int


_LIVES = Derived[_Lives]()


def share_lives(family: object, trace: Trace) -> None:
    """Let the traces of a family, whose storages differ only in sizes, share their lifetimes."""
    _LIVES.share(family, trace)


def _lives(trace: Trace) -> _Lives:
    storages, last = trace.storages, len(trace.ops)
    count = max(last, 1)
    born = np.array([max(s.born, 0) for s in storages], np.int64)
    freed = [count if s.freed is None or s.freed == last else s.freed for s in storages]
    return _Lives(
        np.array([s.device == "cuda" for s in storages], np.bool_),
        np.minimum(born, count),
        np.minimum(np.array(freed, np.int64), count),
        [s.role for s in storages],
        count,
    )


def _memory(trace: Trace, pooled: frozenset[int]) -> Memory:
    lives = _LIVES.get(trace, lambda: _lives(trace))
    nbytes = np.array([s.nbytes for s in trace.storages], np.int64)
    in_pool = np.zeros(nbytes.size, np.bool_)
    in_pool[sorted(pooled)] = True
    over_time = _over_time(lives, np.where(in_pool, 0, nbytes))
    if not pooled:
        return over_time
    pool = _over_time(lives, np.where(in_pool, nbytes, 0))
    at_peak = dict(over_time.at_peak)
    for role, role_bytes in pool.at_peak.items():
        at_peak[role] = at_peak.get(role, 0) + role_bytes
    return Memory(
        over_time.bytes_at + pool.peak_bytes,
        over_time.peak_bytes + pool.peak_bytes,
        over_time.peak_op,
        at_peak,
    )


def _over_time(lives: _Lives, nbytes: NDArray[np.int64]) -> Memory:
    """The memory of storages of `nbytes` [storages]; 0 leaves a storage out."""
    sizes = np.where(lives.on_gpu, -(-nbytes // BLOCK_BYTES) * BLOCK_BYTES, 0)
    steps = np.zeros(lives.count + 1, np.int64)
    np.add.at(steps, lives.born, sizes)
    np.add.at(steps, lives.freed, -sizes)  # freed before op `freed` begins
    bytes_at = np.cumsum(steps)[: lives.count]
    peak_op = int(np.argmax(bytes_at))
    alive = np.flatnonzero((lives.born <= peak_op) & (lives.freed > peak_op) & (sizes > 0))
    at_peak: dict[Role, int] = {}
    for storage, size in zip(alive.tolist(), sizes[alive].tolist(), strict=True):
        role = lives.roles[storage]
        at_peak[role] = at_peak.get(role, 0) + size
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
