"""The tiles of grouped products, by ATen's rule."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.costs import Work, works
from simulator.costs.curves import curve
from simulator.hardware.gpu import gpu
from simulator.lowering.grouped_product import grouped_kernel
from simulator.lowering.lower import lower_op
from simulator.tracing import trace_call


def work(m: int, n: int, k: int, dtype: str = "bfloat16", split: str = "rows", **dims: Any) -> Work:
    sizes = {"b": 1, "m": m, "n": n, "k": k, "groups": 8, "split": split}
    return Work("gemm", flops=2 * m * n * k, engine="tensor", dtype=dtype, dims=sizes | dims)


def tiles(kernel: Work) -> tuple[str, int, int, int, int]:
    d = kernel.dims
    return curve(kernel), round(d["b"]), d["m"], d["n"], d["k"]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        # 1,024 rows per group: 4 clusters of 2 · 128 rows; unequal groups add half a cluster
        (work(8192, 1000, 64), ("gemm_grouped", 36, 256, 1024, 64)),
        (work(8192, 128, 64), ("gemm_grouped_small", 68, 128, 128, 64)),  # few columns
        (work(800, 1000, 64), ("gemm_grouped_small", 8, 128, 1024, 64)),
        (work(800, 1000, 64, "float8_e4m3fn"), ("gemm_grouped_float8_small", 8, 128, 1024, 64)),
        (work(800, 1200, 64, "float8_e4m3fn"), ("gemm_grouped_float8_small", 8, 128, 1280, 64)),
        (work(1000, 8192, 64, split="columns"), ("gemm_grouped", 36, 256, 1024, 64)),
        (work(300, 300, 8000, split="depth"), ("gemm_grouped", 8, 512, 512, 1024)),
        # serving engines: 10 rows per group in a tile of 16, 100 rows in two tiles of 64
        (work(80, 1000, 64, fused=True), ("gemm_tensor_half", 8, 16, 1000, 64)),
        (work(800, 1000, 64, item_bytes=0.5), ("gemm_tensor_packed", 16, 64, 1000, 64)),
    ],
)
def test_tiles_of_groups(call: Work, expected: tuple[str, int, int, int, int]) -> None:
    name, rows_of_tiles, *sizes = expected
    kernel, count, *others = tiles(grouped_kernel(call))
    assert (kernel, others) == (name, sizes)
    assert count == pytest.approx(rows_of_tiles, rel=0.08)
    assert grouped_kernel(call).flops == call.flops


def test_a_traced_grouped_product_has_its_own_curve() -> None:
    import torch

    def make() -> Any:
        x, w = torch.randn(64, 32, dtype=torch.bfloat16), torch.randn(8, 32, 48).bfloat16()
        ends = torch.arange(8, 65, 8, dtype=torch.int32)
        return lambda: torch.ops.aten._grouped_mm(x, w, ends)

    (op,) = trace_call(make).ops
    setup, product = lower_op(op.signature, works(op.signature), gpu("h200"))
    assert (curve(setup), curve(product)) == ("pointwise", "gemm_grouped_small")
