"""Kernels of convolutions, against recordings on an H200 and sums by hand."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.costs import Work
from simulator.hardware.gpu import GPU, gpu
from simulator.lowering import launches
from simulator.records import Signature, Tensor
from tests.simulator.costs.conftest import Spec, sig, tensor

H200 = gpu("h200")
V100 = gpu("v100_pcie_16")
FORWARD, BACKWARD = "aten.convolution.default", "aten.convolution_backward.default"
GRADIENTS = {"output_mask": [True, True, False]}


def geometry(stride: int, groups: int) -> dict[str, Any]:
    return {
        "stride": [stride] * 2,
        "padding": [1, 1],
        "dilation": [1, 1],
        "transposed": False,
        "output_padding": [0, 0],
        "groups": groups,
    }


def conv(dtype: str, x: tuple[int, ...], w: tuple[int, ...], hw: int, **more: Any) -> Signature:
    stride, groups, last = more.get("stride", 1), more.get("groups", 1), more.get("last", False)
    out = (x[0], w[0], hw, hw)
    image = nhwc(x, dtype) if last else (x, dtype)
    made = nhwc(out, dtype) if last else (out, dtype)
    return sig(FORWARD, made, None, geometry(stride, groups), input=image, weight=(w, dtype))


def backward(
    dtype: str,
    x: tuple[int, ...],
    w: tuple[int, ...],
    hw: int,
    grad: Spec | None = None,
    stride: int = 1,
) -> Signature:
    args = geometry(stride, 1) | GRADIENTS
    given = grad or ((x[0], w[0], hw, hw), dtype)
    outs = [(x, dtype), (w, dtype)]
    return sig(BACKWARD, outs, None, args, grad_output=given, input=(x, dtype), weight=(w, dtype))


def nhwc(shape: tuple[int, ...], dtype: str) -> Tensor:
    n, c, h, w = shape
    return Tensor((n, c, h, w), dtype, (h * w * c, 1, w * c, c))


def kernels(op: Signature, card: GPU = H200) -> tuple[Work, ...]:
    found = launches(op, card)
    assert found is not None
    return found


def families(op: Signature, card: GPU = H200) -> list[str]:
    return [work.family for work in kernels(op, card)]


def test_conversions_read_and_write_a_tensor_once() -> None:
    op = conv("float16", (32, 128, 28, 28), (128, 128, 3, 3), 28)
    image, weight, main, back = kernels(op)
    # 32·128·28·28 = 3,211,264 elements of 2 bytes; the output has as many
    assert image.read_bytes == image.write_bytes == back.read_bytes == back.write_bytes == 6_422_528
    # 128·128·3·3 = 147,456 elements of 2 bytes
    assert (weight.family, weight.read_bytes, weight.write_bytes) == ("layout", 294_912, 294_912)
    # 2 · 32·28·28 · 128 · 1152
    assert (main.family, main.flops) == ("conv", 7_398_752_256)


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        # ResNet-50, batch 32. 1×1: a product of NCHW as it lies
        (conv("float16", (32, 64, 56, 56), (256, 64, 1, 1), 56), "conv"),
        # 7·7 = 49 is odd: converted, but for the weight, which lies alike in both
        (conv("float16", (32, 512, 7, 7), (2048, 512, 1, 1), 7), "layout conv layout"),
        # ... unless it is small: 49·32·16·16 = 401,408 multiply-adds
        (conv("float16", (32, 16, 7, 7), (16, 16, 1, 1), 7), "conv"),
        # 784 tiles are 5.9 waves on 132 units: handed out by a counter, which is cleared
        (conv("float16", (32, 64, 56, 56), (64, 64, 3, 3), 56), "layout layout fill conv layout"),
        # stride 2: 32·28·28 / 128 · 512 / 128 = 784 tiles
        (
            conv("float16", (32, 256, 56, 56), (512, 256, 1, 1), 28, stride=2),
            "layout fill conv layout",
        ),
        # the stem: 3 channels are padded to 8
        (
            conv("float16", (32, 3, 224, 224), (64, 3, 7, 7), 112, stride=2),
            "fill layout fill layout conv layout",
        ),
        # MobileNet-V2's: 32·112·112 · 32 · 27 = 3.5e8 multiply-adds aren't worth it
        (conv("float16", (32, 3, 224, 224), (32, 3, 3, 3), 112, stride=2), "conv"),
        # TF32, ResNet-50 with batch 1: 784·128·1152 = 1.2e8, then 196·256·2304 = 1.2e8, deeper
        (conv("float32", (1, 128, 28, 28), (128, 128, 3, 3), 28), "layout layout conv"),
        (conv("float32", (1, 256, 14, 14), (256, 256, 3, 3), 14), "layout layout fill conv"),
        # a batch of one may be split: 16 tiles of 64 × 64, 1024 deep
        (conv("float32", (1, 1024, 14, 14), (256, 1024, 1, 1), 14), "conv reduction"),
        # U-Net at 8 × 8: 10 tiles, 1280·9 = 11,520 deep
        (conv("float16", (2, 1280, 8, 8), (1280, 1280, 3, 3), 8), "layout layout fill conv layout"),
        # the last one, to 4 channels: the weight's outer dimension is padded
        (conv("float16", (2, 320, 64, 64), (4, 320, 3, 3), 64), "layout fill padding conv layout"),
        # the weight's inner dimension, of 100, and TF32's, which loads 4 at once: 102
        (
            conv("float16", (32, 100, 28, 28), (128, 100, 3, 3), 28),
            "fill layout fill layout conv layout",
        ),
        (
            conv("float32", (32, 102, 28, 28), (128, 102, 3, 3), 28),
            "fill layout fill layout conv layout",
        ),
        # ResNeXt: 8 channels a group, and 6
        (
            conv("float16", (8, 256, 7, 7), (256, 8, 3, 3), 7, groups=32),
            "layout layout conv layout",
        ),
        (
            conv("float16", (8, 192, 8, 8), (192, 6, 3, 3), 8, groups=32),
            "fill layout fill padding conv layout",
        ),
        # 4 groups of 64 channels are convolutions of their own
        (
            conv("float16", (8, 256, 7, 7), (256, 64, 3, 3), 7, groups=4),
            "layout layout conv layout " * 4,
        ),
        # small TF32 ones on vector lanes: 100·64·288 = 1.8e6
        (conv("float32", (1, 32, 10, 10), (64, 32, 3, 3), 10), "conv"),
        # depthwise
        (conv("float32", (32, 96, 112, 112), (96, 1, 3, 3), 56, stride=2, groups=96), "conv"),
        # channels last: only PyTorch's copy of the weight, which is not
        (conv("float32", (16, 96, 56, 56), (192, 96, 2, 2), 28, stride=2, last=True), "copy conv"),
        (conv("float32", (16, 96, 56, 56), (96, 1, 7, 7), 56, groups=96, last=True), "conv"),
        # 141 channels are padded on the way out, and the weight on the way in
        (
            conv("float16", (11, 96, 14, 14), (141, 96, 3, 3), 14, last=True),
            "copy fill padding conv padding",
        ),
    ],
)
def test_forward(op: Signature, expected: str) -> None:
    assert families(op) == expected.split()


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        # 36 tiles, 32·14·14 = 6272 deep: 174 a tile, split in TF32 but not in bfloat16
        (
            backward("bfloat16", (32, 256, 14, 14), (256, 256, 3, 3), 14),
            "layout layout conv layout layout layout conv layout",
        ),
        (
            backward("float32", (32, 256, 14, 14), (256, 256, 3, 3), 14),
            "layout layout conv layout layout layout fill conv layout",
        ),
        # 9 tiles, 25,088 deep: 2788 a tile, and a sum of the parts
        (
            backward("float32", (32, 128, 28, 28), (128, 128, 3, 3), 28),
            "layout layout conv layout layout layout fill conv reduction layout",
        ),
        # the strided gradient of the input starts from zeros
        (
            backward("bfloat16", (32, 256, 28, 28), (256, 256, 3, 3), 14, stride=2),
            "layout layout fill conv layout layout layout conv layout",
        ),
        # 1×1: a product for each image, summed over the images
        (backward("bfloat16", (32, 128, 28, 28), (512, 128, 1, 1), 28), "conv conv reduction"),
        # 1024·256 weights are more than 14·14·(1024 + 256) / 1 elements to convert
        (backward("bfloat16", (32, 256, 14, 14), (1024, 256, 1, 1), 14), "conv layout layout conv"),
    ],
)
def test_backward(op: Signature, expected: str) -> None:
    assert families(op) == expected.split()


def test_a_plain_product_knows_what_its_loads_divide() -> None:
    (odd,) = kernels(conv("float16", (32, 16, 7, 7), (16, 16, 1, 1), 7))
    # a product for each image, of 7·7 pixels of 2 bytes side by side
    assert (odd.dims["variant"], odd.dims["align_bytes"]) == ("fwd_narrow", 2)
    assert (odd.dims["batch"], odd.dims["positions"], odd.dims["depth"]) == (32, 49, 16)
    (even,) = kernels(conv("float16", (32, 64, 56, 56), (256, 64, 1, 1), 56))
    assert (even.dims["variant"], even.dims["align_bytes"]) == ("fwd_plain", 16)


def test_few_channels_are_multiplied_as_the_32_that_a_tap_takes() -> None:
    *_, main, _ = kernels(conv("bfloat16", (32, 3, 224, 224), (64, 3, 7, 7), 112, stride=2))
    # 32·7·7; but the FLOPs that count are those of 3 channels: 2 · 32·112·112 · 64 · 147
    assert (main.dims["variant"], main.dims["depth"]) == ("fwd_first", 1568)
    assert main.flops == 7_552_892_928
    # float16 has kernels that gather the eight channels of many taps: 8·5·5
    *_, other, _ = kernels(conv("float16", (32, 3, 224, 224), (64, 3, 5, 5), 112, stride=2))
    assert (other.dims["variant"], other.dims["depth"]) == ("fwd_first", 200)


def test_large_filters_multiply_whole_chunks_of_channels_tap_by_tap() -> None:
    """16 × 16 taps of 3 and of 16 channels take 83 µs alike on an H200."""
    for channels, variant in ((3, "fwd_first"), (16, "fwd_wide")):
        op = conv("bfloat16", (1, channels, 224, 224), (768, channels, 16, 16), 14, stride=16)
        (main,) = (kernel for kernel in kernels(op) if kernel.family == "conv")
        assert (main.dims["variant"], main.dims["depth"]) == (variant, 8192)  # 16·16·32
        assert main.dims["unsplit"]


def test_a_kernel_is_made_for_images_in_half_precision() -> None:
    *_, main, _ = kernels(conv("float16", (32, 3, 224, 224), (64, 3, 7, 7), 112, stride=2))
    assert (main.dims["variant"], main.dims["depth"]) == ("fwd_image", 196)  # 4·7·7
    *_, other, _ = kernels(conv("float16", (32, 3, 224, 224), (64, 3, 5, 5), 112, stride=2))
    assert (other.dims["variant"], other.dims["depth"]) == ("fwd_first", 200)  # 8·5·5


def test_one_group_has_its_part_of_everything() -> None:
    op = conv("float16", (8, 256, 7, 7), (256, 64, 3, 3), 7, groups=4)
    found = kernels(op)
    whole = 2 * 8 * 49 * 256 * 576
    assert sum(k.flops for k in found) == whole == 115_605_504
    # 8·64·7·7 = 25,088 elements of 2 bytes, and 64·64·9 = 36,864 of the weight
    assert [k.read_bytes for k in found[:2]] == [50_176, 73_728]


def test_gradient_with_gaps_is_copied_for_each_direction() -> None:
    # the first 640 channels of a concatenation's gradient, 1280 · 32 · 32 to the next image
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
    # float16 has them, but no counter: that is Hopper's; they write NCHW
    half = conv("float16", (32, 64, 56, 56), (64, 64, 3, 3), 56)
    assert families(half, V100) == ["layout", "layout", "conv"]


def test_winograd_keeps_the_flops_of_the_convolution() -> None:
    op = conv("float32", (32, 64, 56, 56), (64, 64, 3, 3), 56)
    image, weights, main, result = kernels(op, V100)
    assert {k.engine for k in (image, weights, main, result)} == {"vector"}
    # 32·56·56 · 64 · 576 multiply-adds, of which 36 for 144 are done: 14·14 patches, 4 for 4
    assert main.flops == 2 * 3_699_376_128
    assert main.instructions == 3_699_376_128 // 4
    # nine taps in a row are no 3×3
    assert len(kernels(conv("float32", (32, 64, 56, 56), (64, 64, 1, 9), 56), V100)) == 1


def test_float64_runs_on_vectors() -> None:
    (main,) = kernels(conv("float64", (2, 8, 8, 8), (8, 8, 3, 3), 8))
    assert (main.engine, main.dtype) == ("vector", "float64")


def test_groups_of_a_few_channels_run_one_by_one() -> None:
    op = conv("float16", (8, 64, 8, 8), (64, 2, 3, 3), 8, groups=32)
    found = kernels(op)
    # 2 · 8·8·8 · 64 · 2·9 in all
    assert len(found) == 32 and sum(k.flops for k in found) == 1_179_648


def test_contiguous_conv1d_of_a_transposed_input_is_copied() -> None:
    # Mamba-2: [batch, channels, steps] seen through a transposition
    x = Tensor((2, 1792, 512), "bfloat16", (512 * 1792, 1, 1792))
    weight = tensor(((1792, 1, 4), "bfloat16"))
    args = {"stride": [1], "padding": [3], "dilation": [1], "groups": 1792, "transposed": False}
    op = sig(FORWARD, ((2, 1792, 515), "bfloat16"), None, args, input=x, weight=weight)
    assert families(op) == ["copy", "conv"]


@pytest.mark.parametrize(
    ("kernel", "variants"),
    [
        (5, [None, None, None]),  # 25 taps
        (7, ["fwd_wide", None, "wgrad_wide"]),  # 49, more than the 32 of a mask
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
    # 512·128 weights of 4 bytes of 32 images
    assert total.read_bytes == 4 * 65_536 * 32 == 8_388_608


def test_two_groups_run_one_by_one_between_copies_of_their_channels() -> None:
    op = conv("bfloat16", (2, 96, 8, 8), (64, 48, 3, 3), 8, groups=2, last=True)
    found = [kernel.family for kernel in kernels(op)]
    weights = ["copy"]  # to NHWC
    assert found == [*weights, *["padding", "conv", "padding"] * 2]


def test_thin_groups_of_one_output_run_on_vector_lanes() -> None:
    (kernel,) = kernels(conv("bfloat16", (2, 16, 8, 8), (8, 2, 3, 3), 8, groups=8))
    assert kernel.dims["variant"] == "depthwise_grouped_fwd"
    assert kernel.instructions == 18_432  # 2·8·8 positions · 8·2·9 weights


def test_each_tap_has_whole_steps_of_channels() -> None:
    main = next(
        k for k in kernels(conv("bfloat16", (8, 40, 32, 32), (64, 40, 3, 3), 32)) if k.flops
    )
    assert (main.dims["variant"], main.dims["depth"]) == ("fwd_uneven", 576)  # 64·3·3
