"""Add the buckets of DistributedDataParallel to the trace of a step on one rank.

DDP adds each gradient, divided by the number of ranks, to a bucket when autograd has computed it,
and reduces a bucket once it is full. The first bucket is full at 1 MiB and the others at 25 MiB, or
all at a size that the program gives. (This is torch's reducer after it has ordered the buckets by
the arrival of gradients.) The buckets outlive the step; afterwards each gradient is a view of its
bucket.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from simulator.caches.derived import Derived
from simulator.cluster.layout import BUCKET_BYTES
from simulator.records import Collective, Op, Signature, Storage, Tensor, Trace
from simulator.schedule.launch_plan import share_structure
from simulator.simulate.step import share_kernel_times

FIRST_BYTES = 2**20
_STREAM = 4
_VIEW_WORK = 91  # instructions before the first view that DDP returns to autograd


@dataclass(frozen=True)
class _Gradient:
    """A gradient: the op after which it is ready, its storage and its tensor."""

    ready: int
    storage: int
    tensor: Tensor


_GRADIENTS = Derived[list[_Gradient]]()


@dataclass(frozen=True)
class _Bucketed:
    """A step with buckets over these ranks, and the indices of the ops that depend on the ranks:
    copies into buckets, and all-reduces."""

    ranks: tuple[int, ...]
    trace: Trace
    copies: list[int]
    reduced: list[int]


_BUCKETED = Derived[_Bucketed](1)


def bucketed(trace: Trace, ranks: tuple[int, ...], bucket_bytes: float = BUCKET_BYTES) -> Trace:
    """The step with the all-reduces of DDP over these ranks."""
    gradients = _GRADIENTS.get(trace, lambda: _gradients(trace))
    if not gradients or len(ranks) < 2:
        return trace
    known = _BUCKETED.get(
        trace, lambda: _bucketed(trace, gradients, ranks, bucket_bytes), bucket_bytes
    )
    return known.trace if known.ranks == ranks else _over(known, ranks)


def _over(known: _Bucketed, ranks: tuple[int, ...]) -> Trace:
    """A step with buckets, over other ranks."""
    ops = list(known.trace.ops)
    signatures: dict[int, Signature] = {}
    for i in known.copies:
        own = ops[i].signature
        if id(own) not in signatures:
            signatures[id(own)] = msgspec.structs.replace(own, args={"other": 1 / len(ranks)})
        ops[i] = msgspec.structs.replace(ops[i], signature=signatures[id(own)])
    for i in known.reduced:
        collective = ops[i].collective
        assert collective is not None
        collective = msgspec.structs.replace(collective, ranks=ranks)
        ops[i] = msgspec.structs.replace(ops[i], collective=collective)
    other = msgspec.structs.replace(known.trace, ops=ops)
    share_structure(known.trace, other)
    share_kernel_times(known.trace, other)
    return other


def _bucketed(
    trace: Trace, gradients: list[_Gradient], ranks: tuple[int, ...], bucket_bytes: float
) -> _Bucketed:
    buckets = _buckets(gradients, bucket_bytes)
    of = {g.storage: number for number, bucket in enumerate(buckets) for g in bucket}
    full = {bucket[-1].ready: number for number, bucket in enumerate(buckets)}
    ready: dict[int, list[_Gradient]] = {}
    for g in gradients:
        ready.setdefault(g.ready, []).append(g)
    first = len(trace.storages)
    end = max(full)
    ops: list[Op] = []
    place_of: list[int] = []
    copies: list[int] = []
    reduced: list[int] = []
    signatures = _Signatures(len(ranks))
    for i, op in enumerate(trace.ops):
        place_of.append(len(ops))
        if op.after:
            after = tuple(q if q < 0 else place_of[q] for q in op.after)
            op = msgspec.structs.replace(op, after=after)
        if i > end and not of.keys().isdisjoint(op.storages):
            storages = tuple(first + of[s] if s in of else s for s in op.storages)
            op = msgspec.structs.replace(op, storages=storages)
        ops.append(op)
        for g in ready.get(i, ()):
            copies.append(len(ops))
            ops.append(signatures.copied(g, first + of[g.storage]))
        if i in full:
            number = full[i]
            ops.append(_reduced(buckets[number], first + number, ranks, len(ops) - 1))
            reduced.append(len(ops) - 1)
        if i == end:
            waits = tuple(reduced)
            for g in reversed(gradients):
                ops.append(signatures.view(g, first + of[g.storage], waits))
                waits = ()
    place_of.append(len(ops))
    copied = {g.storage: place_of[g.ready] + 2 for g in gradients}
    stored = [
        msgspec.structs.replace(
            s, freed=copied[n], role="activation", born=place_of[max(0, s.born)]
        )
        if n in copied
        else s.moved(place_of)
        for n, s in enumerate(trace.storages)
    ]
    stored += [
        Storage(sum(g.tensor.nbytes for g in bucket), -1, None, "gradient") for bucket in buckets
    ]
    other = msgspec.structs.replace(trace, ops=ops, storages=stored)
    share_kernel_times(trace, other)
    return _Bucketed(ranks, other, copies, reduced)


def _gradients(trace: Trace) -> list[_Gradient]:
    """Gradients in the order in which they are ready: after the last backward op on them."""
    last: dict[int, int] = {}
    tensors: dict[int, Tensor] = {}
    for i, op in enumerate(trace.ops):
        if op.phase != "backward":
            continue
        for s, t in zip(op.storages, (*op.inputs, *op.outputs), strict=True):
            if trace.storages[s].role == "gradient":
                last[s] = i
                if s not in tensors or t.nbytes >= tensors[s].nbytes:
                    tensors[s] = t
    return sorted((_Gradient(i, s, tensors[s]) for s, i in last.items()), key=lambda g: g.ready)


def _buckets(gradients: list[_Gradient], most: float) -> list[list[_Gradient]]:
    buckets: list[list[_Gradient]] = [[]]
    limit = FIRST_BYTES if most == BUCKET_BYTES else most
    size = 0
    for number, g in enumerate(gradients):
        buckets[-1].append(g)
        size += g.tensor.nbytes
        if size >= limit and number + 1 < len(gradients):
            buckets.append([])
            size, limit = 0, most
    return buckets


def _flat(bucket: list[_Gradient]) -> Tensor:
    return Tensor((sum(g.tensor.numel for g in bucket),), bucket[0].tensor.dtype, (1,))


class _Signatures:
    """The ops on single gradients; those of equal gradients share a signature."""

    def __init__(self, ranks: int) -> None:
        self._ranks = ranks
        self._copies: dict[Tensor, Signature] = {}
        self._views: dict[Tensor, Signature] = {}

    def copied(self, g: _Gradient, bucket: int) -> Op:
        """Copy a gradient, divided by the number of ranks, into its bucket."""
        signature = self._copies.get(g.tensor)
        if signature is None:
            signature = self._copies[g.tensor] = Signature(
                "aten.mul.out", (g.tensor, g.tensor), (g.tensor,), ("self", "out"),
                {"other": 1 / self._ranks}, (0, 1, 1),
            )  # fmt: skip
        return Op(signature, "", "backward", (g.storage, bucket, bucket))

    def view(self, g: _Gradient, bucket: int, waits: tuple[int, ...]) -> Op:
        """Make a gradient a view of its bucket."""
        signature = self._views.get(g.tensor)
        if signature is None:
            signature = self._views[g.tensor] = Signature(
                "aten.as_strided.default", (g.tensor,), (g.tensor,), ("self",), {}, (0, 0)
            )
        work = _VIEW_WORK if waits else 0
        return Op(signature, "", "backward", (bucket, bucket), instructions=work, after=waits)


def _reduced(bucket: list[_Gradient], storage: int, ranks: tuple[int, ...], last: int) -> Op:
    flat = _flat(bucket)
    signature = Signature("c10d.allreduce_.default", (flat,), (flat,), ("tensors",), {}, (0, 0))
    collective = Collective("all_reduce", sum(g.tensor.nbytes for g in bucket), ranks)
    return Op(
        signature, "", "backward", (storage, storage), stream=_STREAM, after=(last,),
        collective=collective,
    )  # fmt: skip
