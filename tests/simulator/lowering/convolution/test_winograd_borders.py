"""Winograd's algorithm, F(4 × 4, 3 × 3): sums of its transformations, and where it applies.

It has 36 products for each patch of 4 × 4 results, which have 6 × 6 inputs: a quarter of the
multiply-adds of the nine taps.
"""

from __future__ import annotations

from typing import Any

import pytest

from simulator.hardware.gpu import gpu
from tests.simulator.costs.conftest import sig
from tests.simulator.lowering.convolution.convolution_calls import (
    BACKWARD,
    FORWARD,
    backward,
    conv,
    families,
    geometry,
    kernels,
)

V100 = gpu("v100_pcie_16")


@pytest.mark.parametrize("side", [53, 54, 55, 56])
def test_the_transformations_read_and_write_each_patch_once(side: int) -> None:
    """32 images of 14 × 14 patches are 6,272 = 49 · 128; 64 channels."""
    op = conv("float32", (32, 64, side, side), (64, 64, 3, 3), side)
    image, weights, main, result = kernels(op, V100)
    activations, patches = 4 * 32 * 64 * side**2, 36 * 6272 * 64
    assert [(k.read_bytes, k.write_bytes) for k in (image, weights, result)] == [
        (activations, 4 * patches),
        (4 * 64 * 64 * 9, 4 * 36 * 64 * 64),
        (4 * patches, activations),
    ]
    for transformed, elements in ((image, patches), (weights, 36 * 64 * 64), (result, patches)):
        assert (transformed.family, transformed.flops) == ("pointwise", 0)
        # about six instructions per element
        assert transformed.instructions == 6 * elements
        assert transformed.dims == {"elements": elements, "contiguous": True}
    sizes = {name: main.dims[name] for name in ("positions", "columns", "depth", "batch")}
    assert sizes == {"positions": 6272, "columns": 64, "depth": 64, "batch": 36}
    assert main.dims["variant"] == "vector"


@pytest.mark.parametrize(("images", "positions"), [(4, 896), (5, 1024), (6, 1280), (16, 3200)])
def test_patches_fill_tiles_of_128(images: int, positions: int) -> None:
    """196 patches of each image: 784, 980, 1,176 and 3,136."""
    _, _, main, _ = kernels(conv("float32", (images, 256, 56, 56), (256, 256, 3, 3), 56), V100)
    assert main.dims["positions"] == positions
    assert main.instructions == 36 * positions * 256 * 256


@pytest.mark.parametrize(("changed", "kernels_of_it"), [
    ({}, 4), ({"stride": [1, 2]}, 1), ({"stride": [2, 1]}, 1), ({"dilation": [1, 2]}, 1),
    ({"dilation": [2, 1]}, 1),
])  # fmt: skip
def test_winograd_needs_adjacent_inputs(changed: dict[str, Any], kernels_of_it: int) -> None:
    args = geometry(1, 1) | changed
    x, weight = ((32, 64, 56, 56), "float32"), ((64, 64, 3, 3), "float32")
    height, width = (56 // each for each in args["stride"])
    op = sig(FORWARD, ((32, 64, height, width), "float32"), None, args, input=x, weight=weight)
    assert len(kernels(op, V100)) == kernels_of_it


def test_winograd_computes_the_gradient_of_the_input_and_not_that_of_the_weight() -> None:
    op = backward("float32", (32, 64, 56, 56), (64, 64, 3, 3), 56)
    assert families(op, V100) == ["pointwise", "pointwise", "conv", "pointwise", "conv"]


@pytest.mark.parametrize(
    ("height", "width", "patches"), [(56, 56, 196), (57, 53, 210), (53, 57, 210)]
)
def test_the_patches_are_those_of_the_result(height: int, width: int, patches: int) -> None:
    """A convolution without padding has an input two rows and columns larger than its result; the
    gradient of the input has the input's patches."""
    args = geometry(1, 1) | {"padding": [0, 0]}
    x, y = ((32, 64, height + 2, width + 2), "float32"), ((32, 64, height, width), "float32")
    weight = ((64, 64, 3, 3), "float32")
    image, *_ = kernels(sig(FORWARD, y, None, args, input=x, weight=weight), V100)
    assert image.dims["elements"] == 36 * 32 * patches * 64
    call = {**args, "output_mask": [True, False, False]}
    gradient = sig(BACKWARD, [x], None, call, grad_output=y, input=x, weight=weight)
    image, *_ = kernels(gradient, V100)
    rows, columns = -(-(height + 2) // 4), -(-(width + 2) // 4)
    assert image.dims["elements"] == 36 * 32 * rows * columns * 64


def test_padding_may_take_more_products_than_the_taps() -> None:
    """4 images of 2 × 2 patches are 16, padded to a tile of 128 rows: 36 · 128 products for each
    channel, and 9 · 4 · 49 without the algorithm."""
    op = conv("float32", (4, 512, 7, 7), (512, 512, 3, 3), 7)
    assert families(op, V100) == ["conv"]
