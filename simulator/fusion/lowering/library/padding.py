"""Products whose rows no fast kernel can load, padded to multiples of 16 bytes if that pays
(torch/_inductor/fx_passes/pad_mm.py). Inductor times both variants; here both are predicted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from msgspec.structs import replace

from simulator.costs import Work
from simulator.hardware.gpu import GPU
from simulator.lowering import launches
from simulator.records import Signature, Tensor, row_major
from simulator.timing.profile import Profile
from simulator.timing.roofline import roofs

Seconds = Callable[[Sequence[Signature]], list[float]]
_BYTES = 16
_PAYS = 1.1  # minimum ratio of unpadded to padded time at which padding pays
PRODUCTS = ("aten.mm.default", "aten.addmm.default")


def timer(gpu: GPU, profile: Profile) -> Seconds:
    """A timer of ops, each alone with its operands in DRAM as in Inductor's benchmark."""

    def seconds(ops: Sequence[Signature]) -> list[float]:
        works: list[Work] = []
        ends: list[int] = [0]
        for op in ops:
            works += launches(op, gpu) or ()
            ends.append(len(works))
        times = roofs(works, gpu, profile).parts(np.zeros(len(works)), 0.0)
        return [float(sum(times.duration_s[begin:end])) for begin, end in pairwise(ends)]

    return seconds


def padded(op: Signature, free: Sequence[bool], seconds: Seconds) -> Signature | None:
    """The product on padded operands; None if it is not padded. `free[i]` is True if a loop writes
    operand i, since a loop can write padded rows at no cost."""
    if op.name not in PRODUCTS:
        return None
    item = op.inputs[-1].itemsize
    multiple = max(_BYTES // item, 1)
    if item > 4 or not any(size % multiple for t in op.inputs[-2:] for size in t.shape):
        return None
    wide = tuple(_wide(t, multiple) for t in op.inputs)
    wider = replace(op, inputs=wide, outputs=(_wide(op.out, multiple),))
    copies = (
        _concatenation(before, after)
        for before, after, fused in zip(op.inputs, wide, free, strict=True)
        if before.shape != after.shape and not fused
    )
    unpadded_s, *padded_s = seconds([op, wider, *copies])
    return wider if unpadded_s > _PAYS * sum(padded_s) else None


def _wide(tensor: Tensor, multiple: int) -> Tensor:
    shape = tuple(size if size == 1 else -(-size // multiple) * multiple for size in tensor.shape)
    if shape == tensor.shape:
        return tensor
    turned = len(shape) == 2 and tensor.stride[0] == 1 and tensor.stride[1] != 1
    stride = (1, shape[0]) if turned else row_major(shape)
    return replace(tensor, shape=shape, stride=stride)


def _concatenation(before: Tensor, after: Tensor) -> Signature:
    """The concatenation of zeros with which the eager benchmark pads an operand."""
    dim = next(d for d, size in enumerate(before.shape) if size != after.shape[d])
    edge = tuple(after.shape[d] - size if d == dim else size for d, size in enumerate(before.shape))
    zeros = Tensor(edge, before.dtype, row_major(edge))
    shape = tuple(before.shape[d] + (edge[d] if d == dim else 0) for d in range(len(edge)))
    out = Tensor(shape, before.dtype, row_major(shape))
    return Signature("aten.cat.default", (before, zeros), (out,), ("tensors",) * 2, {"dim": dim})
