"""Normalisation against hand-computed sums."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.costs import Work
from tests.simulator.costs.conftest import launched, sig

X = ((3, 8), "float32")
W = ((8,), "float32")
S = ((3, 1), "float32")
SHAPE = {"normalized_shape": [8], "eps": 1e-5}


def test_layer_norm_is_one_launch() -> None:
    (work,) = launched(
        sig("aten.native_layer_norm.default", [X, S, S], args=SHAPE, input=X, weight=W, bias=W)
    )
    # reads x of 3·8·4 = 96 bytes, weight and bias of 32 each; writes 96, mean and rstd of 12 each
    assert (work.read_bytes, work.write_bytes) == (160, 120)
    # per element, 4 FLOPs for the moments and 4 to apply them
    assert work.flops == 8 * 24
    assert work.dims == {
        "variant": "fused",
        "rows": 3,
        "cols": 8,
        "inner": 1,
        "runs": 3,
        "steps": 1,
        "itemsize": 4,
        "rms": False,
    }


def test_rows_of_seven_cannot_be_vectorized() -> None:
    x, w = ((3, 7), "float32"), ((7,), "float32")
    moments, apply = launched(
        sig(
            "aten.native_layer_norm.default",
            [x, S, S],
            args={"normalized_shape": [7]},
            input=x,
            weight=w,
            bias=w,
        )
    )
    # x of 84 bytes; then x, two statistics of 12, weight and bias of 28 each
    assert (moments.read_bytes, moments.write_bytes) == (84, 24)
    assert (apply.read_bytes, apply.write_bytes) == (84 + 24 + 56, 84)


def test_rms_norm_in_half() -> None:
    x, w = ((3, 8), "bfloat16"), ((8,), "bfloat16")
    op = sig("aten._fused_rms_norm.default", [x, S], args=SHAPE, input=x, weight=w)
    (work,) = launched(op)
    # 48 + 16 read, 48 + 12 written; a square and its sum, two multiplies
    assert (work.read_bytes, work.write_bytes, work.flops) == (64, 60, 4 * 24)


def layer_norm_backward(x: Any, statistics: Any, weight: Any) -> tuple[Work, ...]:
    return launched(
        sig(
            "aten.native_layer_norm_backward.default",
            [x, weight, weight],
            args={"normalized_shape": list(weight[0])},
            grad_out=x,
            input=x,
            mean=statistics,
            rstd=statistics,
            weight=weight,
            bias=weight,
        )
    )


def test_layer_norm_backward_is_two_launches() -> None:
    kernels = layer_norm_backward(X, S, W)
    # gradient and input of 96 bytes each, statistics of 12 each, weight of 32; the second kernel
    # reads no weight
    assert [w.read_bytes for w in kernels] == [248, 216]
    assert [w.write_bytes for w in kernels] == [96, 64]


def test_tall_gradients_of_weight_and_bias_take_a_second_pass() -> None:
    x, s = ((70_000, 96), "float32"), ((70_000, 1), "float32")
    w = ((96,), "float32")
    kernels = layer_norm_backward(x, s, w)
    assert [w.family for w in kernels] == ["norm", "weight_gradient", "reduction", "reduction"]
    # a warp sums 32 rows of 32 columns: 2,188 partial rows of 96·4 bytes each for weight and bias
    assert kernels[1].dims["runs"] == 3 * 2188
    assert (kernels[1].write_bytes, kernels[2].read_bytes) == (2 * 2188 * 384, 2188 * 384)


@pytest.mark.parametrize(
    ("rows", "steps", "threads"), [(3, 1, 64), (112, 2, 512), (220, 2, 1024), (3110, 13, 2048)]
)
def test_warps_of_a_weight_gradient(rows: int, steps: int, threads: int) -> None:
    x, s, w = ((rows, 96), "float32"), ((rows, 1), "float32"), ((96,), "float32")
    kernels = layer_norm_backward(x, s, w)
    dims = kernels[1].dims
    assert (dims["blocks"], dims["steps"], dims["threads"]) == (3, steps, threads)


IMAGE = ((2, 4, 3, 3), "float32")
C = ((4,), "float32")
GROUPS = {"N": 2, "C": 4, "HxW": 9, "group": 2, "eps": 1e-5}
G = ((2, 2), "float32")


def test_group_norm_is_three_launches() -> None:
    kernels = launched(
        sig(
            "aten.native_group_norm.default",
            [IMAGE, G, G],
            args=GROUPS,
            input=IMAGE,
            weight=C,
            bias=C,
        )
    )
    # x of 288 bytes, statistics of 2·16, weight and bias of 2·16; then x, and a scale and a shift
    # of 2·4·4 each
    assert [w.read_bytes for w in kernels] == [288, 64, 352]
    assert [w.write_bytes for w in kernels] == [32, 64, 288]


def test_group_norm_backward_is_five_launches() -> None:
    kernels = launched(
        sig(
            "aten.native_group_norm_backward.default",
            [IMAGE, C, C],
            args=GROUPS,
            grad_out=IMAGE,
            input=IMAGE,
            mean=G,
            rstd=G,
            weight=C,
        )
    )
    assert len(kernels) == 5
    assert kernels[-1].write_bytes == 32


def test_weight_norm_along_the_last_dimension_has_few_blocks() -> None:
    v, g = ((768, 48, 128), "float16"), ((1, 1, 128), "float16")
    (work,) = launched(
        sig("aten._weight_norm_interface.default", [v, g], args={"dim": 2}, v=v, g=g)
    )
    # 128 norms, 16 per block; 64 threads handle 768·48 = 36,864 elements of each norm, twice
    assert (work.dims["blocks"], work.dims["steps"]) == (8, 1152)
    (whole,) = launched(
        sig("aten._weight_norm_interface.default", [v, g], args={"dim": 0}, v=v, g=g)
    )
    assert "steps" not in whole.dims
