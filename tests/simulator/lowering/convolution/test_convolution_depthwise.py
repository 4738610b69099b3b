"""Depthwise kernels by name, against recordings on an H200 and hand-computed sums."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.costs import Work
from simulator.hardware.gpu import GPU, gpu
from simulator.lowering import launches
from simulator.records import Signature, Tensor
from tests.simulator.costs.conftest import sig

H200 = gpu("h200")


def tensor(shape: tuple[int, ...], dtype: str, last: bool) -> Tensor:
    _, c, h, w = shape
    return Tensor(shape, dtype, (h * w * c, 1, w * c, c) if last else (c * h * w, h * w, w, 1))


def depthwise(
    dtype: str,
    n: int,
    channels: int,
    side: int,
    kernel: int,
    stride: int = 1,
    *,
    last: bool = True,
    direction: str = "fwd",
) -> Signature:
    x = tensor((n, channels, side, side), dtype, last)
    output = tensor((n, channels, side // stride, side // stride), dtype, last)
    weight = Tensor((channels, 1, kernel, kernel), dtype, (kernel**2, kernel**2, kernel, 1))
    args: dict[str, Any] = {
        "stride": [stride] * 2,
        "padding": [kernel // 2] * 2,
        "dilation": [1, 1],
        "transposed": False,
        "output_padding": [0, 0],
        "groups": channels,
    }
    if direction == "fwd":
        return sig("aten.convolution.default", output, None, args, input=x, weight=weight)
    args["output_mask"] = [direction != "wgrad", direction != "dgrad", False]
    outs = {"dgrad": [x], "wgrad": [weight], "both": [x, weight]}[direction]
    return sig(
        "aten.convolution_backward.default",
        outs,
        None,
        args,
        grad_output=output,
        input=x,
        weight=weight,
    )


def kernels(op: Signature, card: GPU = H200) -> tuple[Work, ...]:
    works = launches(op, card)
    assert works is not None
    return works


def main(op: Signature) -> Work:
    (work,) = (work for work in kernels(op) if work.family == "conv")
    return work


@pytest.mark.parametrize(
    ("op", "variant"),
    [
        (depthwise("bfloat16", 17, 1536, 11, 3), "depthwise_many_fwd"),
        (depthwise("bfloat16", 8, 192, 56, 3, 2), "depthwise_many_fwd"),
        (depthwise("bfloat16", 5, 96, 30, 3, 2), "depthwise_fwd"),  # fewer than 8 images
        (depthwise("float32", 37, 128, 22, 3, 2), "depthwise_single_fwd"),
        (depthwise("bfloat16", 128, 64, 16, 2, 2), "depthwise_grouped_fwd"),  # an even kernel
        (depthwise("bfloat16", 64, 32, 30, 5, 5), "depthwise_grouped_fwd"),  # patches
        (depthwise("bfloat16", 8, 768, 64, 1, 2), "depthwise_grouped_fwd"),
        (depthwise("bfloat16", 8, 768, 64, 1, 2, direction="dgrad"), "depthwise_dgrad"),
        (depthwise("float16", 8, 48, 32, 2, 2, direction="dgrad"), "depthwise_grouped_dgrad"),
        (depthwise("bfloat16", 93, 224, 22, 3, 2, direction="wgrad"), "depthwise_wgrad"),
        (depthwise("float32", 16, 64, 32, 3, direction="wgrad"), "depthwise_wgrad"),
        (depthwise("float32", 16, 64, 32, 7, direction="wgrad"), "depthwise_grouped_wgrad"),
        (depthwise("float32", 6, 533, 32, 3, 2, direction="wgrad"), "depthwise_grouped_wgrad"),
        (depthwise("float16", 4, 512, 14, 3, 2, last=False), "depthwise_grouped_fwd"),
        (depthwise("float16", 4, 512, 16, 3, 2, last=False), "depthwise_fwd"),  # rows of 8
        (depthwise("float16", 2, 512, 16, 3, 2, last=False), "depthwise_fwd"),
        (depthwise("float16", 1, 512, 16, 3, 2, last=False), "depthwise_grouped_fwd"),
        (depthwise("bfloat16", 7, 96, 30, 3, 2), "depthwise_fwd"),
        (depthwise("float16", 32, 288, 32, 3, 2, last=False), "depthwise_fwd"),
        (depthwise("float16", 1, 800, 74, 3, 2, last=False), "depthwise_grouped_fwd"),
        (depthwise("float16", 9, 96, 10, 3, last=False), "depthwise_fwd"),
        (depthwise("bfloat16", 9, 96, 10, 3, last=False), "native_fwd"),
    ],
)
def test_kernels_by_size_and_layout(op: Signature, variant: str) -> None:
    assert main(op).dims["variant"] == variant


def test_a_weights_gradient_in_nhwc_sums_a_part_of_each_image() -> None:
    conv, total = kernels(depthwise("bfloat16", 32, 64, 14, 3, direction="wgrad"))
    # 64·9 = 576 weights of 4 bytes for each of 32 images
    assert (total.family, total.read_bytes) == ("reduction", 4 * 576 * 32) == ("reduction", 73_728)
    # float32: the parts are added to zeros, 576·4 bytes; the direct kernel needs no parts
    first, *_ = kernels(depthwise("float32", 32, 64, 14, 3, direction="wgrad"))
    assert (first.family, first.write_bytes) == ("fill", 2_304)
    assert len(kernels(depthwise("float32", 32, 64, 14, 7, direction="wgrad"))) == 1
    # 2 · 32·14·14 · 576
    assert conv.flops == 7_225_344


def test_atens_own_start_with_the_weights_gradient() -> None:
    rows = kernels(depthwise("bfloat16", 11, 128, 18, 3, last=False, direction="both"))
    assert [work.dims["variant"] for work in rows] == ["native_wgrad", "native_dgrad"]


@pytest.mark.parametrize(("kernel", "generic"), [(1, False), (3, False), (5, False), (7, True)])
def test_atens_own_are_compiled_for_a_few_sizes(kernel: int, generic: bool) -> None:
    op = depthwise("bfloat16", 4, 64, 16, kernel, last=False)
    assert main(op).dims["generic"] is generic


def test_steps_of_atens_weight_gradient() -> None:
    # a block for each of 128·9 = 1,152 weights, with 8 warps of 32 threads: a multiprocessor holds
    # 2,048 / 256 = 8 blocks, all 132 hold 1,056, so there are 2 turns; 11 images on 8 warps are 2
    # rounds of 18·18 / 32 = 11 steps
    work = main(depthwise("bfloat16", 11, 128, 18, 3, last=False, direction="wgrad"))
    assert work.dims["steps"] == 2 * 2 * 11 == 44
    # one image: blocks of one warp, 64 per multiprocessor, one turn
    work = main(depthwise("bfloat16", 1, 128, 18, 3, last=False, direction="wgrad"))
    assert work.dims["steps"] == 11
