"""Thresholds between grouped and depthwise kernels, and the sizes of kernels that join groups."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from simulator.costs import Work
from simulator.lowering import convolution, convolution_depthwise, convolution_nhwc
from simulator.lowering.convolution_grouped import _joined, group_width, run_together
from tests.simulator.costs.conftest import tensor
from tests.simulator.lowering.convolution.convolution_calls import nhwc, one_way


def groups(width: int, count: int, out: int = 0) -> dict[str, Any]:
    return dict(cin=width * count, cout=(out or width) * count, groups=count)


@pytest.mark.parametrize(("into", "out", "width"), [
    (1, 1, 1), (4, 4, 4), (5, 4, 8), (4, 5, 8), (16, 16, 16), (17, 2, 32), (33, 64, 64),
])  # fmt: skip
def test_a_padded_group_has_a_power_of_two_of_channels(into: int, out: int, width: int) -> None:
    assert group_width(one_way(**groups(into, 4, out))) == width


POSITIONS = 2 * 14 * 14  # 392 positions, as in `one_way`
UNIT_LAST: dict[str, Any] = {"kernel": (1, 1), "dtype": "tf32", "channels_last": True}


@pytest.mark.parametrize(("given", "joined"), [
    # 1×1, forward: up to 8 channels in half precision, from 64 in TF32
    (dict(kernel=(1, 1), **groups(8, 4)), True), (dict(kernel=(1, 1), **groups(9, 4)), False),
    (dict(kernel=(1, 1), dtype="tf32", **groups(33, 4)), True),
    (dict(kernel=(1, 1), dtype="tf32", **groups(32, 4)), False),
    # 1×1, backward: in TF32 and channels last from 32 channels and 700 positions on
    (dict(kernel=(1, 1), direction="dgrad", n=1, spatial_out=(700, 1), **groups(17, 4)), False),
    (dict(direction="dgrad", n=1, spatial_out=(700, 1), **UNIT_LAST, **groups(17, 4)), True),
    (dict(direction="dgrad", n=1, spatial_out=(699, 1), **UNIT_LAST, **groups(17, 4)), False),
    (dict(direction="wgrad", n=1, spatial_out=(700, 1), **UNIT_LAST, **groups(16, 4)), False),
    # TF32: all except long filters
    (dict(dtype="tf32", kernel=(6, 6), **groups(64, 2)), True),
    (dict(dtype="tf32", kernel=(3, 7), **groups(64, 2)), False),
    # half precision, up to 8 channels: from 4 groups on; up to 16: from 8 on
    (groups(8, 4), True), (groups(8, 3), False), (groups(9, 8), True), (groups(16, 7), False),
    # 32 channels: from 8 groups with filters up to 3, any gradient, or from 40,000 positions on
    (groups(17, 8), True), (groups(32, 7), False), (dict(kernel=(3, 3), **groups(32, 8)), True),
    (dict(kernel=(4, 3), **groups(32, 8)), False),
    (dict(kernel=(4, 3), direction="dgrad", **groups(32, 8)), True),
    (dict(direction="dgrad", **groups(32, 7)), False),
    (dict(n=1, spatial_out=(40_000, 1), **groups(32, 2)), True),
    (dict(n=1, spatial_out=(39_999, 1), **groups(32, 2)), False),
    # wider: from 9,000 positions on; with padding from 1,500 on, in a gradient from 700 on
    (dict(n=1, spatial_out=(9_000, 1), **groups(64, 2)), True),
    (dict(n=1, spatial_out=(8_999, 1), **groups(64, 2)), False),
    (dict(n=3, spatial_out=(500, 1), **groups(33, 2)), True),
    (dict(n=1, spatial_out=(1_499, 1), **groups(33, 2)), False),
    (dict(n=1, spatial_out=(700, 1), direction="wgrad", **groups(33, 2)), True),
    (dict(n=1, spatial_out=(699, 1), direction="wgrad", **groups(33, 2)), False),
])  # fmt: skip
def test_groups_that_one_kernel_computes(given: dict[str, Any], joined: bool) -> None:
    assert run_together(one_way(**given)) is joined


@pytest.mark.parametrize(
    ("given", "sizes"),
    [
        # 32 groups of 4 channels: two products of 64 channels; the depth is 9 taps of 64 = 576
        (dict(**groups(4, 32)), (2, 392, 64, 576)),
        # 3 groups of 8 are 24 channels, less than a tile
        (dict(**groups(8, 3)), (1, 392, 24, 216)),
        # TF32: tiles of 32; 12 groups of 8 are 96
        (dict(dtype="tf32", **groups(8, 12)), (3, 392, 32, 288)),
        # one group is wider than a tile
        (dict(**groups(100, 2)), (2, 392, 128, 1152)),
        # 80 channels are two tiles of 64
        (dict(**groups(16, 5)), (2, 392, 64, 576)),
        # strides leave gaps in the gradient of the input
        (dict(direction="dgrad", stride=(2, 2), **groups(4, 32)), (2, 392, 64, 144)),
        # 64 channels over 128 positions of a stride leave less than one product
        (dict(direction="dgrad", kernel=(1, 1), stride=(16, 8), **groups(4, 32)), (2, 392, 64, 1)),
        # the gradient of the weight sums over positions
        (dict(direction="wgrad", depth=777, **groups(4, 32)), (2, 64, 576, 777)),
    ],
)
def test_a_joined_product(given: dict[str, Any], sizes: tuple[int, int, int, int]) -> None:
    joined = _joined(one_way(rows=392, **given))
    dims = joined.work.dims
    assert (dims["groups"], joined.rows, joined.columns, joined.depth) == sizes
    assert (
        dims["cin"]
        == dims["cout"]
        == sizes[0] * max(joined.columns if given.get("direction") != "wgrad" else joined.rows, 1)
    )
    assert joined.joined and not joined.few


def test_a_joined_product_has_tiles_of_its_own_sizes() -> None:
    """With 32 groups of 4 channels and 392 rows, 32 · 4 tiles of 128 × 128, one group each, become
    2 · 4 tiles with several groups each. These fill half of the multiprocessors, so the tiles count
    twice."""
    joined = _joined(one_way(rows=392, columns=4, blocks=2 * 32 * 4, **groups(4, 32)))
    assert joined.blocks == pytest.approx(2 * 2 * 4)


def depthwise(direction: str = "fwd", **given: Any) -> Work:
    own: dict[str, Any] = {
        "direction": direction, "dims": 2, "cin": 64, "cout": 64, "n": 4, "kernel": (3, 3),
        "stride": (1, 1), "dilation": (1, 1), "spatial_out": (16, 16), "channels_last": True,
    }  # fmt: skip
    return Work("conv", dims=own | given)


PLANAR = dict(channels_last=False, stride=(2, 2))


@pytest.mark.parametrize(("given", "single", "grouped"), [
    ({}, False, False), ({}, True, False),
    # one dimension, or other numbers of channels: not the direct kernels, except in float32
    (dict(dims=1, kernel=(4,), stride=(3,)), False, False),
    (dict(cout=128), False, False), (dict(cout=128), True, True),
    (dict(cout=128, channels_last=False), True, False),
    (dict(dilation=(2, 2)), False, True), (dict(dilation=(1, 2)), True, True),
    # row-major: stride 2, except forward rows of 8 pixels of several images
    (dict(channels_last=False), False, False),
    (dict(channels_last=False, stride=(1, 2)), False, False),
    (dict(spatial_out=(16, 8), **PLANAR), False, False),
    (dict(spatial_out=(16, 7), **PLANAR), False, True),
    (dict(n=1, **PLANAR), False, True), (dict(n=2, **PLANAR), False, False),
    (dict(direction="dgrad", **PLANAR), False, True),
    # square filters of odd sizes with strides of 1 and 2
    (dict(kernel=(7, 7)), False, False), (dict(kernel=(9, 9)), False, True),
    (dict(kernel=(2, 2)), False, True), (dict(kernel=(3, 5)), False, True),
    (dict(stride=(2, 2)), False, False), (dict(stride=(3, 3)), False, True),
    (dict(stride=(1, 2)), False, True),
    (dict(kernel=(1, 1)), False, False), (dict(kernel=(1, 1), stride=(2, 2)), False, True),
    (dict(direction="dgrad", kernel=(1, 1), stride=(2, 2)), False, False),
    (dict(direction="dgrad", kernel=(9, 9)), False, True),
    (dict(direction="dgrad", stride=(3, 3)), False, True),
    # float32 gradients of the weight: filters of 3 and 5; channels in multiples of four
    (dict(direction="wgrad"), True, False), (dict(direction="wgrad", cin=66, cout=66), True, True),
    (dict(direction="wgrad", cin=66, cout=66), False, False),
    (dict(direction="wgrad", kernel=(5, 5)), True, False),
    (dict(direction="wgrad", kernel=(7, 7)), True, True),
    (dict(direction="wgrad", kernel=(7, 7)), False, False),
    (dict(direction="wgrad", kernel=(1, 1)), True, True),
])  # fmt: skip
def test_depthwise_calls_that_the_direct_kernels_for_groups_run(
    given: dict[str, Any], single: bool, grouped: bool
) -> None:
    assert convolution_depthwise._grouped(depthwise(**given), single) is grouped


@pytest.mark.parametrize(("given", "single", "kind"), [
    (dict(n=8), False, "many"), (dict(n=7), False, ""), (dict(n=8), True, "single"),
    (dict(n=8, channels_last=False), False, ""), (dict(n=1), True, "single"),
    (dict(n=8, direction="dgrad"), False, ""), (dict(n=8, direction="wgrad"), True, ""),
    (dict(kernel=(2, 2)), False, "grouped"),
])  # fmt: skip
def test_kinds_of_depthwise_kernels(given: dict[str, Any], single: bool, kind: str) -> None:
    assert convolution_depthwise._kind(depthwise(**given), single=single) == kind


def names(works: Any) -> list[str]:
    return [f"{w.family} {w.dims.get('variant', '')}".strip() for w in works]


def lowered(**given: Any) -> list[str]:
    c = one_way(**given)
    work = msgspec.structs.replace(c.work, dims=c.work.dims | {"direction": c.direction})
    return names(convolution._on_tensor_cores(replace(c, work=work)))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        # one result for each of more than three groups with up to four channels
        (dict(cin=16, cout=4, groups=4), ["conv depthwise_grouped_fwd"]),
        (dict(cin=20, cout=4, groups=4), None),
        # fewer than four channels in half precision and row-major order: one by one
        (dict(cin=6, cout=16, groups=2), ["conv fwd_direct"] * 2),
        (dict(cin=15, cout=16 * 5, groups=5), ["conv fwd_direct"] * 5),
        # more than 32 taps in a row
        (dict(kernel=(1, 33)), ["conv fwd_direct_long"]),
        # 1×1 in TF32: one by one
        (dict(kernel=(1, 1), dtype="tf32", **groups(32, 4)), ["conv fwd_direct"] * 4),
        # two groups with few channels: only the forward pass
        (dict(**groups(8, 2)), ["conv fwd_direct"] * 2),
    ],
)
def test_kernels_of_groups(given: dict[str, Any], expected: list[str] | None) -> None:
    if expected is None:
        assert "conv depthwise_grouped_fwd" not in lowered(**given)
    else:
        assert lowered(**given) == expected


@pytest.mark.parametrize(
    ("given", "memsets"),
    [
        (dict(cin=4, kernel=(2, 2), adds=1e8 + 1, stride=(1, 1)), 1),
        (dict(cin=4, kernel=(2, 2), adds=1e8, stride=(1, 1)), 0),
        (dict(cin=4, kernel=(3, 3), adds=2e8, stride=(1, 1)), 0),
        (dict(cin=4, kernel=(2, 2), adds=2e8, dtype="tf32", stride=(1, 1)), 0),
    ],
)
def test_even_filters_of_few_channels_compute_their_offsets_first(
    given: dict[str, Any], memsets: int
) -> None:
    works = list(convolution._on_tensor_cores(one_way(depth=40, columns=63, **given)))
    assert names(works) == ["fill"] * memsets + ["conv fwd_direct"]
    if memsets:
        assert works[0].write_bytes == 4 * 40


@pytest.mark.parametrize(
    ("given", "adds_to_zeros"),
    [
        (dict(direction="wgrad", depth=200, kernel=(1, 1)), True),
        (dict(direction="wgrad", depth=200), True),
        (dict(direction="dgrad", kernel=(1, 1), stride=(2, 2)), False),
        (dict(direction="dgrad", rows=7999, columns=33), True),
    ],
)
def test_small_gradients_in_tf32_are_added_to_zeros(
    given: dict[str, Any], adds_to_zeros: bool
) -> None:
    if given.get("kernel") == (1, 1) and given["direction"] == "wgrad":
        given = given | {"stride": (2, 2)}
    works = list(convolution._on_tensor_cores(one_way(adds=1e6, dtype="tf32", **given)))
    direct = f"conv {given['direction']}_direct"
    assert names(works) == (["fill"] if adds_to_zeros else []) + [direct]
    if adds_to_zeros:
        assert works[0].write_bytes == 4 * 2 * 128 * 14 * 14


@pytest.mark.parametrize(("given", "first"), [
    (dict(direction="dgrad", stride=(2, 2), adds=1e8 + 1), 2 * 128 * 14 * 14 * 2),
    (dict(direction="dgrad", stride=(2, 2), adds=1e8), None),
    (dict(direction="dgrad", adds=3e8), None),
    (dict(blocks=400), 4), (dict(blocks=4, depth=4001), 4), (dict(blocks=4, depth=4000), None),
])  # fmt: skip
def test_the_zeros_before_the_main_kernel(given: dict[str, Any], first: int | None) -> None:
    works = list(convolution_nhwc.main_kernel(one_way(**given)))
    fills = [w.write_bytes for w in works if w.family == "fill"]
    assert fills == ([] if first is None else [first])
    assert works[len(fills)].family == "conv"


@pytest.mark.parametrize(("given", "summed"), [
    (dict(depth=1300 * 4, blocks=4), False), (dict(depth=1300 * 4 + 1, blocks=4), True),
    (dict(depth=2048, few=True), True), (dict(direction="fwd", depth=99999), False),
])  # fmt: skip
def test_parts_of_the_weights_gradient_are_summed(given: dict[str, Any], summed: bool) -> None:
    works = list(convolution_nhwc.main_kernel(one_way(**({"direction": "wgrad"} | given))))
    assert [w.family for w in works][-1] == ("reduction" if summed else "conv")


@pytest.mark.parametrize(
    ("given", "summed"),
    [
        (dict(direction="wgrad", blocks=6, depth=5000), True),
        (dict(direction="wgrad", blocks=7, depth=5000), False),
        (dict(direction="wgrad", blocks=6, depth=4999), False),
        (dict(direction="dgrad", blocks=6, depth=5000), False),
    ],
)
def test_plain_products_in_nhwc(given: dict[str, Any], summed: bool) -> None:
    works = list(convolution_nhwc.nhwc(one_way(kernel=(1, 1), channels_last=True, **given)))
    assert [w.family for w in works] == ["conv"] + ["reduction"] * summed
    assert works[0].dims["variant"] == f"{given['direction']}_plain"


def test_the_target_of_a_layer_in_nhwc_is_padded_out_again() -> None:
    """100 channels are 12.5 loads of 8 numbers: padded to 104, for the image and its results."""
    image = nhwc((2, 100, 14, 14), "float16")
    weight = tensor(((100, 100, 3, 3), "float16"))
    plain = one_way(channels_last=True)
    assert names(convolution_nhwc.nhwc(plain)) == ["conv"]
    odd = replace(plain, sources=(image, weight), target=image)
    works = list(convolution_nhwc.nhwc(odd))
    assert [w.family for w in works] == [
        "fill", "padding", "fill", "padding", "conv", "padding",
    ]  # fmt: skip
    assert works[0].write_bytes == 2 * 2 * 14 * 14 * 104
    assert works[2].write_bytes == 2 * 100 * 9 * 104
    assert [w.read_bytes for w in works if w.family == "padding"] == [
        2 * image.numel,
        2 * weight.numel,
        2 * image.numel,
    ]
