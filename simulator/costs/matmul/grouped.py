"""Grouped matrix products: one for each expert of a mixture."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec.structs import replace

from simulator.costs.kernels.launches import pointwise, to_host
from simulator.costs.matmul.products import gemm
from simulator.costs.matmul.routing import groups_with_rows
from simulator.costs.registry import Work, cost
from simulator.records import Signature, Tensor
from simulator.varying import in_arrays


def grouped_by_host(op: Signature) -> bool:
    """Whether the host calls one product per group."""
    grouped = op.name == "aten._grouped_mm.default" and op.get("offs") is not None
    return grouped and op["self"].dtype != "bfloat16"


@cost("aten._grouped_mm.default", waits=grouped_by_host)
@cost("aten._scaled_grouped_mm.default", "aten._scaled_grouped_mm_v2.default")
def grouped_mm(op: Signature) -> tuple[Work, ...]:
    """One product per group. The sizes of the groups depend on the data; only their sum is known
    from shapes. The weights of groups without rows are not read (`simulator.costs.matmul.routing`).

    [M, k] @ [g, k, n] -> [M, n]      M is split over the groups
    [g, m, k] @ [k, N] -> [m, N]      N is split
    [m, K] @ [K, n]    -> [g, m, n]   K is split
    A small kernel first computes the pointers of each group (ATen/native/cuda/GroupMM.cu). For
    dtypes other than bf16 and fp8 the host reads the group ends and calls one product per group
    (ATen/native/GroupedMMUtils.h, `_grouped_mm_fallback`); all groups are then assumed to have the
    mean size.
    """
    a, b = op["self"], op["mat2"]
    m, k, n = a.shape[-2], a.shape[-1], b.shape[-1]
    if a.dtype.endswith("_x2"):
        k = 2 * k
    if len(a.shape) == len(b.shape) == 3:
        return gemm(op, a, b, batch=a.shape[0], m=m, n=n, k=k)
    groups = next((t.shape[0] for t in (a, b, op.out) if len(t.shape) == 3), 1)
    if grouped_by_host(op):
        return _host_products(op, m, n, k, groups)
    split = "rows" if len(b.shape) == 3 else "columns" if len(a.shape) == 3 else "depth"
    (*copies, product) = gemm(op, a, b, batch=1, m=m, n=n, k=k, groups=groups, split=split)
    if b.itemsize < a.itemsize:
        packed = {"item_bytes": b.nbytes / (groups * n * k)}
        product = replace(product, dims=product.dims | packed)
    if split != "depth":
        weights, lines = (b, m) if split == "rows" else (a, n)
        scales = op.get("scales") or op.get("scale_b")
        weight_bytes = weights.nbytes + (0 if scales is None else scales.nbytes)
        unread = _unread_bytes(weight_bytes, lines, groups)
        product = replace(product, read_bytes=product.read_bytes - unread)
    if op.arg("fused", False):  # a serving engine's kernel computes the rows of a group itself
        return (*copies, replace(product, dims=product.dims | {"fused": True}))
    # three pointers of 8 bytes, a problem of 3·4 bytes and three strides of 8 bytes per group
    setup = pointwise(groups, 4 * groups, 60 * groups)
    return (*copies, setup, product)


@in_arrays
def _unread_bytes(weight_bytes: Any, rows: Any, groups: Any) -> Any:
    """Bytes of the weights of groups without rows."""
    share = 1 - groups_with_rows(rows, groups) / groups
    return np.rint(np.asarray(weight_bytes, np.float64) * share).astype(np.int64)


def _host_products(op: Signature, m: int, n: int, k: int, groups: int) -> tuple[Work, ...]:
    """Copy the group ends to the host, then run equal products over the split dimension."""
    a, b = op["self"], op["mat2"]
    if len(a.shape) == len(b.shape):
        k = -(-k // groups)
    elif len(a.shape) == 2:
        m = -(-m // groups)
    else:
        n = -(-n // groups)
    left, right, out = (
        Tensor((rows, columns), a.dtype, strides)
        for rows, columns, strides in (
            (m, k, a.stride[-2:]),
            (k, n, b.stride[-2:]),
            (m, n, op.out.stride[-2:]),
        )
    )
    product_op = Signature("aten.mm.out", (left, right), (out,), ("self", "mat2"), {})
    products = gemm(product_op, left, right, batch=1, m=m, n=n, k=k)
    return (to_host(op["offs"].nbytes), *products * groups)
