"""Products of one row or one column, which max-autotune writes as sums of products.

`torch.compile(mode="max-autotune")` turns on coordinate descent tuning, and Inductor then
decomposes such an `mm` or `bmm` into `(a.unsqueeze(2) * b.unsqueeze(0)).sum(1)`
(torch/_inductor/decomposition.py). The op that makes an operand, such as the conversion of 8-bit
weights, then fuses into that loop: the weights are read once, in 8 bits. By default a product is a
library call, which reads the converted weights from memory.
"""

from __future__ import annotations

from msgspec.structs import replace

from simulator.fusion.passes.joint_graph import JointGraph
from simulator.records import Op, Signature, Storage, Tensor, row_major

_PRODUCTS = ("aten.mm.default", "aten.bmm.default")


def dot_products(joint: JointGraph) -> JointGraph:
    """The step with these products as a multiplication and a sum; unchanged without them."""
    trace = joint.trace
    if not any(map(_is_one, trace.ops)):
        return joint
    ops: list[Op] = []
    source: list[int] = []
    place: list[int] = []
    fresh: list[Storage] = []
    kinds: dict[int, tuple[Signature, Signature]] = {}
    for index, op in enumerate(trace.ops):
        place.append(len(ops))
        source.append(joint.source[index] if joint.source else index)
        if not _is_one(op):
            ops.append(op)
            continue
        source.append(source[-1])
        products, total = kinds.setdefault(id(op.signature), _products_and_sums(op.signature))
        between = len(trace.storages) + len(fresh)
        *operands, result = op.storages
        fresh.append(Storage(products.out.nbytes, len(ops), len(ops) + 2, "activation"))
        ops.append(replace(op, signature=products, storages=(*operands, between)))
        ops.append(Op(total, op.module, op.phase, (between, result)))
    place.append(len(ops))
    storages = [s.moved(place) for s in trace.storages]
    members = {place[op]: of for op, of in joint.members.items()}
    return JointGraph(trace.with_ops(ops, [*storages, *fresh], place), source, members)


def _is_one(op: Op) -> bool:
    if op.name not in _PRODUCTS:
        return False
    a, b = op.inputs
    return a.shape[-2] == 1 or b.shape[-1] == 1


def _products_and_sums(op: Signature) -> tuple[Signature, Signature]:
    """[..., m, k] · [..., k, n] as products and their sums over k: [..., m, n, k] if the second
    operand is column-major, so that each sum reads a row, else [..., m, k, n]."""
    a, b = op.inputs
    (m, k), n = a.shape[-2:], b.shape[-1]
    by_line = b.stride[-2] == 1
    inner, summed = ((n, k), -1) if by_line else ((k, n), -2)
    products = replace(op.out, shape=(*a.shape[:-2], m, *inner))
    products = replace(products, stride=row_major(products.shape))
    place = len(a.shape) - 1  # position of a's new dimension, before or after k
    left = _unsqueezed(a, place if by_line else place + 1)
    right = _unsqueezed(_turned(b) if by_line else b, place - 1)
    total = {"dim": [summed % len(products.shape)]}
    return (
        Signature("aten.mul.Tensor", (left, right), (products,), ("self", "other"), {}),
        Signature("aten.sum.dim_IntList", (products,), (op.out,), ("self",), total),
    )


def _unsqueezed(of: Tensor, dim: int) -> Tensor:
    """The tensor with a dimension of size 1 before `dim`."""
    shape, stride = of.shape, of.stride
    return replace(
        of, shape=(*shape[:dim], 1, *shape[dim:]), stride=(*stride[:dim], 1, *stride[dim:])
    )


def _turned(of: Tensor) -> Tensor:
    """The tensor with its last two dimensions transposed."""
    shape, stride = of.shape, of.stride
    return replace(
        of, shape=(*shape[:-2], shape[-1], shape[-2]), stride=(*stride[:-2], stride[-1], stride[-2])
    )
