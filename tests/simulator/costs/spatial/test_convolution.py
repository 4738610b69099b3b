"""Convolutions against hand-computed sums."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.costs import Work
from simulator.records import Signature, Tensor
from tests.simulator.costs.conftest import Spec, launched, sig


def f16(*shape: int) -> tuple[tuple[int, ...], str]:
    return shape, "float16"


def geometry(groups: int = 1, transposed: bool = False, stride: int = 1) -> dict[str, Any]:
    return {
        "stride": [stride] * 2,
        "padding": [1, 1],
        "dilation": [1, 1],
        "transposed": transposed,
        "output_padding": [0, 0],
        "groups": groups,
    }


def conv(x: Spec, weight: Spec, out: Spec, **more: Any) -> Signature:
    return sig("aten.convolution.default", out, None, geometry(**more), input=x, weight=weight)


def test_forward() -> None:
    (work,) = launched(conv(f16(2, 3, 8, 8), f16(4, 3, 3, 3), f16(2, 4, 8, 8)))
    # 2·2·(8·8)·(4·3·3·3) = 27,648
    assert work.flops == 27648
    # reads (2·3·64 + 4·3·9)·2 = 984 bytes, writes 2·4·64·2 = 1,024
    assert (work.read_bytes, work.write_bytes) == (984, 1024)
    assert (work.engine, work.dtype) == ("tensor", "float16")
    assert work.dims == {
        "direction": "fwd",
        "n": 2,
        "cin": 3,
        "cout": 4,
        "spatial_in": (8, 8),
        "spatial_out": (8, 8),
        "kernel": (3, 3),
        "stride": (1, 1),
        "dilation": (1, 1),
        "groups": 1,
        "depthwise": False,
        "channels_last": False,
        "dims": 2,
        "transposed": False,
        "native": False,
    }


def test_float32_runs_in_tf32() -> None:
    x, w = ((1, 4, 8, 8), "float32"), ((4, 4, 3, 3), "float32")
    (work,) = launched(conv(x, w, x))
    assert (work.engine, work.dtype) == ("tensor", "tf32")


def test_the_bias_is_a_separate_kernel() -> None:
    op = sig(
        "aten.convolution.default",
        f16(2, 4, 8, 8),
        None,
        geometry(),
        input=f16(2, 3, 8, 8),
        weight=f16(4, 3, 3, 3),
        bias=f16(4),
    )
    product, add = launched(op)
    # 2·4·64 = 512 additions; reads 512·2 + 4·2 = 1,032 and writes 1,024
    assert (add.family, add.flops, add.read_bytes, add.write_bytes) == (
        "pointwise",
        512,
        1032,
        1024,
    )
    assert product.read_bytes == 984
    # for each of 512 results: an addition, two loads and a store; 20 for its offsets, along three
    # axes (pixels, channels, images) 4 and one for each of 3 operands
    assert add.instructions == 512 * (4 + 20 + 3 * (4 + 3))
    assert (add.dims["contiguous"], add.dims["axes"]) == (False, 3)


def test_strided() -> None:
    (work,) = launched(conv(f16(1, 3, 8, 8), f16(4, 3, 3, 3), f16(1, 4, 4, 4), stride=2))
    # 2·1·(4·4)·(4·3·9) = 3,456
    assert (work.flops, work.dims["stride"]) == (3456, (2, 2))


def test_transposed_is_the_data_gradient_of_the_other_way() -> None:
    (work,) = launched(
        conv(f16(1, 6, 4, 4), f16(6, 2, 3, 3), f16(1, 2, 7, 7), stride=2, transposed=True)
    )
    # 2·1·(4·4)·(6·2·9) = 3,456: every input meets every weight
    assert work.flops == 3456
    dims = work.dims
    assert (dims["direction"], dims["cin"], dims["cout"]) == ("dgrad", 2, 6)
    assert (dims["spatial_in"], dims["spatial_out"]) == ((7, 7), (4, 4))


def backward(mask: list[bool], groups: int = 1) -> tuple[Work, ...]:
    x, w, grad = f16(2, 8, 8, 8), f16(16, 8 // groups, 3, 3), f16(2, 16, 8, 8)
    outs = [s for s, wanted in zip([x, w, f16(16)], mask, strict=True) if wanted]
    return launched(
        sig(
            "aten.convolution_backward.default",
            outs,
            None,
            {**geometry(groups), "bias_sizes": [16], "output_mask": mask},
            grad_output=grad,
            input=x,
            weight=w,
        )
    )


def test_backward_is_one_launch_a_gradient() -> None:
    data, weight, bias = backward([True, True, True])
    # 2·2·(8·8)·(16·8·9) = 294,912 FLOPs each
    assert (data.flops, weight.flops) == (294912, 294912)
    assert (data.dims["direction"], weight.dims["direction"]) == ("dgrad", "wgrad")
    # reads (2·16·64 + 16·8·9)·2 = 6,400 bytes, writes 2·8·64·2 = 2,048
    assert (data.read_bytes, data.write_bytes) == (6400, 2048)
    # reads (2·16·64 + 2·8·64)·2 = 6,144 bytes, writes 16·8·9·2 = 2,304
    assert (weight.read_bytes, weight.write_bytes) == (6144, 2304)
    # reads 2·16·64·2 = 4,096 bytes, writes 16·2 = 32
    assert (bias.family, bias.flops, bias.read_bytes, bias.write_bytes) == (
        "reduction",
        2048,
        4096,
        32,
    )
    assert bias.dims == {
        "rows": 16,
        "cols": 128,
        "inner": 1,
        "itemsize": 2,
        "across": False,
        "vector": 1,
        "unroll": 4,
        "nested": True,
        "kind": "sum",
        "again": False,
    }


@pytest.mark.parametrize("mask", [[True, False, False], [False, True, False], [False, False, True]])
def test_output_mask(mask: list[bool]) -> None:
    assert len(backward(mask)) == 1


def test_groups_divide_both_gradients() -> None:
    data, weight = backward([True, True, False], groups=4)
    # 294,912 / 4
    assert (data.flops, weight.flops) == (73728, 73728)


def test_depthwise_adds_its_bias_itself() -> None:
    x = (1, 64, 10, 10), "bfloat16"
    op = sig(
        "aten.convolution.default",
        x,
        None,
        geometry(64),
        input=x,
        weight=((64, 1, 3, 3), "bfloat16"),
        bias=((64,), "bfloat16"),
    )
    (work,) = launched(op)
    # 2·100·64·9 = 115,200 on the vector unit, summed in float32
    assert (work.flops, work.engine, work.dtype) == (115200, "vector", "float32")
    # (64·100 + 64·9 + 64)·2 = 14,080
    assert (work.read_bytes, work.dims["depthwise"]) == (14080, True)


def test_depthwise_overloads_without_groups_have_one_group_for_each_input_channel() -> None:
    x = (1, 64, 10, 12), "float32"
    op = sig(
        "aten._conv_depthwise2d.default",
        x,
        None,
        {"kernel_size": [3, 3], "stride": [1, 1], "padding": [1, 1], "dilation": [1, 1]},
        self=x,
        weight=((64, 1, 3, 3), "float32"),
    )
    (work,) = launched(op)
    # each channel has its own filter: no products with other channels
    assert work.flops == 2 * 120 * 64 * 9
    assert work.dims["groups"] == 64


def test_channels_last_depthwise_is_cudnns() -> None:
    x = Tensor((1, 64, 10, 10), "float16", (6400, 1, 640, 64))
    op = sig(
        "aten.convolution.default",
        x,
        None,
        geometry(64),
        input=x,
        weight=f16(64, 1, 3, 3),
        bias=f16(64),
    )
    work, add = launched(op)
    assert (work.dims["channels_last"], work.dims["native"]) == (True, False)
    assert add.family == "pointwise"


@pytest.mark.parametrize(
    ("n", "channels", "side", "kernel", "stride", "native"),
    [
        (4, 64, 10, 3, 1, False),
        (4, 24, 10, 3, 1, True),  # fewer than 32 channels
        (4, 64, 10, 7, 1, True),  # no kernel of 7 × 7
        (4, 64, 6, 3, 1, True),  # narrower than 7
        (4, 64, 14, 3, 2, True),
        (4, 512, 14, 3, 2, False),
        (4, 256, 28, 5, 2, False),
        (1, 64, 14, 3, 2, False),  # a single image
    ],
)
def test_float16_depthwise_is_cudnns_where_that_is_faster(
    n: int, channels: int, side: int, kernel: int, stride: int, native: bool
) -> None:
    out = f16(n, channels, side // stride, side // stride)
    weight = f16(channels, 1, kernel, kernel)
    op = conv(f16(n, channels, side, side), weight, out, groups=channels, stride=stride)
    assert launched(op)[0].dims["native"] is native


@pytest.mark.parametrize(("stride", "native"), [(1, False), (2, True)])
def test_float16_depthwise_of_one_dimension(stride: int, native: bool) -> None:
    x, out = f16(4, 64, 100), f16(4, 64, 100 // stride)
    args = geometry(64) | {"stride": [stride], "padding": [1], "dilation": [1]}
    op = sig("aten.convolution.default", out, None, args, input=x, weight=f16(64, 1, 3))
    assert launched(op)[0].dims["native"] is native


def test_one_and_three_dimensions() -> None:
    (line,) = launched(conv(f16(1, 2, 10), f16(4, 2, 3), f16(1, 4, 8)))
    # 2·8·(4·2·3) = 384
    assert (line.flops, line.dims["dims"]) == (384, 1)
    (cube,) = launched(conv(f16(1, 2, 4, 4, 4), f16(4, 2, 3, 3, 3), f16(1, 4, 2, 2, 2)))
    # 2·8·(4·2·27) = 3,456
    assert (cube.flops, cube.dims["dims"]) == (3456, 3)
