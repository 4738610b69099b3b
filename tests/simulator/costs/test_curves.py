"""Each family without a variant selects its curve by its rule."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.costs import Work
from simulator.costs.curves import curve, curve_rule

GEMM = {"b": 1, "m": 64, "n": 64, "k": 64}
CURVES: list[tuple[str, dict[str, Any], str]] = [
    ("layout", {}, "layout"),
    ("conv", {"variant": "fwd_direct", "depthwise": False}, "conv_fwd_direct"),
    ("conv", {"depthwise": True, "direction": "fwd"}, "conv"),
    ("conv", {"depthwise": False, "direction": "wgrad"}, "conv_wgrad"),
    ("attention", {"backend": "flash", "direction": "bwd"}, "attention_flash_bwd"),
    ("pointwise", {"contiguous": True}, "pointwise"),
    ("pointwise", {"contiguous": False, "widens": True}, "pointwise_strided"),
    ("pointwise", {"contiguous": True, "widens": True}, "pointwise_widening"),
    ("copy", {"transposed": True}, "copy_transposed"),
    ("copy", {"transposed": False}, "copy"),
    ("concat", {"vectorized": True}, "concat_vectorized"),
    ("concat", {"vectorized": False}, "concat"),
    ("reduction", {"inner": 2}, "reduction_across"),
    ("reduction", {"inner": 1}, "reduction"),
    ("softmax", {"cols": 1024}, "softmax_warp"),
    ("softmax", {"cols": 1025}, "softmax"),
    ("memcpy", {"direction": "d2h"}, "memcpy_d2h"),
]


@pytest.mark.parametrize(("family", "dims", "expected"), CURVES)
def test_a_family_selects_its_curve(family: str, dims: dict[str, Any], expected: str) -> None:
    assert curve(Work(family, dims=dims)) == expected


@pytest.mark.parametrize(
    ("engine", "dtype", "dims", "expected"),
    [
        ("vector", "float32", {}, "gemm_vector"),
        ("vector", "float32", {"m": 1}, "gemv"),
        ("tensor", "bfloat16", {}, "gemm_tensor_half"),
        ("tensor", "bfloat16", {"align_bytes": 4}, "gemm_tensor_half_4"),
        ("tensor", "bfloat16", {"align_bytes": 2}, "gemm_tensor_half_2"),
        ("tensor", "bfloat16", {"m": 1, "align_bytes": 4}, "gemv"),
        ("tensor", "bfloat16", {"n": 1, "align_bytes": 8}, "gemv"),
        ("tensor", "float8_e4m3fn", {"m": 1, "align_bytes": 8}, "gemm_tensor_float8"),
        ("tensor", "float16", {"item_bytes": 0.5}, "gemm_tensor_packed"),
        ("tensor", "int8", {}, "gemm_tensor_int8"),
        ("tensor", "tf32", {}, "gemm_tensor_tf32"),
        ("tensor", "float8_e4m3fn", {}, "gemm_tensor_float8"),
    ],
)
def test_a_product_selects_its_curve_by_engine_dtype_and_alignment(
    engine: Any, dtype: str, dims: dict[str, Any], expected: str
) -> None:
    assert curve(Work("gemm", engine=engine, dtype=dtype, dims={**GEMM, **dims})) == expected


def test_a_family_has_one_rule() -> None:
    with pytest.raises(ValueError, match="'gemm' already has a curve rule"):
        curve_rule("gemm")(lambda work: "gemm")
