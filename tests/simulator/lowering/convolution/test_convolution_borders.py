"""Thresholds of cuDNN's choices as observed: the last convolution on each side of each one."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.lowering import (
    convolution,
    convolution_grouped,
    convolution_nhwc,
    convolution_widened,
)
from tests.simulator.lowering.convolution.convolution_calls import one_way


@pytest.mark.parametrize(("given", "split"), [
    # a forward pass on Hopper, with a depth above 1,000 per tile
    (dict(depth=4000, blocks=4), False), (dict(depth=4001, blocks=4), True),
    (dict(depth=4001, blocks=4, hopper=False), False),
    (dict(direction="dgrad", depth=9000, blocks=4), False),
    # a gradient of weights: above 500 per tile in half precision, 40 in TF32, 2,048 for few
    # channels
    (dict(direction="wgrad", depth=2000, blocks=4), False),
    (dict(direction="wgrad", depth=2001, blocks=4), True),
    (dict(direction="wgrad", depth=160, blocks=4, dtype="tf32"), False),
    (dict(direction="wgrad", depth=161, blocks=4, dtype="tf32"), True),
    (dict(direction="wgrad", depth=2047, few=True), False),
    (dict(direction="wgrad", depth=2048, few=True), True),
])  # fmt: skip
def test_depths_that_are_split(given: dict[str, Any], split: bool) -> None:
    assert one_way(**given).split is split


@pytest.mark.parametrize(("blocks", "parts"), [(1, 132), (9, 15), (44, 3), (66, 2), (132, 2)])
def test_parts_keep_132_units_busy(blocks: float, parts: int) -> None:
    assert one_way(blocks=blocks).parts == parts


@pytest.mark.parametrize(("given", "counted"), [
    (dict(blocks=2.25 * 132), False), (dict(blocks=2.25 * 132 + 1), True),  # waves
    (dict(blocks=400, hopper=False), False), (dict(blocks=400, few=True), False),
    (dict(direction="wgrad", blocks=132), False), (dict(direction="wgrad", blocks=133), True),
    (dict(direction="wgrad", blocks=164), True), (dict(direction="wgrad", blocks=165), False),
    (dict(blocks=140), False),
])  # fmt: skip
def test_tiles_that_a_counter_distributes(given: dict[str, Any], counted: bool) -> None:
    assert one_way(**given).counted is counted


@pytest.mark.parametrize(("given", "long"), [
    (dict(kernel=(1, 32)), False), (dict(kernel=(1, 33)), True), (dict(kernel=(33, 1)), True),
    (dict(kernel=(1, 33), dtype="tf32"), False),
    (dict(kernel=(1, 33), direction="wgrad"), False),
])  # fmt: skip
def test_filters_longer_than_32(given: dict[str, Any], long: bool) -> None:
    assert one_way(**given).long is long


@pytest.mark.parametrize("dtype", ["float16", "tf32"])
@pytest.mark.parametrize(("groups", "cin", "cout", "uneven"), [
    # steps of 32 channels of a group, of both images
    (1, 128, 128, False), (1, 120, 128, True), (1, 128, 120, True), (1, 32, 32, False),
    (2, 128, 128, False), (2, 96, 128, True), (2, 128, 96, True), (4, 128, 128, False),
    (4, 64, 64, True),
])  # fmt: skip
def test_channels_that_leave_a_step_part_empty(
    dtype: str, groups: int, cin: int, cout: int, uneven: bool
) -> None:
    main = one_way(groups=groups, cin=cin, cout=cout, dtype=dtype).kernel()
    assert (main.dims.get("variant") == "fwd_uneven") is uneven


@pytest.mark.parametrize(("blocks", "whole"), [(0.3, 1), (1.4, 1), (1.6, 2), (4.0, 4)])
def test_tiles_scaled_to_the_units_are_whole_and_at_least_one(blocks: float, whole: int) -> None:
    assert one_way(blocks=blocks).kernel().dims["blocks"] == whole


FIRST: dict[str, Any] = dict(cin=3, cout=64, kernel=(7, 7), stride=(2, 2))


@pytest.mark.parametrize(("changed", "image"), [
    ({}, True), ({"cin": 4}, True), ({"cin": 2}, False), ({"cin": 5}, False), ({"cout": 65}, False),
    ({"kernel": (7, 5)}, False), ({"stride": (2, 1)}, False), ({"dtype": "bfloat16"}, False),
    ({"hopper": False}, False), ({"direction": "wgrad"}, False), ({"few": False}, False),
])  # fmt: skip
def test_the_kernel_for_images(changed: dict[str, Any], image: bool) -> None:
    assert one_way(**(FIRST | changed)).image is image


@pytest.mark.parametrize(
    ("given", "pads"),
    [
        # half precision pads from patches of 64 numbers, 5e8 multiply-adds and 64 outputs on;
        # bfloat16 with any number of outputs
        (dict(cin=3, depth=64, adds=5e8, columns=64), True),
        (dict(cin=2, depth=64, adds=5e8, columns=64), False),
        (dict(cin=3, depth=63, adds=5e8, columns=64), False),
        (dict(cin=3, depth=64, adds=5e8 - 1, columns=64), False),
        (dict(cin=3, depth=64, adds=5e8, columns=63), False),
        (dict(cin=3, depth=64, adds=5e8, columns=63, dtype="bfloat16"), True),
        # ... and if patches do not overlap, from 512 outputs on
        (dict(cin=3, stride=(3, 3), columns=511, adds=9e9), False),
        (dict(cin=3, stride=(3, 3), columns=512, adds=1e6), True),
        # TF32 pads from 64 outputs, weights of 3,000 numbers and 1.5e9 multiply-adds on, or 2e9 if
        # patches do not overlap
        (dict(cin=3, dtype="tf32", columns=100, depth=30, adds=1.5e9), True),
        (dict(cin=3, dtype="tf32", columns=100, depth=30, adds=1.5e9 - 1), False),
        (dict(cin=3, dtype="tf32", columns=100, depth=29, adds=1.5e9), False),
        (dict(cin=3, dtype="tf32", columns=64, depth=47, adds=1.5e9), True),  # 3,008
        (dict(cin=3, dtype="tf32", columns=63, depth=48, adds=1.5e9), False),
        (dict(cin=3, dtype="tf32", columns=100, depth=30, adds=2e9 - 1, stride=(3, 3)), False),
        (dict(cin=3, dtype="tf32", columns=100, depth=30, adds=2e9, stride=(3, 3)), True),
    ],
)
def test_few_channels_that_are_worth_padding(given: dict[str, Any], pads: bool) -> None:
    assert convolution._worth_padding(one_way(**given)) is pads


@pytest.mark.parametrize(
    ("given", "pads"),
    [
        (dict(cin=3, cout=64, dtype="bfloat16", adds=1e6 + 1), True),
        (dict(cin=3, cout=64, dtype="bfloat16", adds=1e6), False),
        (dict(cin=3, cout=96, dtype="bfloat16", adds=1e9), False),
        (dict(cin=3, cout=128, dtype="bfloat16", adds=1e9), True),
        (dict(cin=3, cout=64, dtype="float16", adds=1e9), False),
        (FIRST, True),
        # TF32: more than four channels and 2.4e7 multiply-adds
        (dict(cin=5, dtype="tf32", adds=2.4e7), True),
        (dict(cin=5, dtype="tf32", adds=2.4e7 - 1), False),
        (dict(cin=4, dtype="tf32", adds=2.4e7), False),
    ],
)
def test_first_layers_in_nhwc_that_are_padded(given: dict[str, Any], pads: bool) -> None:
    assert convolution_nhwc._pads_first(one_way(**given)) is pads


@pytest.mark.parametrize(
    ("given", "kernels"),
    [
        (dict(dtype="tf32", adds=2.4e7), ["padding", "padding", "conv"]),
        (dict(dtype="tf32", adds=2.4e7 - 1), ["conv"]),
        (dict(dtype="float16", adds=2.4e7), ["conv"]),
    ],
)
def test_first_layers_in_nhwc_whose_operands_are_rounded(
    given: dict[str, Any], kernels: list[str]
) -> None:
    """`convertTensor_kernel` twice, then `…indexed_wo_smem_tf32f32_tf32f32_…`."""
    works = convolution_nhwc.nhwc(one_way(cin=3, channels_last=True, **given))
    assert [work.family for work in works] == kernels


@pytest.mark.parametrize(
    ("given", "shallow"),
    [
        (dict(cin=8, depth=128), True),
        (dict(cin=8, depth=129), False),
        (dict(cin=15, depth=60), True),
        (dict(cin=16, depth=64), False),
        (dict(cin=8, depth=72, dtype="tf32"), False),
        (dict(cin=7, depth=63), False),  # another rule holds for a first layer
    ],
)
def test_shallow_patches_in_half_precision(given: dict[str, Any], shallow: bool) -> None:
    """`implicit_convolve_sgemm`, without conversions of the images."""
    works = list(convolution._on_tensor_cores(one_way(**given)))
    direct = [(work.engine, work.dims.get("variant")) for work in works] == [
        ("vector", "fwd_direct")
    ]
    assert convolution._is_shallow(one_way(**given)) is shallow
    assert direct is (shallow or given["cin"] == 7)


@pytest.mark.parametrize(
    ("given", "small"),
    [
        # gradient of a weight: depth up to 200, or up to 800 with fewer than 3e7 multiply-adds;
        # always fewer than 9e7
        (dict(direction="wgrad", depth=200, adds=9e7 - 1), True),
        (dict(direction="wgrad", depth=200, adds=9e7), False),
        (dict(direction="wgrad", depth=201, adds=3e7), False),
        (dict(direction="wgrad", depth=201, adds=3e7 - 1), True),
        (dict(direction="wgrad", depth=800, adds=3e7 - 1), True),
        (dict(direction="wgrad", depth=801, adds=3e7 - 1), False),
        (dict(direction="wgrad", depth=9999, adds=9e9, few=True, columns=128), True),
        (dict(direction="wgrad", depth=9999, adds=9e9, few=True, columns=129), False),
        # gradient of a 1×1 convolution's input: fewer than 2e8 multiply-adds
        (dict(direction="dgrad", kernel=(1, 1), adds=2e8 - 1), True),
        (dict(direction="dgrad", kernel=(1, 1), adds=2e8), False),
        # gradient of another input: fewer than 9e7 multiply-adds and 8,000 rows, over 32 columns
        (dict(direction="dgrad", adds=9e7 - 1, rows=7999, columns=33), True),
        (dict(direction="dgrad", adds=9e7, rows=7999, columns=33), False),
        (dict(direction="dgrad", adds=9e7 - 1, rows=8000, columns=33), False),
        (dict(direction="dgrad", adds=1e7, columns=31), False),
        (dict(direction="dgrad", adds=1e7, columns=32, depth=4000), True),
        (dict(direction="dgrad", adds=1e7, columns=32, depth=4001), False),
        (dict(direction="dgrad", adds=1e7, columns=33, depth=4001), True),
        (dict(direction="dgrad", adds=1e7, columns=33, dims=3), False),
    ],
)
def test_gradients_too_small_for_tensor_cores(given: dict[str, Any], small: bool) -> None:
    assert convolution._small_gradient(one_way(dtype="tf32", **given)) is small


DIRECT, THERE_AND_BACK, WRITTEN = ["conv"], ["layout", "conv", "layout"], ["layout"] * 2 + ["conv"]
SUMMED = ["layout", "layout", "fill", "conv"]


@pytest.mark.parametrize(
    ("given", "families"),
    [
        # 1×1: vector lanes from 3,000 pixels on, or up to a depth of 64 with 128 rows or more
        (dict(kernel=(1, 1), spatial_in=(50, 60), depth=65, rows=128), DIRECT),
        (dict(kernel=(1, 1), spatial_in=(2999, 1), depth=65, rows=128), THERE_AND_BACK),
        (dict(kernel=(1, 1), depth=64, rows=128), DIRECT),
        (dict(kernel=(1, 1), depth=64, rows=127), THERE_AND_BACK),
        # others: vector lanes below 2e6 multiply-adds, and below 5e7 up to a depth of 300
        (dict(adds=2e6 - 1, depth=301), DIRECT),
        (dict(adds=2e6, depth=301), WRITTEN),
        (dict(adds=5e7 - 1, depth=300), DIRECT),
        (dict(adds=5e7, depth=300), WRITTEN),
        # above a depth of 2,000, the parts are added to zeros
        (dict(adds=1e8, depth=2000), WRITTEN),
        (dict(adds=1e8, depth=2001), SUMMED),
    ],
)
def test_small_forwards_in_tf32(given: dict[str, Any], families: list[str]) -> None:
    works = list(convolution._small_tf32(one_way(dtype="tf32", **given)))
    assert [work.family for work in works] == families
    if families == SUMMED:
        assert works[2].write_bytes == 2 * 128 * 14 * 14 * 4  # the size of the target
    if families in (WRITTEN, SUMMED):
        assert works[-1].dims["back"] is True


@pytest.mark.parametrize(("into", "out", "groups", "one_by_one"), [
    (47, 47, 4, False), (48, 8, 4, True), (8, 48, 4, True), (11, 11, 3, False), (12, 3, 3, True),
])  # fmt: skip
def test_groups_that_older_kernels_run_one_by_one(
    into: int, out: int, groups: int, one_by_one: bool
) -> None:
    sizes: dict[str, Any] = dict(cin=into * groups, cout=out * groups, groups=groups)
    assert convolution_grouped.are_separate(one_way(planar=True, **sizes)) is one_by_one


@pytest.mark.parametrize(("given", "one_by_one"), [
    (dict(dtype="tf32", kernel=(1, 1)), False), (dict(dtype="tf32"), True),
    (dict(dtype="tf32", kernel=(1, 1), channels_last=True), True), (dict(kernel=(1, 1)), True),
])  # fmt: skip
def test_groups_that_newer_kernels_run_one_by_one(given: dict[str, Any], one_by_one: bool) -> None:
    assert convolution_grouped.are_separate(one_way(groups=4, **given)) is one_by_one


@pytest.mark.parametrize(("into", "out", "groups", "thin"), [
    (8, 8, 3, True), (9, 8, 3, False), (8, 9, 3, False), (8, 8, 4, False), (8, 8, 2, True),
])  # fmt: skip
def test_two_or_three_thin_groups(into: int, out: int, groups: int, thin: bool) -> None:
    sizes: dict[str, Any] = dict(cin=into * groups, cout=out * groups, groups=groups)
    assert convolution_grouped.are_few_and_thin(one_way(**sizes)) is thin


@pytest.mark.parametrize(("into", "out", "groups", "kernel", "lanes"), [
    (1, 2, 64, 3, True), (2, 4, 31, 3, True), (2, 4, 32, 3, False), (3, 6, 31, 3, True),
    (3, 6, 32, 4, True), (4, 8, 2, 5, False), (2, 2, 8, 3, False),
])  # fmt: skip
def test_groups_that_run_on_lanes(
    into: int, out: int, groups: int, kernel: int, lanes: bool
) -> None:
    sizes: dict[str, Any] = dict(
        cin=into * groups, cout=out * groups, groups=groups, kernel=(3, kernel)
    )
    assert convolution_widened.runs_on_lanes(one_way(channels_last=True, **sizes)) is lanes
    assert not convolution_widened.runs_on_lanes(one_way(**sizes))
    assert not convolution_widened.runs_on_lanes(one_way("dgrad", channels_last=True, **sizes))
    assert not convolution_widened.runs_on_lanes(one_way(dtype="tf32", channels_last=True, **sizes))


@pytest.mark.parametrize(("given", "direct"), [
    (dict(direction="wgrad", n=11, spatial_out=(999, 1)), True),  # 10,989 positions
    (dict(direction="wgrad", n=11, spatial_out=(1000, 1)), False),
    (dict(direction="fwd", n=1), False), (dict(direction="fwd", n=99, kernel=(1, 1)), True),
])  # fmt: skip
def test_widened_convolutions_with_a_kernel_of_their_own(
    given: dict[str, Any], direct: bool
) -> None:
    assert convolution_widened.has_direct_kernel(one_way(**given)) is direct
