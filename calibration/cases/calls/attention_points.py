"""Points of attention calls: masks, dtypes, widths, lengths, heads, batch."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

import torch
from torch import Tensor

DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
LENGTHS = {"square": (128, 128), "fewer": (64, 192), "odd": (77, 77), "decode": (1, 256)}
HEADS = {"equal": (4, 4, False), "grouped": (4, 2, True), "ungrouped": (4, 2, False)}
"""Number of query heads, number of key heads, and `enable_gqa`."""
GRID: dict[str, tuple[Any, ...]] = {
    "dtype": ("fp16", "bf16", "fp32"),
    "mask": (
        "none", "causal", "bool", "bool_rows", "bool_keys", "bool_stride0", "bool_one",
        "float", "float_rows", "float_stride0", "float_misaligned", "float_grad", "float32",
        "transposed_q",
    ),
    "width": (32, 64, 72, 80, 96, 128, 160, 256, 288, 33),
    "lengths": tuple(LENGTHS),
    "heads": tuple(HEADS),
    "batch": (1, 8),
}  # fmt: skip
POINTS = tuple(product(*(GRID[name] for name in ("width", "lengths", "heads", "batch"))))


@dataclass(frozen=True)
class Point:
    """One call of `scaled_dot_product_attention`."""

    dtype: str
    mask: str
    width: int
    lengths: str
    heads: str
    batch: int
    times: int = 1
    """Factor on the lengths and on the number of heads."""

    def record(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Operands:
    """`args` and `kwargs` for `torch._fused_sdp_choice`; `call` calls the function."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    call: dict[str, Any]


def operands(point: Point, device: str, training: bool) -> Operands:
    """Random tensors [batch, heads, length, width], laid out token by token."""
    torch.manual_seed(0)
    dtype = DTYPES[point.dtype]
    queries, keys = (n * (point.times if n > 1 else 1) for n in LENGTHS[point.lengths])
    heads, kv_heads, grouped = HEADS[point.heads]
    is_scaled = point.times > 1
    heads, kv_heads = (heads * 3, kv_heads * 3) if is_scaled else (heads, kv_heads)
    q, k, v = (
        torch.randn(point.batch, n, h, point.width, device=device, dtype=dtype).transpose(1, 2)
        for n, h in ((queries, heads), (keys, kv_heads), (keys, kv_heads))
    )
    if point.mask == "transposed_q":
        q = torch.randn(point.batch, heads, point.width, queries, device=device, dtype=dtype).mT
    q, k, v = (t.requires_grad_(training) for t in (q, k, v))
    mask = _mask(point, (point.batch, heads, queries, keys), dtype, device)
    causal = point.mask == "causal"
    options = {"is_causal": causal, "enable_gqa": grouped}
    return Operands(
        (q, k, v, mask, 0.0, causal), {"enable_gqa": grouped}, {"attn_mask": mask, **options}
    )


def _mask(
    point: Point, shape: tuple[int, int, int, int], dtype: torch.dtype, device: str
) -> Tensor | None:
    batch, _, queries, keys = shape
    if point.mask in ("none", "causal", "transposed_q"):
        return None
    if point.mask.startswith("bool"):
        whole = torch.rand(shape, device=device) < 0.9
        rows = whole[:, :1]
        return {
            "bool": lambda: whole,
            "bool_rows": lambda: rows.contiguous(),  # [batch, 1, queries, keys]
            "bool_keys": lambda: rows[:, :, :1].contiguous(),  # one row for all queries
            "bool_stride0": lambda: rows[..., :1].contiguous().expand(batch, 1, queries, keys),
            # one mask for the whole batch and all heads
            "bool_one": lambda: rows[:1].contiguous().expand(shape),
        }[point.mask]()
    mask_dtype = torch.float32 if point.mask == "float32" else dtype
    whole = torch.randn(shape, device=device, dtype=mask_dtype)
    rows = whole[:, :1]
    return {
        "float": lambda: whole,
        "float32": lambda: whole,
        "float_rows": lambda: rows.contiguous(),
        "float_stride0": lambda: rows[..., :1].contiguous().expand(batch, 1, queries, keys),
        "float_misaligned": lambda: torch.randn(
            batch, 1, queries, keys + 1, device=device, dtype=mask_dtype
        )[..., 1:],
        "float_grad": lambda: rows.contiguous().requires_grad_(),
    }[point.mask]()


def _timed() -> list[tuple[Point, bool]]:
    points: list[tuple[Point, bool]] = []
    for dtype, mask in product(GRID["dtype"], GRID["mask"]):
        points.append((Point(dtype, mask, 64, "square", "equal", 8, 4), False))
    for dtype, width in product(("bf16", "fp32"), (32, 80, 96, 128, 256, 33)):
        for mask in ("none", "causal", "bool_rows"):
            points.append((Point(dtype, mask, width, "square", "equal", 4, 4), False))
    for dtype, lengths, mask in product(
        ("bf16", "fp32"),
        ("fewer", "odd", "decode"),
        ("none", "causal", "bool_rows", "bool_stride0", "float_rows"),
    ):
        points.append((Point(dtype, mask, 64, lengths, "equal", 8, 4), False))
    for dtype, lengths, mask in product(
        ("bf16", "fp32"), ("square", "decode"), ("none", "causal", "bool_rows")
    ):
        points.append((Point(dtype, mask, 128, lengths, "grouped", 4, 4), False))
    for dtype, mask in product(
        ("bf16", "fp32"), ("none", "causal", "bool_rows", "bool_stride0", "float_rows")
    ):
        points.append((Point(dtype, mask, 64, "square", "equal", 8, 4), True))
    return points


TIMED = _timed()
"""Points whose kernels are read, and whether they have a backward pass."""
