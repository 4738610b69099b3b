"""Convolutions whose layout, groups or filters choose another kernel."""

from __future__ import annotations

import pytest

from simulator.hardware.gpu import gpu
from simulator.records import Tensor
from tests.simulator.costs.conftest import sig, tensor
from tests.simulator.lowering.convolution.convolution_calls import (
    backward,
    conv,
    families,
    kernels,
    nhwc,
)

V100 = gpu("v100_pcie_16")
FORWARD = "aten.convolution.default"


def test_a_kernel_is_made_for_images_in_half_precision() -> None:
    *_, main, _ = kernels(conv("float16", (32, 3, 224, 224), (64, 3, 7, 7), 112, stride=2))
    assert (main.dims["variant"], main.dims["depth"]) == ("fwd_image", 196)  # 4·7·7
    *_, other, _ = kernels(conv("float16", (32, 3, 224, 224), (64, 3, 5, 5), 112, stride=2))
    assert (other.dims["variant"], other.dims["depth"]) == ("fwd_first", 200)  # 8·5·5


def test_one_group_has_its_part_of_everything() -> None:
    op = conv("float16", (8, 256, 7, 7), (256, 64, 3, 3), 7, groups=4)
    rows = kernels(op)
    whole = 2 * 8 * 49 * 256 * 576
    assert sum(k.flops for k in rows) == whole == 115_605_504
    # 8·64·7·7 = 25,088 elements of 2 bytes, and 64·64·9 = 36,864 of the weight
    assert [k.read_bytes for k in rows[:2]] == [50_176, 73_728]


def test_gradient_with_gaps_is_copied_for_each_direction() -> None:
    # the first 640 channels of a concatenation's gradient; images are 1280 · 32 · 32 apart
    slice_ = Tensor((2, 640, 32, 32), "bfloat16", (1280 * 32 * 32, 32 * 32, 32, 1))
    op = backward("bfloat16", (2, 640, 32, 32), (640, 640, 1, 1), 32, slice_)
    assert families(op) == ["copy", "conv", "copy", "conv", "reduction"]


def test_gradient_in_another_layout_is_copied_once() -> None:
    op = backward(
        "bfloat16", (2, 640, 32, 32), (640, 640, 1, 1), 32, nhwc((2, 640, 32, 32), "bfloat16")
    )
    assert families(op) == ["copy", "conv", "conv", "reduction"]


def test_no_tensor_core_for_the_dtype_needs_no_conversion() -> None:
    (main,) = kernels(conv("float32", (32, 64, 56, 56), (64, 64, 1, 1), 56), V100)
    assert (main.engine, main.dtype) == ("vector", "float32")
    # a fused multiply-add is 2 FLOPs and 1 instruction: 32·56·56 · 64 · 64
    assert main.instructions == main.flops // 2 == 411_041_792
    # float16 also has these kernels, which write NCHW, but without a counter, which only Hopper has
    half = conv("float16", (32, 64, 56, 56), (64, 64, 3, 3), 56)
    assert families(half, V100) == ["layout", "layout", "conv"]


def test_winograd_keeps_the_flops_of_the_convolution() -> None:
    op = conv("float32", (32, 64, 56, 56), (64, 64, 3, 3), 56)
    image, weights, main, result = kernels(op, V100)
    assert {k.engine for k in (image, weights, main, result)} == {"vector"}
    # 36 of the 144 multiply-adds of each patch are done, out of 32·56·56 · 64 · 576: 14·14 patches
    # of 4 by 4
    assert main.flops == 2 * 3_699_376_128
    assert main.instructions == 3_699_376_128 // 4
    # 36 products for each of 32·14·14 = 6,272 patches and of 64·64 filters, 4 bytes each
    assert (image.write_bytes, weights.write_bytes) == (57_802_752, 589_824)
    assert (main.read_bytes, main.write_bytes) == (58_392_576, 57_802_752)
    # nine taps in a row are not a 3×3 filter
    assert len(kernels(conv("float32", (32, 64, 56, 56), (64, 64, 1, 9), 56), V100)) == 1


def test_winograd_does_not_pay_where_its_transformations_move_more_than_it_saves() -> None:
    # 1·56·56 positions, 8 to 32 channels: 14·14 = 196 patches, padded to 256. Of 32·3136·72
    # multiply-adds, 32·36·256·8 are done, which saves 4.87e6: 0.7 µs at a V100's 14e12 FLOP/s.
    # 36·(196·8 + 8·32 + 196·32) numbers, 2.3 MB, are written and read: 2.6 µs.
    (direct,) = kernels(conv("float32", (1, 8, 56, 56), (32, 8, 3, 3), 56), V100)
    assert (direct.family, direct.dims["variant"]) == ("conv", "vector")
    assert direct.instructions == 32 * 3136 * 72


def test_float64_runs_on_vectors() -> None:
    (main,) = kernels(conv("float64", (2, 8, 8, 8), (8, 8, 3, 3), 8))
    assert (main.engine, main.dtype) == ("vector", "float64")


def test_groups_of_a_few_channels_run_one_by_one() -> None:
    op = conv("float16", (8, 64, 8, 8), (64, 2, 7, 7), 8, groups=32)
    rows = kernels(op)
    # 2 · 8·8·8 · 64 · 2·49 FLOPs in total
    assert len(rows) == 32 and sum(k.flops for k in rows) == 6_422_528


def test_contiguous_conv1d_of_a_transposed_input_is_copied() -> None:
    # Mamba-2: [batch, channels, steps], a transposed view
    x = Tensor((2, 1792, 512), "bfloat16", (512 * 1792, 1, 1792))
    weight = tensor(((1792, 1, 4), "bfloat16"))
    args = {"stride": [1], "padding": [3], "dilation": [1], "groups": 1792, "transposed": False}
    op = sig(FORWARD, ((2, 1792, 515), "bfloat16"), None, args, input=x, weight=weight)
    assert families(op) == ["copy", "conv"]


@pytest.mark.parametrize(
    ("kernel", "variants"),
    [
        (5, [None, None, None]),  # 25 taps
        (7, ["fwd_wide", None, "wgrad_wide"]),  # 49 taps, more than the 32 bits of a mask
    ],
)
def test_kernels_of_many_taps_are_older_ones(kernel: int, variants: list[str | None]) -> None:
    x, w = (4, 64, 28, 28), (96, 64, kernel, kernel)
    out = 30 - kernel + 1
    every = (*kernels(conv("float16", x, w, out)), *kernels(backward("float16", x, w, out)))
    assert [k.dims.get("variant") for k in every if k.family == "conv"] == variants


def test_channels_divide_a_tile_or_not() -> None:
    for cin, cout, align in ((64, 128, 64), (96, 64, 32), (320, 200, 8), (64, 33, 1)):
        main = max(
            kernels(conv("float16", (4, cin, 28, 28), (cout, cin, 3, 3), 28)), key=lambda k: k.flops
        )
        assert main.dims["channel_align"] == align


def test_a_plain_weights_gradient_sums_a_part_of_each_image() -> None:
    *_, total = kernels(backward("bfloat16", (32, 128, 28, 28), (512, 128, 1, 1), 28))
    # 512·128 weights of 4 bytes for each of 32 images
    assert total.read_bytes == 4 * 65_536 * 32 == 8_388_608


def test_two_groups_run_one_by_one_between_copies_of_their_channels() -> None:
    op = conv("bfloat16", (2, 96, 8, 8), (64, 48, 3, 3), 8, groups=2, last=True)
    families = [kernel.family for kernel in kernels(op)]
    weights = ["copy"]  # to NHWC
    assert families == [*weights, *["padding", "conv", "padding"] * 2]


def test_thin_groups_of_one_output_run_on_vector_lanes() -> None:
    (kernel,) = kernels(conv("bfloat16", (2, 16, 8, 8), (8, 2, 3, 3), 8, groups=8))
    assert kernel.dims["variant"] == "depthwise_grouped_fwd"
    assert kernel.instructions == 18_432  # 2·8·8 positions · 8·2·9 weights


def test_each_tap_has_whole_steps_of_channels() -> None:
    main = next(
        k for k in kernels(conv("bfloat16", (8, 40, 32, 32), (64, 40, 3, 3), 32)) if k.flops
    )
    assert (main.dims["variant"], main.dims["depth"]) == ("fwd_uneven", 576)  # 64·3·3


def test_a_dilated_convolution_has_a_curve_of_its_own_unless_it_runs_on_vector_lanes() -> None:
    shapes = (8, 64, 32, 32), (64, 64, 3, 3)
    of = {
        step: next(k for k in kernels(conv("bfloat16", *shapes, 32, dilation=step)) if k.flops)
        for step in (1, 2)
    }
    assert [of[step].dims.get("variant") for step in (1, 2)] == [None, "fwd_dilated"]
    assert (
        of[1].flops == of[2].flops == 2 * 8 * 1024 * 64 * 576
    )  # images · pixels · outputs · patch
    thin = next(k for k in kernels(conv("bfloat16", (8, 3, 32, 32), (64, 3, 3, 3), 32, dilation=2)))
    assert thin.dims["variant"] == "fwd_direct"
