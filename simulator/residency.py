"""What is still in L2 when it is read again: reuse distances over a step.

The reuse distance of an access is the traffic since the same storage was last touched. It depends
on the network alone; whether it fits depends on the GPU.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.records import Trace

NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Accesses:
    """One row an access of an op to a storage: bytes, and bytes of other traffic since the last.

    The distance of a first read is `NEVER`; that of a write is the write's own size, since a
    written line waits in L2 for its reader.
    """

    op: NDArray[np.int64]
    bytes: NDArray[np.int64]
    distance: NDArray[np.int64]
    ops: int

    def hot_share(self, l2_bytes: float) -> NDArray[np.float64]:
        """For each op the share of its bytes that an L2 of this size serves."""
        hot = np.where(self.distance <= l2_bytes, self.bytes, 0)
        total = np.bincount(self.op, self.bytes, self.ops)
        return np.bincount(self.op, hot, self.ops) / np.maximum(total, 1)


def accesses(trace: Trace, launching: NDArray[np.bool_]) -> Accesses:
    """Every access of the ops that launch kernels. Storages older than the step start cold, as in
    a repeated step whose traffic is many times L2."""
    rows: list[int] = []
    sizes: list[int] = []
    distances: list[int] = []
    last: dict[int, int] = {}
    bytes_of: dict[int, list[int]] = {}  # by signature: repeated layers share theirs
    traffic = 0
    for index in np.flatnonzero(launching).tolist():
        op = trace.ops[index]
        each = bytes_of.get(id(op.signature))
        if each is None:
            each = [t.nbytes for t in (*op.inputs, *op.outputs)]
            bytes_of[id(op.signature)] = each
        before, reads = traffic, len(op.inputs)
        traffic += sum(each)
        for place, (size, storage) in enumerate(zip(each, op.storages, strict=True)):
            seen = last.get(storage) if place < reads else before
            distances.append(NEVER if seen is None else before - seen + size)
            last[storage] = traffic
        rows += [index] * len(each)
        sizes += each
    return Accesses(
        np.array(rows, np.int64),
        np.array(sizes, np.int64),
        np.array(distances, np.int64),
        len(trace.ops),
    )
