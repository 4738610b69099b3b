"""The clocks of a warp's load, and interpolations whose threads visit one plane after another."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.costs.spatial.warp_loads import load_clocks
from simulator.records import Tensor, row_major
from tests.simulator.costs.conftest import launched, sig


@pytest.mark.parametrize(
    ("step_bytes", "clocks"),
    [
        (4, 4),  # 32 values of 4 bytes are in 4 sectors: 2 + 0.42 · 4 clocks
        (128, 38),  # 32 sectors in one slot: 2 + 1.15 · 31
        (160, 15),  # 32 sectors spread over all four slots: 2 + 0.42 · 32
        (64, 19),  # 32 sectors in two slots: 2 + 1.15 · 15
    ],
)
def test_a_load_takes_clocks_for_its_sectors(step_bytes: int, clocks: int) -> None:
    assert load_clocks(step_bytes, step_bytes * 64, 64, 64, 64, 64) == clocks


@pytest.mark.parametrize(
    ("step_bytes", "row_bytes", "height", "width", "clocks"),
    [
        (8, 256, 1, 32, 5),  # 8 sectors from the first byte on: 2 + 0.42 · 8
        # rows of 4 values of 8 bytes, one in each sector
        (8, 32, 8, 4, 5),
        (8, 64, 8, 4, 5),  # every second sector, 8 in all, 4 in a slot: 2 + 1.15 · 3
        (8, 128, 8, 4, 10),  # all 8 in one slot: 2 + 1.15 · 7
    ],
)
def test_the_sectors_of_a_load(
    step_bytes: int, row_bytes: int, height: int, width: int, clocks: int
) -> None:
    assert load_clocks(step_bytes, row_bytes, height, width, height, width) == clocks


def test_a_warp_loads_from_the_middle_of_the_image() -> None:
    """Of 3 × 32 outputs, a warp loads those of the second row, from 16 values of 16 bytes. They
    begin at byte 336, in the middle of a sector, and lie in 9 sectors: 2 + 0.42 · 9."""
    assert load_clocks(16, 16 * 21, 3, 16, 3, 32) == 6


def test_lanes_beyond_the_last_output_load_it_again() -> None:
    """Four outputs from four sectors in one slot: 2 + 1.15 · 3."""
    assert load_clocks(128, 256, 2, 2, 2, 2) == 5


def test_enlarged_outputs_share_sectors() -> None:
    """Each value is read by 8 neighbouring outputs: 4 sectors, all in one slot: 2 + 1.15 · 3."""
    assert load_clocks(128, 128 * 8, 8, 8, 8, 64) == 5


def test_clocks_of_arrays_are_those_of_their_points() -> None:
    steps = np.array([4, 128, 160])
    each = [load_clocks(int(step), int(step) * 64, 64, 64, 64, 64) for step in steps]
    assert load_clocks(steps, steps * 64, 64, 64, 64, 64).tolist() == each


def bicubic_steps(channels: int, size: tuple[int, int], out: tuple[int, int], last: bool) -> int:
    """The steps of an interpolation of two fp32 images, with channels last or first."""
    (height, width), shape = size, (2, channels, *size)
    channels_last = (channels * height * width, 1, channels * width, channels)
    x = Tensor(shape, "float32", channels_last if last else row_major(shape))
    target = ((2, channels, *out), "float32")
    args = {"output_size": list(out)}
    _, work = launched(sig("aten.upsample_bicubic2d.default", target, None, args, self=x))
    assert work.dims["variant"] == "serial_cubic"
    return work.dims["steps"]


def test_bicubic_steps_are_planes_by_their_clocks() -> None:
    """A full block takes 32 warps · 16 loads · 2 clocks = 1,024 for a plane."""
    # a load of 16 values in two sectors takes 2 + 0.42 · 2, or 3 whole clocks; the 2 · 8 planes
    # take 2 · 8 · (32 · 16 · 3) / 1,024 = 24 steps
    assert bicubic_steps(8, (64, 64), (64, 128), last=False) == 24
    # 128 places are 4 warps; a load of 16 values in 16 sectors of one slot takes 2 + 1.15 · 15, or
    # 19 whole clocks; the 2 · 32 planes take 2 · 32 · (4 · 16 · 19) / 1,024 = 76 steps
    assert bicubic_steps(32, (8, 8), (16, 8), last=True) == 76
    # between equal sizes there is one load, of 32 sectors of one slot in 38 clocks; the 2 · 32
    # planes take 2 · 32 · (32 · 38) / 1,024 = 76 steps
    assert bicubic_steps(32, (64, 64), (64, 64), last=True) == 76
    # 32 · 4 clocks are less than the latency of 550: 2 · 8 planes · 550 / 1,024 = 8.6
    assert bicubic_steps(8, (64, 64), (64, 64), last=False) == 9
