"""Products, convolutions and windows, kernel by kernel, against hand-computed figures."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.records import Tensor
from tests.simulator.costs.conftest import launched, sig, sums

F32, F64, HALF = "float32", "float64", "bfloat16"


def product(dtype: str, c: Any, n: int = 6, **args: Any) -> Any:
    a, b = ((4, 8), dtype), ((8, n), dtype)
    return launched(sig("aten.addmm.default", ((4, n), dtype), None, args, self=c, mat1=a, mat2=b))


def test_a_bias_is_added_by_the_product_itself() -> None:
    (work,) = product(HALF, ((6,), HALF))
    # 64 + 96 + 12 bytes; on tensor cores, no vector instructions are counted
    assert sums([work]) == [("gemm", 384, 172, 48, 0)]
    assert work.dims["epilogue"] == "bias"
    assert (work.engine, work.dims["align_bytes"]) == ("tensor", 4)
    (double,) = product(F64, ((6,), F64))
    assert (double.engine, double.instructions) == ("vector", 192)


@pytest.mark.parametrize(
    ("c", "n", "args"),
    [
        (((4, 6), HALF), 6, {}),  # a matrix
        (((6,), HALF), 6, {"beta": 2}),
        (((1,), HALF), 1, {}),  # a product of one column
        (Tensor((6,), HALF, (2,)), 6, {}),
    ],
)
def test_other_addends_are_copied_into_the_result(c: Any, n: int, args: dict[str, Any]) -> None:
    copied, work = product(HALF, c, n, **args)
    assert copied.write_bytes == 8 * n
    assert work.dims["epilogue"] is None
    # the operands and the copy
    assert work.read_bytes == 64 + 16 * n + 8 * n


def test_two_columns_have_a_bias() -> None:
    (work,) = product(HALF, ((2,), HALF), 2)
    assert work.dims["epilogue"] == "bias"


def test_an_addend_times_zero_is_not_read() -> None:
    (work,) = product(HALF, ((4, 6), HALF), beta=0)
    assert work.read_bytes == 160
    out = ((4, 6), HALF)
    (into,) = launched(
        sig("aten.addmm_.default", out, (0, 1, 2, 0), {}, self=out, mat1=((4, 8), HALF),
            mat2=((8, 6), HALF))
    )  # fmt: skip
    assert into.read_bytes == 208


def test_activations_are_part_of_the_product() -> None:
    for args, name in (({}, "relu"), ({"use_gelu": True}, "gelu")):
        (work,) = launched(
            sig("aten._addmm_activation.default", ((4, 6), HALF), None, args, self=((6,), HALF),
                mat1=((4, 8), HALF), mat2=((8, 6), HALF))
        )  # fmt: skip
        assert work.dims["activation"] == name


def test_matrices_of_a_batch_are_added_one_by_one() -> None:
    a, b, c = ((3, 4, 8), F32), ((3, 8, 6), F32), ((4, 6), F32)
    name = "aten.addbmm.default"
    copied, *works = launched(sig(name, c, None, {}, self=c, batch1=a, batch2=b))
    assert copied.write_bytes == 96
    # (32 + 48)·4 bytes for each product, and the sum so far
    assert sums(works) == [("gemm", 384, 320 + 96, 96, 192)] * 3
    assert {k: works[0].dims[k] for k in "bmnk"} == {"b": 1, "m": 4, "n": 6, "k": 8}
    assert len(launched(sig(name, c, None, {"beta": 0}, self=c, batch1=a, batch2=b))) == 3
    assert len(launched(sig("aten.addbmm_.default", c, None, {}, self=c, batch1=a, batch2=b))) == 3


def test_two_numbers_of_four_bits_are_a_byte() -> None:
    a, b = ((16, 32), "float4_e2m1fn_x2"), ((32, 8), "float4_e2m1fn_x2")
    (work,) = launched(sig("aten._scaled_mm.default", ((16, 8), HALF), None, {}, self=a, mat2=b))
    # a depth of 64: 2·16·8·64 FLOPs
    assert (work.flops, work.dims["k"]) == (16384, 64)
    assert work.dims["epilogue"] is None
    (biased,) = launched(
        sig("aten._scaled_mm.default", ((16, 8), HALF), None, {}, self=a, mat2=b, bias=((8,), HALF))
    )
    assert biased.dims["epilogue"] == "bias"


def test_packed_weights_are_read_as_they_lie() -> None:
    a, out = ((16, 64), HALF), ((16, 32), HALF)
    (eight,) = launched(
        sig("aten._weight_int8pack_mm.default", out, None, {}, self=a, mat2=((32, 64), "int8"),
            scales=((32,), HALF))
    )  # fmt: skip
    assert (eight.flops, eight.dims["item_bytes"]) == (65536, 1)
    assert eight.read_bytes == 2048 + 2048 + 64


def test_a_matrix_meets_a_vector() -> None:
    matrix, vector, out = ((300, 200), F32), ((200,), F32), ((300,), F32)
    (work,) = launched(sig("aten.mv.default", out, None, {}, self=matrix, vec=vector))
    assert sums([work]) == [("gemv", 120000, 240800, 1200, 60000)]
    # a dot product for each of 300 rows, in two steps of 128
    assert work.dims == {
        "b": 1, "m": 300, "n": 1, "k": 200, "transa": False, "transb": False, "epilogue": None,
        "align_bytes": 16, "runs": 300, "steps": 2,
    }  # fmt: skip
    turned = Tensor((300, 200), F32, (1, 300))
    (work,) = launched(sig("aten.mv.default", out, None, {}, self=turned, vec=vector))
    assert work.dims["transa"]
    name = "aten.addmv.default"
    inputs: dict[str, Any] = {"self": out, "mat": matrix, "vec": vector}
    copied, work = launched(sig(name, out, None, {}, **inputs))
    assert (copied.write_bytes, work.read_bytes) == (1200, 242000)
    (scaled,) = launched(sig(name, out, None, {"beta": 0}, **inputs))
    assert scaled.read_bytes == 240800


def test_a_dot_product_is_reduced_in_two_steps() -> None:
    for n, blocks, each in ((1000, 8, 125), (100_000, 128, 782)):
        x = ((n,), F32)
        kernels = launched(sig("aten.dot.default", ((), F32), None, {}, self=x, tensor=x))
        assert sums(kernels) == [
            ("reduction", 2 * blocks * each, 8 * n, 4 * blocks, 3 * blocks * each),
            ("reduction", blocks, 4 * blocks, 4, 2 * blocks),
        ]
        assert kernels[0].dims == {"rows": blocks, "cols": each, "inner": 1}
    none = ((0,), F32)
    (zero,) = launched(sig("aten.dot.default", ((), F32), None, {}, self=none, tensor=none))
    assert sums([zero]) == [("fill", 0, 0, 4, 2)]


def test_an_outer_product_is_added_element_by_element() -> None:
    out, column, row = ((30, 20), F32), ((30,), F32), ((20,), F32)
    (work,) = launched(sig("aten.addr.default", out, None, {}, self=out, vec1=column, vec2=row))
    assert sums([work]) == [("pointwise", 1800, 2600, 2400, 600 * 7)]


X, W, OUT = ((2, 6, 10, 12), F32), ((8, 3, 3, 5), F32), ((2, 8, 8, 8), F32)
GEOMETRY = {"stride": [1], "padding": [0, 0], "dilation": [1, 1], "groups": 2}
# 2 FLOPs · 2·8·8 positions · 8·3·3·5 weights
FLOPS = 2 * 128 * 360


def test_a_convolution_meets_each_weight_at_each_position() -> None:
    (work,) = launched(
        sig("aten.convolution.default", OUT, None, {**GEOMETRY, "transposed": False}, input=X,
            weight=W)
    )  # fmt: skip
    assert sums([work]) == [("conv", FLOPS, 5760 + 1440, 4096, 0)]
    assert work.dims == {
        "direction": "fwd", "n": 2, "cin": 6, "cout": 8, "spatial_in": (10, 12),
        "spatial_out": (8, 8), "kernel": (3, 5), "stride": (1, 1), "dilation": (1, 1), "groups": 2,
        "depthwise": False, "channels_last": False, "dims": 2, "transposed": False,
        "native": False,
    }  # fmt: skip


def test_a_transposed_convolution_is_the_gradient_of_another() -> None:
    weight = ((8, 3, 3, 5), F32)
    (work,) = launched(
        sig("aten.convolution.default", X, None, {**GEOMETRY, "transposed": True}, input=OUT,
            weight=weight)
    )  # fmt: skip
    # the product has a row for each of its input's 8·8 positions
    assert (work.flops, work.dims["direction"]) == (FLOPS, "dgrad")
    assert (work.dims["cin"], work.dims["cout"]) == (6, 8)
    assert (work.dims["spatial_in"], work.dims["spatial_out"]) == ((10, 12), (8, 8))


def test_gradients_of_a_convolution() -> None:
    inputs: dict[str, Any] = {"grad_output": OUT, "input": X, "weight": W}
    name = "aten.convolution_backward.default"
    args = {**GEOMETRY, "transposed": False}
    outs = [X, W, ((8,), F32)]
    kernels = launched(sig(name, outs, None, {**args, "output_mask": [True] * 3}, **inputs))
    assert sums(kernels) == [
        ("conv", FLOPS, 4096 + 1440, 5760, 0),
        ("conv", FLOPS, 4096 + 5760, 1440, 0),
        ("reduction", 1024, 4096, 32, 2048),
    ]
    assert [w.dims["direction"] for w in kernels[:2]] == ["dgrad", "wgrad"]
    (one,) = launched(
        sig(name, outs, None, {**args, "output_mask": [False, True, False]}, **inputs)
    )
    assert one.dims["direction"] == "wgrad"
    turned = launched(
        sig(name, outs, None, {**GEOMETRY, "transposed": True, "output_mask": [True, True, False]},
            grad_output=X, input=OUT, weight=W)
    )  # fmt: skip
    assert [w.dims["direction"] for w in turned] == ["fwd", "wgrad"]


def window(name: str, out: Any, args: dict[str, Any], **inputs: Any) -> Any:
    return launched(sig(f"aten.{name}.default", out, None, args, **inputs))


def test_windows_of_a_pool() -> None:
    x, small = ((2, 6, 12, 12), F32), ((2, 6, 4, 4), F32)
    (work,) = window("avg_pool2d", small, {"kernel_size": [3, 2]}, self=x)
    # 192 outputs of 6 taps, each tap loaded by two instructions; 4 more instructions per output
    assert sums([work]) == [("pool", 1152, 192 * 6 * 4, 768, 192 * 16)]
    (back,) = window("avg_pool2d_backward", x, {"kernel_size": [3, 3]}, grad_output=small, self=x)
    # 192·9 taps for 1,728 inputs: one each
    assert sums([back]) == [("pool", 1728, 768, 6912, 1728 * 6)]
    (wide,) = window("avg_pool2d_backward", small, {"kernel_size": 3}, grad_output=x, self=small)
    assert wide.dims["taps"] == 81
    last = Tensor((2, 6, 12, 12), F32, (864, 1, 72, 6))
    places = ((2, 6, 4, 4), "int64")
    (work,) = window("max_pool2d_with_indices", [small, places], {"kernel_size": 3}, self=last)
    assert (work.dims["variant"], work.dims["channels_last"], work.dims["taps"]) == (
        "max_last",
        True,
        9,
    )
    zeros, work = window(
        "max_pool2d_with_indices_backward", x, {"kernel_size": 3}, grad_output=small, self=x,
        indices=places,
    )  # fmt: skip
    assert sums([zeros, work]) == [
        ("fill", 0, 0, 6912, 3456),
        ("pool", 192, 768 + 1536, 6912, 1728 * 6),  # one thread per input
    ]
    assert work.dims["elements"] == 1728


def test_adaptive_windows_have_a_block_a_plane() -> None:
    x, small = ((2, 6, 12, 12), F32), ((2, 6, 5, 5), F32)
    (work,) = window("_adaptive_avg_pool2d", small, {}, self=x)
    # 3 × 3 inputs per output; 32 lanes for each of the 5 rows of 12 planes, 5 of which work
    assert sums([work]) == [("pool", 2700, 6912, 1200, 1920 * 22)]
    assert (work.dims["steps"], work.dims["places"], work.dims["runs"]) == (9, 213, 12)
    zeros, back = window("_adaptive_avg_pool2d_backward", x, {}, grad_output=small, self=x)
    # 12 is no multiple of 5: windows overlap, and each output adds to its 9 inputs atomically
    assert sums([zeros, back]) == [
        ("fill", 0, 0, 6912, 3456),
        ("pool", 2700, 1200 + 6912, 6912, 1920 * 22),
    ]
    assert (back.dims["variant"], back.dims["steps"]) == ("adaptive_atomic", 9)
    half, small_half = ((2, 6, 12, 12), "float16"), ((2, 6, 5, 5), "float16")
    _, back = window("_adaptive_avg_pool2d_backward", half, {}, grad_output=small_half)
    assert back.dims["steps"] == 54
    even = ((2, 6, 6, 6), F32)
    _, back = window("_adaptive_avg_pool2d_backward", x, {}, grad_output=even, self=x)
    # one thread covers the 144 positions of a plane
    assert sums([back]) == [("pool", 1728, 1728, 6912, 1728 * 6)]
    assert (back.dims["steps"], back.dims["places"], back.dims["runs"]) == (144, 12, 12)
    zeros, unpooled = window("max_unpool2d", x, {}, self=small, indices=((2, 6, 5, 5), "int64"))
    assert sums([zeros, unpooled]) == [
        ("fill", 0, 0, 6912, 3456),
        ("pool", 300, 1200 + 2400, 1200, 1800),
    ]


def test_windows_as_columns_and_back() -> None:
    x, columns = ((2, 6, 12, 12), F32), ((2, 54, 16), F32)
    squares = {"kernel_size": [3, 3], "stride": [3, 3]}
    kernels = window("im2col", columns, squares, self=x)
    # for each of two samples: 96 threads copy a window of 9 elements
    assert sums(kernels) == [("unfold", 864, 3456, 3456, 96 * (9 * 16 + 4))] * 2
    assert kernels[0].dims["steps"] == 9
    (whole,) = window("im2col", ((54, 16), F32), squares, self=((6, 12, 12), F32))
    assert whole.write_bytes == 3456
    assert window("im2col", ((2, 0, 16), F32), squares, self=((2, 0, 12, 12), F32)) == ()
    # a result that is larger than the image: its allocation is enlarged, with its contents
    enlarged, *kernels = window("im2col", ((2, 54, 100), F32), squares | {"stride": [1, 1]}, self=x)
    assert sums([enlarged]) == [("memcpy", 0, 6912, 6912, 0)] and len(kernels) == 2
    (back,) = window("col2im", x, squares, self=columns)
    # each of 1,728 pixels is in one window
    assert sums([back]) == [("fold", 1728, 6912, 6912, 1728 * 124)]
    assert window("col2im", x, squares | {"stride": [2, 1]}, self=columns)[0].flops == 6 * 1728
    (back,) = window("col2im", x, squares | {"stride": [1, 1], "dilation": [4, 1]}, self=columns)
    assert back.dims["steps"] == 9 * 3


def test_mirrored_edges_are_added_to_zeros() -> None:
    x, wide = ((2, 6, 12, 12), F32), ((2, 6, 14, 14), F32)
    (work,) = window("reflection_pad2d", wide, {}, self=x)
    # a block for each of 12 planes of 196 elements: 7 warps of 32 threads
    assert sums([work]) == [("padding", 0, 6912, 9408, 12 * 224 * 44)]
    assert (work.dims["variant"], work.dims["blocks"]) == ("mirrored", 12)
    zeros, back = window("reflection_pad2d_backward", x, {}, grad_output=wide, self=x)
    assert sums([zeros, back]) == [
        ("fill", 0, 0, 6912, 3456),
        ("padding", 0, 9408 + 6912, 6912, 12 * 224 * 44),
    ]
    assert back.dims["variant"] == "mirrored_backward"
    (work,) = window("replication_pad1d", ((2, 6, 300), F32), {}, self=((2, 6, 298), F32))
    assert (work.dims["blocks"], work.dims["elements"]) == (24, 24 * 256)
    last = Tensor((2, 6, 12, 12), F32, (864, 1, 72, 6))
    copy, _ = window("reflection_pad2d", wide, {}, self=last)
    assert (copy.family, copy.bytes) == ("copy", 2 * 6912)
    assert len(window("replication_pad2d", wide, {}, self=last)) == 1
