"""Thresholds of cuDNN's choices for 1×1 convolutions as observed."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.lowering.convolution_pointwise import (
    _converts_weights,
    _small_images,
    pointwise_convolution,
)
from tests.simulator.costs.conftest import sig
from tests.simulator.lowering.convolution.convolution_calls import (
    FORWARD,
    families,
    geometry,
    one_way,
)


@pytest.mark.parametrize(("given", "lanes"), [
    (dict(n=16), True), (dict(n=15), False), (dict(n=32), True), (dict(n=33), False),
    (dict(spatial_in=(18, 18)), True), (dict(spatial_in=(25, 13)), False),  # 325 pixels
    (dict(depth=8), True), (dict(depth=7), False), (dict(depth=127), True),
    (dict(depth=128), False), (dict(columns=512), False), (dict(columns=513), True),
])  # fmt: skip
def test_small_images_on_lanes(given: dict[str, Any], lanes: bool) -> None:
    small: dict[str, Any] = dict(n=20, depth=100, columns=96, spatial_in=(14, 14))
    assert _small_images(one_way(**(small | given))) is lanes


@pytest.mark.parametrize(("given", "weights", "activations", "converts"), [
    # TF32: few channels and many pixels, or 1.6 times as many weights as activations
    (dict(cin=32, depth=20_001), 1, 9, True), (dict(cin=33, depth=20_001), 1, 9, False),
    (dict(cin=32, depth=20_000), 1, 9, False), (dict(cin=32, depth=20_001, dims=3), 1, 9, False),
    (dict(adds=3e8), 160, 100, True), (dict(adds=3e8), 159, 100, False),
    (dict(adds=3e8 - 1), 160, 100, False), (dict(adds=3e8, dims=3), 160, 100, False),
])  # fmt: skip
def test_weight_gradients_of_tf32_in_nhwc(
    given: dict[str, Any], weights: int, activations: int, converts: bool
) -> None:
    c = one_way("wgrad", dtype="tf32", **given)
    assert _converts_weights(c, weights, activations) is converts


@pytest.mark.parametrize(("given", "weights", "activations", "converts"), [
    # fewer outputs than inputs: from 1e8 multiply-adds on; otherwise from 1.5e9 on, or with a
    # million weights; in either case with more weights than activations
    (dict(cin=256, adds=1e8), 101, 100, True), (dict(cin=256, adds=1e8 - 1), 101, 100, False),
    (dict(cin=256, adds=1e8), 100, 100, False), (dict(adds=1.5e9), 101, 100, True),
    (dict(adds=1.5e9 - 1), 101, 100, False), (dict(adds=1), 1_000_000, 100, True),
    (dict(adds=1), 999_999, 100, False),
    # an odd number of pixels, 2e5 weights and 5e9 multiply-adds
    (dict(adds=5e9, spatial_in=(7, 7)), 200_000, 200_000, True),
    (dict(adds=5e9, spatial_in=(7, 8)), 200_000, 200_000, False),
    (dict(adds=5e9, spatial_in=(7, 7)), 199_999, 200_000, False),
    (dict(adds=5e9 - 1, spatial_in=(7, 7)), 200_000, 200_000, False),
])  # fmt: skip
def test_weight_gradients_of_half_precision_in_nhwc(
    given: dict[str, Any], weights: int, activations: int, converts: bool
) -> None:
    c = one_way("wgrad", **given)
    assert _converts_weights(c, weights, activations) is converts


CONVERTED, PLAIN = ["layout", "conv", "layout"], ["conv"]


@pytest.mark.parametrize(("given", "families"), [
    # an odd number of pixels: converted from 1e8 multiply-adds on in half precision, from 1e9 in
    # TF32
    (dict(adds=1e8), CONVERTED), (dict(adds=1e8 - 1), PLAIN),
    (dict(adds=1e9, dtype="tf32"), CONVERTED), (dict(adds=1e9 - 1, dtype="tf32"), PLAIN),
    # ... and gradients of the input from 1.5e9 and 4e8 on
    (dict(adds=1.5e9, direction="dgrad"), CONVERTED),
    (dict(adds=1.5e9 - 1, direction="dgrad"), PLAIN),
    (dict(adds=4e8, direction="dgrad", dtype="tf32"), CONVERTED),
    (dict(adds=4e8 - 1, direction="dgrad", dtype="tf32"), PLAIN),
    # 256 · 256 = 65,536 weights, and numbers of channels that are multiples of a load
    (dict(adds=1e9, cout=248), PLAIN), (dict(adds=1e9, cout=264), CONVERTED),
    (dict(adds=1e9, cout=260), PLAIN), (dict(adds=1e9, cout=260, dtype="tf32"), CONVERTED),
    (dict(adds=1e9, cout=262, dtype="tf32"), PLAIN), (dict(adds=1e9, dims=1), PLAIN),
    # an even number of pixels, not a multiple of 8: converted from 1e10 on, in half precision
    (dict(adds=1e10, spatial_out=(2, 25)), CONVERTED),
    (dict(adds=1e10 - 1, spatial_out=(2, 25)), PLAIN),
    (dict(adds=1e11, spatial_out=(8, 7)), PLAIN),
    (dict(adds=1e11, spatial_out=(2, 25), dtype="tf32"), PLAIN),
])  # fmt: skip
def test_1x1_convolutions_that_are_converted(given: dict[str, Any], families: list[str]) -> None:
    unit: dict[str, Any] = dict(
        kernel=(1, 1), cin=256, cout=256, spatial_out=(7, 7), columns=256, depth=200
    )
    works = pointwise_convolution(one_way(**(unit | given)))
    assert [work.family for work in works] == families


@pytest.mark.parametrize(
    ("given", "families"),
    [
        # one image: depth 1,024, up to 32 tiles of 64 × 64
        (dict(depth=1024, rows=512, columns=256), ["conv", "reduction"]),
        (dict(depth=1023, rows=512, columns=256), ["conv"]),
        (dict(depth=1024, rows=513, columns=256), ["conv"]),
        (dict(depth=1024, rows=512, columns=257), ["conv"]),
        (dict(depth=1024, rows=512, columns=256, n=2), ["conv"]),
        (dict(depth=1024, rows=512, columns=256, direction="dgrad"), ["conv"]),
        # a counter for deep products with many tiles: the depth exceeds 256 and the number of
        # columns
        (dict(depth=256, columns=256, blocks=400), ["fill", "conv"]),
        (dict(depth=255, columns=100, blocks=400), ["conv"]),
        (dict(depth=300, columns=301, blocks=400), ["conv"]),
        (dict(depth=301, columns=301, blocks=400), ["fill", "conv"]),
    ],
)
def test_1x1_convolutions_in_tf32(given: dict[str, Any], families: list[str]) -> None:
    unit: dict[str, Any] = dict(kernel=(1, 1), dtype="tf32", n=1, spatial_out=(8, 8), blocks=1.0)
    works = list(pointwise_convolution(one_way(**(unit | given))))
    assert [work.family for work in works] == families
    if families[-1] == "reduction":
        # two parts of the target's 2 · 128 · 14 · 14 numbers
        assert works[-1].read_bytes == 2 * 4 * 50_176


@pytest.mark.parametrize("stride", [(1, 1), (1, 2), (2, 1), (2, 2)])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_a_stride_along_one_dimension_skips_pixels(stride: tuple[int, int], dtype: str) -> None:
    """Without a stride a 1×1 convolution is a matrix product of the images as they are; otherwise
    its images are converted, and so is the result."""
    args = geometry(1, 1) | {"stride": list(stride), "padding": [0, 0]}
    out = (8, 256, 56 // stride[0], 56 // stride[1]), dtype
    x, weight = ((8, 256, 56, 56), dtype), ((256, 256, 1, 1), dtype)
    launched = families(sig(FORWARD, out, None, args, input=x, weight=weight))
    assert launched.count("layout") == (0 if stride == (1, 1) else 2)
    assert launched.count("conv") == 1
