"""The expected spread of rows over random groups, against random draws."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.costs.matmul.routing import groups_with_rows, row_tiles
from simulator.varying import walked


@pytest.mark.parametrize("rows", [1, 8, 100, 700, 4000, 20_000])
@pytest.mark.parametrize("groups", [8, 32, 128])
@pytest.mark.parametrize("height", [16, 128])
def test_groups_and_tiles_are_as_many_as_drawn(rows: int, groups: int, height: int) -> None:
    rng = np.random.default_rng(rows * groups)
    drawn = [np.bincount(rng.integers(0, groups, rows), minlength=groups) for _ in range(200)]
    chosen = np.mean([np.count_nonzero(counts) for counts in drawn])
    tiles = np.mean([np.ceil(counts / height).sum() for counts in drawn])
    assert groups_with_rows(rows, groups) == pytest.approx(chosen, rel=0.02)
    assert row_tiles(rows, groups, height) == pytest.approx(tiles, rel=0.03)


def test_one_group_has_all_rows() -> None:
    assert groups_with_rows(5, 1) == pytest.approx(1)
    assert row_tiles(256, 1, 128) == pytest.approx(2, rel=0.2)
    assert isinstance(row_tiles(5, 8, 128), float)


def test_many_points_equal_single_points() -> None:
    rows = np.arange(1, 4000, 37)
    every = np.zeros(rows.size)
    for tiles, points in walked(lambda numbers: row_tiles(numbers[0], 8, 16), rows[None]):
        every[points] = getattr(tiles, "values", tiles)
    assert every == pytest.approx([row_tiles(n, 8, 16) for n in rows.tolist()])
