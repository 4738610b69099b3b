"""Which library runs a depthwise convolution, and special overloads: ATen's choice in
Convolution.cpp (`use_cudnn_depthwise`), one threshold at a time."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.costs import Work
from simulator.records import Tensor
from tests.simulator.costs.conftest import Spec, launched, sig


def geometry(dims: int = 2, **more: Any) -> dict[str, Any]:
    return {
        "stride": [1] * dims, "padding": [1] * dims, "dilation": [1] * dims, "transposed": False,
        "output_padding": [0] * dims, "groups": 1, **more,
    }  # fmt: skip


def depthwise(
    n: int, channels: int, side: int, kernel: tuple[int, ...], dtype: str = "float16", **more: Any
) -> Work:
    spatial = len(kernel)
    x = ((n, channels, *[side] * spatial), dtype)
    weight = ((channels, 1, *kernel), dtype)
    args = geometry(spatial, groups=channels, **more)
    return launched(sig("aten.convolution.default", x, None, args, input=x, weight=weight))[0]


@pytest.mark.parametrize(
    ("n", "channels", "side", "kernel", "more", "cudnn"),
    [
        (4, 32, 10, (3, 3), {}, True),
        (4, 31, 10, (3, 3), {}, False),
        (4, 64, 7, (3, 3), {}, True),
        (4, 64, 6, (3, 3), {}, False),
        (4, 64, 10, (5, 5), {}, True),
        (4, 64, 10, (1, 1), {}, True),
        (4, 64, 10, (3, 5), {}, False),  # not square
        (4, 64, 10, (2, 2), {}, False),
        (4, 64, 10, (3, 3), {"dilation": [2, 2]}, False),
        (4, 64, 10, (3, 3), {"dilation": [1, 2]}, False),
        (4, 64, 10, (3, 3), {"stride": [1, 2]}, False),
        (1, 64, 10, (3, 3), {"stride": [3, 3]}, False),
        (4, 64, 10, (3, 3, 3), {}, False),  # three dimensions
        (4, 64, 10, (3,), {}, True),
        (4, 64, 10, (3,), {"stride": [2]}, False),
        # stride 2: a single image, many channels, or wide images with many channels
        (1, 64, 14, (3, 3), {"stride": [2, 2]}, True),
        (2, 511, 14, (3, 3), {"stride": [2, 2]}, False),
        (2, 512, 14, (3, 3), {"stride": [2, 2]}, True),
        (2, 256, 28, (3, 3), {"stride": [2, 2]}, True),
        (2, 255, 28, (3, 3), {"stride": [2, 2]}, False),
        (2, 256, 27, (3, 3), {"stride": [2, 2]}, False),
        # stride 2 and 1 × 1 weights: a single image at most 28 wide, or at most 16 images 7 wide
        (1, 64, 28, (1, 1), {"stride": [2, 2]}, True),
        (1, 64, 29, (1, 1), {"stride": [2, 2]}, False),
        (16, 128, 7, (1, 1), {"stride": [2, 2]}, True),
        (17, 128, 7, (1, 1), {"stride": [2, 2]}, False),
        (16, 127, 7, (1, 1), {"stride": [2, 2]}, False),
        (16, 128, 8, (1, 1), {"stride": [2, 2]}, False),
    ],
)
def test_float16_images_run_in_cudnn_where_it_has_a_kernel(
    n: int, channels: int, side: int, kernel: tuple[int, ...], more: dict[str, Any], cudnn: bool
) -> None:
    assert depthwise(n, channels, side, kernel, **more).dims["native"] is not cudnn


@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "float64"])
def test_other_dtypes_run_in_aten(dtype: str) -> None:
    work = depthwise(4, 64, 10, (3, 3), dtype)
    assert work.dims["native"]
    # ATen sums in float32, or in float64 for that dtype; a multiply-add is one instruction
    assert (work.engine, work.dtype) == ("vector", "float64" if dtype == "float64" else "float32")
    assert (work.flops, work.instructions) == (2 * 4 * 100 * 64 * 9, 4 * 100 * 64 * 9)


def test_one_stride_applies_to_all_dimensions() -> None:
    x = ((4, 64, 14, 14), "float16")
    out, weight = ((4, 64, 7, 7), "float16"), ((64, 1, 3, 3), "float16")
    for stride in (2, [2], [2, 2]):
        args = geometry(groups=64, stride=stride, dilation=1)
        (work,) = launched(sig("aten.convolution.default", out, None, args, input=x, weight=weight))
        assert (work.dims["stride"], work.dims["dilation"]) == ((2, 2), (1, 1))
        assert work.dims["native"]  # 64 channels, 14 wide


def run(name: str, x: Spec, weight: Spec, out: Spec, **inputs: Any) -> Work:
    args = inputs.pop("args", geometry())
    kind = "self" if "cudnn" in name else "input"
    return launched(sig(name, out, None, args, **{kind: x}, weight=weight, **inputs))[0]


def test_the_epilogue_reads_the_bias_and_the_residual() -> None:
    x, weight = ((1, 4, 8, 8), "float16"), ((6, 4, 3, 3), "float16")
    out, bias = ((1, 6, 8, 8), "float16"), ((6,), "float16")
    relu = run("aten.cudnn_convolution_relu.default", x, weight, out, bias=bias)
    # reads (256 + 216 + 6)·2 bytes, writes 384·2
    assert (relu.read_bytes, relu.write_bytes) == (956, 768)
    added = run("aten.cudnn_convolution_add_relu.default", x, weight, out, bias=bias, z=out)
    assert added.read_bytes == 956 + 768
    assert added.flops == relu.flops == 2 * 64 * 6 * 4 * 9
    assert (added.engine, added.dtype, added.instructions) == ("tensor", "float16", 0)


def test_transposed_overloads_name_themselves() -> None:
    """x [1, 6, 4, 4] becomes [1, 2, 7, 7] with weights [6, 2, 3, 3]: 2·16·6·2·9 = 3,456."""
    x, weight, out = ((1, 6, 4, 4), "float16"), ((6, 2, 3, 3), "float16"), ((1, 2, 7, 7), "float16")
    work = run("aten.cudnn_convolution_transpose.default", x, weight, out)
    assert (work.dims["direction"], work.dims["transposed"], work.flops) == ("dgrad", True, 3456)
    assert (work.dims["cin"], work.dims["cout"]) == (2, 6)
    grad = sig(
        "aten.convolution_backward.default", [x, weight], None,
        geometry(transposed=True, output_mask=[True, True, False]),
        grad_output=out, input=x, weight=weight,
    )  # fmt: skip
    data, weights = launched(grad)
    # the gradient of a transposed convolution's input is a convolution
    assert (data.dims["direction"], weights.dims["direction"]) == ("fwd", "wgrad")
    assert data.flops == weights.flops == 3456


def test_a_depthwise_convolution_of_cudnn_or_transposed_is_not_atens() -> None:
    x, weight = ((4, 24, 10, 10), "float32"), ((24, 1, 3, 3), "float32")
    own = run("aten.cudnn_convolution.default", x, weight, x, args=geometry(groups=24))
    assert (own.dims["depthwise"], own.dims["native"]) == (True, False)
    turned = run(
        "aten.convolution.default", x, weight, x, args=geometry(groups=24, transposed=True)
    )
    assert (turned.dims["depthwise"], turned.dims["native"]) == (True, False)
    plain = run("aten.convolution.default", x, weight, x, args=geometry(groups=24))
    assert plain.dims["native"]


def test_groups_of_several_channels_are_not_depthwise() -> None:
    x, weight = ((1, 8, 8, 8), "float16"), ((8, 2, 3, 3), "float16")
    assert not run("aten.convolution.default", x, weight, x, args=geometry(groups=4)).dims[
        "depthwise"
    ]
    one = run("aten.convolution.default", ((1, 1, 8, 8), "float16"), ((4, 1, 3, 3), "float16"),
              ((1, 4, 8, 8), "float16"))  # fmt: skip
    assert not one.dims["depthwise"]
    # two results per channel
    wide = run("aten.convolution.default", x, ((16, 1, 3, 3), "float16"),
               ((1, 16, 8, 8), "float16"), args=geometry(groups=8))  # fmt: skip
    assert wide.dims["depthwise"]


def test_atens_backward_computes_the_weights_first() -> None:
    x, weight = ((4, 24, 10, 10), "float32"), ((24, 1, 3, 3), "float32")

    def directions(**more: Any) -> list[str]:
        op = sig(
            "aten.convolution_backward.default", [x, weight], None,
            geometry(groups=24, **more), grad_output=x, input=x, weight=weight,
        )  # fmt: skip
        return [w.dims.get("direction", w.family) for w in launched(op)]

    assert directions() == ["wgrad", "dgrad"]  # by default no gradient of a bias
    assert directions(output_mask=[True, True, True]) == ["wgrad", "dgrad", "reduction"]
    assert directions(output_mask=[True, False, False]) == ["dgrad"]


@pytest.mark.parametrize(
    ("stride", "last"),
    [
        ((256, 1, 32, 4), True),
        ((256, 64, 8, 1), False),  # contiguous
        ((256, 1, 4, 32), False),  # columns are the outer dimension, rows the inner
        ((1, 4, 128, 16), False),  # images are the innermost dimension
        ((4, 1, 32, 4), False),  # images overlap in memory
        ((512, 2, 64, 8), True),  # with gaps
    ],
)
def test_channels_last_by_strides(stride: tuple[int, ...], last: bool) -> None:
    x = Tensor((2, 4, 8, 8), "float16", stride)
    args = geometry()
    weight, out = ((6, 4, 3, 3), "float16"), ((2, 6, 8, 8), "float16")
    assert run("aten.convolution.default", x, weight, out, args=args).dims["channels_last"] is last


def test_a_weight_in_channels_last_suffices() -> None:
    x, out = ((2, 4, 8, 8), "float16"), ((2, 6, 8, 8), "float16")
    weight = Tensor((6, 4, 3, 3), "float16", (36, 1, 12, 4))
    assert run("aten.convolution.default", x, weight, out).dims["channels_last"]
