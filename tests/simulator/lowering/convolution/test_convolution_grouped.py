"""Grouped convolutions: which groups one kernel computes together, as recorded on an H200."""

from __future__ import annotations

from collections import Counter

import pytest

from simulator.hardware.gpu import gpu
from tests.simulator.lowering.convolution.convolution_calls import backward, conv, kernels

JOINED = {"conv fwd_joined": 1}
PADDED = {"fill": 2, "padding generic": 3, "conv fwd_joined": 1}


def run(dtype: str, n: int, width: int, groups: int, side: int, last: bool = True) -> Counter[str]:
    """The kernels of a 3 × 3 convolution of [n, width · groups, side, side]."""
    channels = width * groups
    op = conv(
        dtype, (n, channels, side, side), (channels, width, 3, 3), side, groups=groups, last=last
    )
    names = (f"{k.family} {k.dims.get('variant', '')}".strip() for k in kernels(op))
    # the copy of the weight to channels last
    return Counter(name for name in names if name != "copy")


@pytest.mark.parametrize(
    ("dtype", "n", "width", "groups", "side", "recorded"),
    [
        ("bfloat16", 8, 4, 32, 48, JOINED),
        ("float16", 2, 8, 4, 16, JOINED),
        ("bfloat16", 1, 16, 32, 8, JOINED),
        ("bfloat16", 6, 24, 32, 9, PADDED),
        ("bfloat16", 29, 24, 32, 13, PADDED | {"fill": 3}),
        ("float32", 3, 48, 2, 30, PADDED),
        ("float32", 2, 16, 8, 15, JOINED),
    ],
)
def test_thin_groups_run_together_and_are_padded_to_powers_of_two(
    dtype: str, n: int, width: int, groups: int, side: int, recorded: dict[str, int]
) -> None:
    assert run(dtype, n, width, groups, side) == recorded


def test_wide_groups_over_few_positions_run_one_by_one() -> None:
    many, few = run("bfloat16", 73, 64, 32, 13), run("bfloat16", 3, 64, 32, 10)
    assert many["conv fwd_joined"] == 1
    assert (few["conv fwd_joined"], few["conv "] + few["conv"]) == (0, 32)


def test_a_row_major_convolution_converts_around_the_joined_kernel() -> None:
    assert run("bfloat16", 7, 4, 32, 17, last=False) == {"layout": 3, "conv fwd_joined": 1}


def test_a_joined_kernel_multiplies_the_channels_of_neighbouring_groups() -> None:
    """8 groups of 8 channels are one product of 64 by 64 channels: [400, 576] by [576, 64], for
    each of the 4 such blocks of 256 channels."""
    op = conv("bfloat16", (4, 256, 10, 10), (256, 8, 3, 3), 10, groups=32, last=True)
    kernel = kernels(op)[-1]
    assert (kernel.dims["positions"], kernel.dims["depth"], kernel.dims["columns"]) == (
        400,
        576,
        64,
    )
    assert kernel.dims["groups"] == 4
    assert kernel.flops == 2 * 400 * 256 * 8 * 9


def test_on_volta_each_tap_of_a_group_fills_steps_of_32_channels() -> None:
    op = conv("float16", (8, 8, 28, 28), (8, 4, 3, 3), 28, groups=2)
    (kernel,) = [work for work in kernels(op, gpu("v100")) if work.family == "conv"]
    # 3·3 taps of 4 channels per group, each padded to one step: 9·32
    assert (kernel.dims["groups"], kernel.dims["depth"]) == (2, 288)


@pytest.mark.parametrize(
    ("n", "groups", "side", "stride", "recorded"),
    [
        (8, 6, 16, 1, (1, 1)),  # NFNet-L0, whose groups have 64 channels each
        (8, 6, 8, 1, (1, 6)),
        (8, 6, 16, 2, (6, 1)),
        (8, 2, 32, 1, (1, 1)),
        (30, 4, 13, 1, (1, 1)),
        (29, 32, 8, 1, (1, 1)),
        (40, 8, 6, 2, (8, 1)),
    ],
)
def test_gradients_of_64_channels_run_together_as_recorded(
    n: int, groups: int, side: int, stride: int, recorded: tuple[int, int]
) -> None:
    channels = 64 * groups
    x = (n, channels, side * stride, side * stride)
    op = backward("bfloat16", x, (channels, 64, 3, 3), side, stride=stride, groups=groups)
    names = Counter(k.dims["direction"] for k in kernels(op) if k.family == "conv")
    assert (names["dgrad"], names["wgrad"]) == recorded
