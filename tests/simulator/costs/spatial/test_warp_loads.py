"""The clocks of a warp's load, and interpolations whose threads visit plane after plane."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.costs.spatial.warp_loads import load_clocks


@pytest.mark.parametrize(
    ("step_bytes", "clocks"),
    [
        (4, 4),  # 32 values of 4 bytes in 4 sectors: 2 + 0.42 · 4
        (128, 38),  # 32 sectors of one slot: 2 + 1.15 · 31
        (160, 15),  # 32 sectors over all four slots: 2 + 0.42 · 32
        (64, 19),  # 32 sectors in two slots: 2 + 1.15 · 15
    ],
)
def test_a_load_takes_clocks_for_its_sectors(step_bytes: int, clocks: int) -> None:
    assert load_clocks(step_bytes, step_bytes * 64, 64, 64, 64, 64) == clocks


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
