"""Kernels of matrix products, against what cuBLAS launched on an H200."""

from __future__ import annotations

import pytest

from simulator.costs import Work
from simulator.hardware.gpu import gpu
from simulator.lowering.product import product
from tests.simulator.costs.conftest import sig


def lowered(
    m: int,
    n: int,
    k: int,
    dtype: str = "bfloat16",
    batch: int = 1,
    align_bytes: int | None = 16,
    bias: bool = False,
    card: str = "h200",
) -> tuple[Work, ...]:
    size = 4 if dtype in ("float32", "tf32") else 1 if dtype in ("int8", "float8_e4m3fn") else 2
    work = Work(
        "gemm",
        2 * batch * m * n * k,
        size * batch * (m * k + k * n),
        size * batch * m * n,
        "vector" if dtype == "float32" else "tensor",
        dtype,
        dims={
            "b": batch,
            "m": m,
            "n": n,
            "k": k,
            "transa": False,
            "transb": True,
            "epilogue": "bias" if bias else None,
            **({} if align_bytes is None else {"align_bytes": align_bytes}),
        },
    )
    op = sig("aten.mm.default")
    return product(op, work, gpu(card))


def families(*sizes: int, **arguments: int | None) -> list[str]:
    return [w.family for w in lowered(*sizes, **arguments)]  # pyright: ignore[reportArgumentType]


SPLIT, COUNTED, PLAIN = ["gemm", "reduction"], ["fill", "gemm"], ["gemm"]
BY_DEPTH = ["fill", "pointwise", "gemm", "pointwise"]


@pytest.mark.parametrize(
    ("arguments", "kernels"),
    [
        (dict(m=1, n=5376, k=11392), SPLIT),
        (dict(m=2, n=832, k=10880, bias=True), SPLIT),  # bulk loads also work with a bias
        (dict(m=2, n=832, k=10880, bias=True, align_bytes=None), SPLIT),  # alignment unknown
        (dict(m=5, n=896, k=1472, bias=True), PLAIN),
        (dict(m=8, n=256, k=3072, batch=6), PLAIN),  # a batch has enough blocks
        (dict(m=10112, n=10048, k=7168), COUNTED),
        (dict(m=1024, n=5440, k=64), PLAIN),  # with one tile size it fits in two waves
        (dict(m=806, n=2496, k=1216, batch=12, align_bytes=4), PLAIN),
        (dict(m=1024, n=56, k=537, dtype="float16", align_bytes=2), SPLIT),
        (dict(m=448, n=15360, k=7533, align_bytes=2, bias=True), PLAIN),
        (dict(m=256, n=768, k=768, dtype="float32"), SPLIT),
        (dict(m=1024, n=3072, k=768, dtype="float32"), PLAIN),
        (dict(m=116, n=64, k=64, dtype="float32", bias=True), BY_DEPTH),
        # the depth of a batch is not split
        (dict(m=116, n=64, k=64, dtype="float32", batch=2, bias=True), PLAIN),
        (dict(m=1, n=2496, k=9152, dtype="float32", bias=True), PLAIN),  # a matrix times a vector
        (dict(m=64, n=64, k=64, dtype="tf32"), SPLIT),
        (dict(m=640, n=384, k=1664, batch=9, dtype="tf32"), PLAIN),
        (dict(m=14336, n=5888, k=8384, dtype="tf32"), COUNTED),
        (dict(m=7856, n=4928, k=416, dtype="int8"), PLAIN),
        (dict(m=48, n=4224, k=7104, dtype="int8"), PLAIN),
        (dict(m=48, n=1280, k=13440, dtype="float8_e4m3fn"), SPLIT),
        (dict(m=16, n=576, k=1216, dtype="float8_e4m3fn"), PLAIN),
    ],
)
def test_kernels(arguments: dict[str, int | None], kernels: list[str]) -> None:
    assert families(**arguments) == kernels


def test_small_biased_products_of_single_precision_share_the_depth() -> None:
    # 1.8e6 multiplications (100·100·180) are the maximum
    clear, touch, _, again = lowered(100, 100, 180, "float32", bias=True)
    assert (clear.write_bytes, touch.instructions, again.instructions) == (4, 10_000, 10_000)
    assert [w.family for w in lowered(100, 100, 181, "float32", bias=True)] != BY_DEPTH


def test_only_hopper_has_counters() -> None:
    (only,) = lowered(4096, 4096, 4096, card="a100_sxm_80")
    assert only.family == "gemm"


def test_very_long_thin_products_have_tiles_of_32() -> None:
    (thin,) = lowered(2_458_624, 4, 4, align_bytes=8)
    assert thin.dims["variant"] == "tensor_half_thin"
    (deep,) = lowered(2_458_624, 4, 64, align_bytes=8)
    assert deep.dims["variant"] == "tensor_half_thin"
    for other in (
        lowered(2_458_624, 8, 8),
        lowered(100_000, 4, 4, align_bytes=8),
        lowered(2_458_624, 4, 68, align_bytes=8),
    ):
        assert "variant" not in other[-1].dims


def test_few_rows_of_single_precision_wait_along_their_lines() -> None:
    (few,) = lowered(6, 17, 2555, "float32", bias=True)
    assert (few.dims["variant"], few.dims["steps"]) == ("few", 20)  # 2,555 / 128
    # without a bias and above a depth of 128, only with 768 outputs or more
    assert lowered(6, 768, 200, "float32")[0].dims.get("variant") == "few"
    assert lowered(6, 767, 200, "float32")[0].dims.get("variant") != "few"
