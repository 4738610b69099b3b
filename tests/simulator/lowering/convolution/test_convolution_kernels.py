"""The figures of a convolution's kernels against hand-computed ones; `test_convolution` counts the
kernels."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.costs import Work
from simulator.hardware.gpu import gpu
from simulator.lowering.layouts import (
    layout_copy,
    memset,
    needs_padding,
    nhwc_conversion,
    padded_zeros,
    padding_copy,
    sum_parts,
)
from simulator.records import Signature
from tests.simulator.costs.conftest import sums, tensor
from tests.simulator.lowering.convolution.convolution_calls import backward, conv, kernels

F16, F32 = "float16", "float32"
IMAGE = tensor(((32, 100, 28, 28), F16))  # 2,508,800 elements
WEIGHT = tensor(((128, 100, 3, 3), F16))  # 115,200 elements


def main(op: Signature, name: str = "h200") -> Work:
    return next(work for work in kernels(op, gpu(name)) if work.family == "conv")


def sizes(work: Work) -> dict[str, Any]:
    names = ("variant", "positions", "columns", "depth", "blocks", "channel_align")
    return {name: work.dims[name] for name in names if name in work.dims}


def test_copies_between_layouts() -> None:
    to, back = nhwc_conversion(IMAGE), nhwc_conversion(IMAGE, back=True)
    # 32 images of 4 × 25 tiles of 32 × 32, read and written
    assert sums([to, back]) == [("layout", 0, 5017600, 5017600, 2 * 3200 * 1024)] * 2
    assert (to.dims["back"], back.dims["back"]) == (False, True)
    assert (to.dims["channels"], to.dims["pixels"]) == (100, 784)
    assert sums([layout_copy(IMAGE)]) == [("copy", 0, 5017600, 5017600, 5017600)]
    # 100 channels become 104, a multiple of 16 bytes
    assert sums([padded_zeros(IMAGE)]) == [("fill", 0, 0, 5218304, 2609152)]
    assert padded_zeros(IMAGE).dims == {"elements": 1304576}
    assert sums([padding_copy(IMAGE)]) == [("padding", 0, 5017600, 5017600, 4 * 2508800)]
    generic = padding_copy(IMAGE, generic=True)
    assert (generic.dims["variant"], generic.instructions) == ("generic", 40 * 2508800)
    assert sums([memset(4)]) == [("fill", 0, 0, 4, 2)]
    # 15 partial sums in single precision
    assert sums([sum_parts(WEIGHT, 15)]) == [("reduction", 1728000, 6912000, 230400, 1728000)]


def test_both_sides_of_a_weight_are_whole_loads() -> None:
    assert needs_padding(IMAGE, False, 1) and needs_padding(WEIGHT, True, 1)
    even = tensor(((128, 104, 3, 3), F16))
    assert not needs_padding(even, True, 1)
    assert needs_padding(tensor(((100, 104, 3, 3), F16)), True, 1)
    # an odd batch needs no padding; each of the 13 groups has 8 channels, which are one load
    assert not needs_padding(tensor(((3, 104, 28, 28), F16)), False, 13)
    assert needs_padding(tensor(((3, 104, 28, 28), F16)), False, 26)
    assert not needs_padding(tensor(((3, 100, 28, 28), F32)), False, 1)


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        # 32·28·28 positions, depth 128·9; 196 tiles of 128 × 128
        (
            conv(F16, (32, 128, 28, 28), (128, 128, 3, 3), 28),
            {"positions": 25088, "columns": 128, "depth": 1152, "blocks": 196,
             "channel_align": 64},
        ),
        # the depth is loaded in steps of 32 channels: 100 channels take 4 steps, as 128 would
        (
            conv(F16, (32, 100, 28, 28), (128, 100, 3, 3), 28),
            {"variant": "fwd_uneven", "positions": 25088, "columns": 128, "depth": 1152,
             "blocks": 196, "channel_align": 4},
        ),
        # the first layer's own kernel takes 4 channels per tap: 7·7·4
        (
            conv(F16, (32, 3, 224, 224), (64, 3, 7, 7), 112, stride=2),
            {"variant": "fwd_image", "positions": 401408, "columns": 64, "depth": 196,
             "blocks": 3136, "channel_align": 1},
        ),
        # a product for each image
        (
            conv(F32, (1, 1024, 14, 14), (256, 1024, 1, 1), 14),
            {"variant": "fwd_plain", "positions": 196, "columns": 256, "depth": 1024, "blocks": 4,
             "channel_align": 64},
        ),
        # 32 groups of 6 channels, padded to 8, are 4 products of 64 channels: 4 · 4 tiles
        (
            conv(F16, (8, 192, 8, 8), (192, 6, 3, 3), 8, groups=32),
            {"variant": "fwd_joined", "positions": 512, "columns": 64, "depth": 576, "blocks": 16,
             "channel_align": 64},
        ),
        # one of four groups
        (
            conv(F16, (8, 256, 7, 7), (256, 64, 3, 3), 7, groups=4),
            {"positions": 392, "columns": 64, "depth": 576, "blocks": 4, "channel_align": 64},
        ),
    ],
)  # fmt: skip
def test_sizes_of_the_implicit_product(op: Signature, expected: dict[str, Any]) -> None:
    assert sizes(main(op)) == expected


def test_tiles_are_scaled_to_the_units() -> None:
    op = conv(F16, (32, 128, 28, 28), (128, 128, 3, 3), 28)
    # the rules were observed on 132 multiprocessors; an A100 has 108: 196·132 / 108 = 240
    assert main(op, "a100").dims["blocks"] == 240


def test_a_group_has_its_share_of_the_work() -> None:
    (to, weight, work, back, *_) = kernels(conv(F16, (8, 256, 7, 7), (256, 64, 3, 3), 7, groups=4))
    # 2 · 8·49 · 64 · 576
    assert work.flops == 28901376
    # 8·64·49 and 64·64·9 elements of 2 bytes
    assert [one.write_bytes for one in (to, weight, back)] == [50176, 73728, 50176]
    assert (work.read_bytes, work.write_bytes) == (50176 + 73728, 50176)
    assert back.dims["back"] and not to.dims["back"]


def test_the_gradient_of_a_first_layers_weight_has_whole_loads_of_channels() -> None:
    works = kernels(backward(F16, (32, 3, 224, 224), (64, 3, 7, 7), 112, stride=2))
    of_weight = [work for work in works if work.family == "conv"][-1]
    # 3 channels are loaded as 8: 7·7·8 columns, over 32·112·112 pixels
    assert (of_weight.dims["variant"], of_weight.dims["columns"]) == ("wgrad_first", 392)
    assert (of_weight.dims["positions"], of_weight.dims["depth"]) == (64, 401408)


@pytest.mark.parametrize(
    ("x", "w", "direct"),
    [
        # the depth is 20·20 = 400 pixels; 64·576·400 = 1.5e7 multiply-adds
        ((1, 64, 20, 20), (64, 64, 3, 3), True),
        # 192·576·400 = 4.4e7 are too many for that depth, but not for 14·14 = 196
        ((1, 64, 20, 20), (192, 64, 3, 3), False),
        ((1, 64, 14, 14), (392, 64, 3, 3), True),
    ],
)
def test_small_gradients_of_weights_run_on_vector_lanes(
    x: tuple[int, ...], w: tuple[int, ...], direct: bool
) -> None:
    works = kernels(backward(F32, x, w, x[-1]))
    of_weight = [work for work in works if work.family == "conv"][-1]
    assert (of_weight.engine == "vector") == direct


def test_gradients_are_converted_there_and_back() -> None:
    x, w = (32, 128, 28, 28), (128, 128, 3, 3)
    works = kernels(backward(F16, x, w, 28))
    assert [work.dims.get("back") for work in works if work.family == "layout"] == [
        False, False, True, False, False, True,
    ]  # fmt: skip
    of_input, of_weight = (work for work in works if work.family == "conv")
    assert sizes(of_input) == {
        "positions": 25088, "columns": 128, "depth": 1152, "blocks": 196, "channel_align": 64,
    }  # fmt: skip
    # 9 tiles; each sums over all pixels
    assert sizes(of_weight) == {
        "positions": 128, "columns": 1152, "depth": 25088, "blocks": 9, "channel_align": 64,
    }  # fmt: skip
    (parts,) = (work for work in works if work.family == "reduction")
    # 132 / 9 multiprocessors per tile give 15 parts of 147,456 numbers
    assert sums([parts]) == [("reduction", 15 * 147456, 60 * 147456, 2 * 147456, 15 * 147456)]
    (counter,) = (work for work in works if work.family == "fill")
    assert counter.write_bytes == 4
