"""Kernels of convolutions, against recordings on an H200 and hand-computed sums."""

from __future__ import annotations

import pytest

from simulator.hardware.gpu import gpu
from simulator.records import Signature
from tests.simulator.lowering.convolution.convolution_calls import backward, conv, families, kernels

H200 = gpu("h200")


def test_conversions_read_and_write_a_tensor_once() -> None:
    op = conv("float16", (32, 128, 28, 28), (128, 128, 3, 3), 28)
    image, weight, main, back = kernels(op)
    # 32·128·28·28 = 3,211,264 elements of 2 bytes; the output has the same size
    assert image.read_bytes == image.write_bytes == back.read_bytes == back.write_bytes == 6_422_528
    # 128·128·3·3 = 147,456 elements of 2 bytes
    assert (weight.family, weight.read_bytes, weight.write_bytes) == ("layout", 294_912, 294_912)
    # 2 · 32·28·28 · 128 · 1152
    assert (main.family, main.flops) == ("conv", 7_398_752_256)


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        # ResNet-50, batch 32, 1×1: a matrix product on NCHW without conversion
        (conv("float16", (32, 64, 56, 56), (256, 64, 1, 1), 56), "conv"),
        # 7·7 = 49 is odd: converted, except the weight, whose layout is the same in both
        (conv("float16", (32, 512, 7, 7), (2048, 512, 1, 1), 7), "layout conv layout"),
        # 32·49·512·256 = 2.1e8 multiply-adds are enough for a conversion
        (conv("float16", (32, 256, 7, 7), (512, 256, 1, 1), 7), "layout conv layout"),
        # TF32 needs 1e9: 64·49·512·256 = 4.1e8, and 32·49·2048·512 = 1.6e9
        (conv("float32", (64, 256, 7, 7), (512, 256, 1, 1), 7), "conv"),
        (conv("float32", (32, 512, 7, 7), (2048, 512, 1, 1), 7), "layout conv layout"),
        # ... unless the convolution is small: 49·32·16·16 = 401,408 multiply-adds
        (conv("float16", (32, 16, 7, 7), (16, 16, 1, 1), 7), "conv"),
        # 784 tiles are 5.9 waves on 132 multiprocessors: a counter, which is cleared first,
        # distributes them
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
        # the first convolution of MobileNet-V2: 32·112·112 · 32 · 27 = 3.5e8 multiply-adds are too
        # few for padding
        (conv("float16", (32, 3, 224, 224), (32, 3, 3, 3), 112, stride=2), "conv"),
        # TF32, ResNet-50 with batch 1: 784·128·1152 = 1.2e8, then 196·256·2304 = 1.2e8 with a
        # greater depth
        (conv("float32", (1, 128, 28, 28), (128, 128, 3, 3), 28), "layout layout conv"),
        (conv("float32", (1, 256, 14, 14), (256, 256, 3, 3), 14), "layout layout fill conv"),
        # with batch 1 the depth may be split: 16 tiles of 64 × 64, depth 1024
        (conv("float32", (1, 1024, 14, 14), (256, 1024, 1, 1), 14), "conv reduction"),
        # U-Net at 8 × 8: 10 tiles, depth 1280·9 = 11,520
        (conv("float16", (2, 1280, 8, 8), (1280, 1280, 3, 3), 8), "layout layout fill conv layout"),
        # U-Net's last convolution, to 4 channels: the outer dimension of the weight is padded
        (conv("float16", (2, 320, 64, 64), (4, 320, 3, 3), 64), "layout fill padding conv layout"),
        # the inner dimension of the weight, 100, is padded; in TF32, which loads 4 at once, 102 is
        (
            conv("float16", (32, 100, 28, 28), (128, 100, 3, 3), 28),
            "fill layout fill layout conv layout",
        ),
        (
            conv("float32", (32, 102, 28, 28), (128, 102, 3, 3), 28),
            "fill layout fill layout conv layout",
        ),
        # ResNeXt: 8 channels per group, and 6
        (
            conv("float16", (8, 256, 7, 7), (256, 8, 3, 3), 7, groups=32),
            "layout layout conv layout",
        ),
        (
            conv("float16", (8, 192, 8, 8), (192, 6, 3, 3), 8, groups=32),
            "fill layout fill padding conv layout",
        ),
        # 4 groups of 64 channels are separate convolutions
        (
            conv("float16", (8, 256, 7, 7), (256, 64, 3, 3), 7, groups=4),
            "layout layout conv layout " * 4,
        ),
        # small TF32 convolutions run on vector lanes: 100·64·288 = 1.8e6
        (conv("float32", (1, 32, 10, 10), (64, 32, 3, 3), 10), "conv"),
        # in TF32, up to 64 outputs with a depth of up to 64·9 = 576 are written directly to NCHW
        (conv("float32", (32, 64, 56, 56), (64, 64, 3, 3), 56), "layout layout conv"),
        (conv("float32", (32, 64, 56, 56), (68, 64, 3, 3), 56), "layout layout fill conv layout"),
        (conv("float32", (32, 68, 56, 56), (64, 68, 3, 3), 56), "layout layout fill conv layout"),
        # depthwise
        (conv("float32", (32, 96, 112, 112), (96, 1, 3, 3), 56, stride=2, groups=96), "conv"),
        # channels last: only PyTorch copies the weight, which is stored in NCHW
        (conv("float32", (16, 96, 56, 56), (192, 96, 2, 2), 28, stride=2, last=True), "copy conv"),
        (conv("float32", (16, 96, 56, 56), (96, 1, 7, 7), 56, groups=96, last=True), "conv"),
        # 141 channels are padded in the output, and the weight in the input
        (
            conv("float16", (11, 96, 14, 14), (141, 96, 3, 3), 14, last=True),
            "copy fill padding conv padding",
        ),
    ],
)
def test_forward(op: Signature, expected: str) -> None:
    assert families(op) == expected.split()
    # after the product, a conversion restores NCHW
    works = kernels(op)
    for before, work in zip(("", *(one.family for one in works)), works, strict=False):
        if work.family == "layout":
            assert work.dims["back"] == (before in ("conv", "reduction"))


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        # 36 tiles, depth 32·14·14 = 6272: 174 per tile; split in TF32 but not in bfloat16
        (
            backward("bfloat16", (32, 256, 14, 14), (256, 256, 3, 3), 14),
            "layout layout conv layout layout layout conv layout",
        ),
        (
            backward("float32", (32, 256, 14, 14), (256, 256, 3, 3), 14),
            "layout layout conv layout layout layout fill conv layout",
        ),
        # 9 tiles, depth 25,088: 2788 per tile; a sum of the parts follows
        (
            backward("float32", (32, 128, 28, 28), (128, 128, 3, 3), 28),
            "layout layout conv layout layout layout fill conv reduction layout",
        ),
        # 9 tiles, depth 1301·3·3: 1301 per tile; from 1300 on, a split with a sum of the parts is
        # faster
        (
            backward("float32", (1301, 128, 3, 3), (128, 128, 3, 3), 3),
            "layout layout conv layout layout layout fill conv reduction layout",
        ),
        (
            backward("float32", (1300, 128, 3, 3), (128, 128, 3, 3), 3),
            "layout layout conv layout layout layout fill conv layout",
        ),
        # 1×1 with 27·27 pixels, an odd number, and 32·729·512·512 = 6.1e9 multiply-adds: the
        # gradient of the weight is also one product; with 28·28 it is one for each image
        (
            backward("float16", (32, 512, 27, 27), (512, 512, 1, 1), 27),
            "layout conv layout layout layout fill conv",
        ),
        (backward("float16", (32, 512, 28, 28), (512, 512, 1, 1), 28), "conv conv reduction"),
        # the strided gradient of the input starts from zeros
        (
            backward("bfloat16", (32, 256, 28, 28), (256, 256, 3, 3), 14, stride=2),
            "layout layout fill conv layout layout layout conv layout",
        ),
        # 1×1: a product for each image, summed over the images
        (backward("bfloat16", (32, 128, 28, 28), (512, 128, 1, 1), 28), "conv conv reduction"),
        # 1024·256 weights exceed the 14·14·(1024 + 256) elements that a conversion would move
        (backward("bfloat16", (32, 256, 14, 14), (1024, 256, 1, 1), 14), "conv layout layout conv"),
    ],
)
def test_backward(op: Signature, expected: str) -> None:
    assert families(op) == expected.split()


def test_a_plain_product_knows_what_its_loads_divide() -> None:
    (odd,) = kernels(conv("float16", (32, 16, 7, 7), (16, 16, 1, 1), 7))
    # a product for each image, with 7·7 adjacent pixels of 2 bytes
    assert (odd.dims["variant"], odd.dims["align_bytes"]) == ("fwd_narrow", 2)
    assert (odd.dims["batch"], odd.dims["positions"], odd.dims["depth"]) == (32, 49, 16)
    (even,) = kernels(conv("float16", (32, 64, 56, 56), (256, 64, 1, 1), 56))
    assert (even.dims["variant"], even.dims["align_bytes"]) == ("fwd_plain", 16)


def test_few_channels_are_multiplied_as_the_32_that_a_tap_takes() -> None:
    *_, main, _ = kernels(conv("bfloat16", (32, 3, 224, 224), (64, 3, 7, 7), 112, stride=2))
    # the depth is 32·7·7, but FLOPs count 3 channels: 2 · 32·112·112 · 64 · 147
    assert (main.dims["variant"], main.dims["depth"]) == ("fwd_first", 1568)
    assert main.flops == 7_552_892_928
    # float16 has kernels that gather eight channels of several taps: depth 8·5·5
    *_, other, _ = kernels(conv("float16", (32, 3, 224, 224), (64, 3, 5, 5), 112, stride=2))
    assert (other.dims["variant"], other.dims["depth"]) == ("fwd_first", 200)


def test_large_filters_multiply_whole_chunks_of_channels_tap_by_tap() -> None:
    """16 × 16 filters on 3 and on 16 channels both take 83 µs on an H200."""
    for channels, variant in ((3, "fwd_first"), (16, "fwd_wide")):
        op = conv("bfloat16", (1, channels, 224, 224), (768, channels, 16, 16), 14, stride=16)
        (main,) = (kernel for kernel in kernels(op) if kernel.family == "conv")
        assert (main.dims["variant"], main.dims["depth"]) == (variant, 8192)  # 16·16·32
        assert main.dims["unsplit"]
