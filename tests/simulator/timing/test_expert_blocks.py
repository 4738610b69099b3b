"""The number of distances and means that local experts compute at a time, and the size of their
cells."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.timing import local_experts as module
from simulator.timing.local_experts import LocalExperts, cells, local_experts
from tests.simulator.timing.test_local_experts import SPREAD, drawn


def test_a_cell_has_about_48_points() -> None:
    """2,400 points begin in 50 cells; at the end each of 50 means is nearest to about as many
    points."""
    parts = cells(drawn(2400)[0])
    assert 45 <= len(parts) <= 50
    sizes = [len(cell.own) for cell in parts]
    assert sum(sizes) == 2400 and 30 < np.median(sizes) < 60
    # Lloyd's rounds make the cells similar in size
    assert max(sizes) < 2.2 * 48


def test_320_points_are_one_cell_and_321_are_several() -> None:
    assert len(cells(drawn(320)[0])) == 1
    assert len(cells(drawn(321)[0])) == 6  # 321 // 48


def recorded(monkeypatch: pytest.MonkeyPatch, name: str) -> list[tuple[int, int]]:
    """The numbers of points and centres in each call of a distance function."""
    calls: list[tuple[int, int]] = []
    plain = getattr(module, name)

    def call(points: np.ndarray, others: module._Points) -> np.ndarray:
        calls.append((len(points), len(others.beside)))
        return plain(points, others)

    monkeypatch.setattr(module, name, call)
    return calls


def test_nearest_centres_are_compared_in_blocks_that_fit_a_cache(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """1 MiB holds 131,072 distances: 43,690 points with 3 centres each."""
    calls = recorded(monkeypatch, "_squares")
    points = np.random.default_rng(2).uniform(0, 9, (100_000, 1))
    module._nearest(points, module._Points(np.array([[1.0], [4.0], [8.0]])))
    assert calls == [(43_690, 3), (43_690, 3), (12_620, 3)]
    calls.clear()
    assert module._nearest(points, module._Points(np.array([[1.0]]))).tolist() == [0] * 100_000
    assert calls == []  # there is only one centre
    # more centres than a block holds distances: one point at a time
    monkeypatch.setattr(module, "_AT_ONCE", 2)
    module._nearest(points[:4], module._Points(np.array([[1.0], [4.0], [8.0]])))
    assert calls == [(1, 3)] * 4


def test_means_are_computed_96_rows_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    points, values, noise = drawn(300)
    process = LocalExperts(points.__getitem__, SPREAD, local_experts(points, values, SPREAD, noise))
    queries = np.random.default_rng(1).uniform(0, 8, (1000, 2))
    calls = recorded(monkeypatch, "_correlation")
    process.means(queries)
    # 131,072 // 300 = 436 distances at a time, for the one expert of 300 points
    assert calls == [*[(96, 300)] * 4, (52, 300)] * 2 + [(96, 300), (32, 300)]
    # at least one point at a time
    calls.clear()
    monkeypatch.setattr(module, "_AT_ONCE", 2)
    process.means(queries[:3])
    assert calls == [(1, 300)] * 3


def test_cells_do_not_depend_on_where_zero_is() -> None:
    """Of several centres at the same point, the first one keeps its cell, and the others vanish."""
    rng = np.random.default_rng(4)
    points = np.concatenate([np.full((300, 2), 64.0), rng.integers(0, 512, (300, 2)) / 4])
    first, shifted = cells(points), cells(points + 4096.0)
    assert [cell.own.tolist() for cell in first] == [cell.own.tolist() for cell in shifted]
    assert [cell.known[0] for cell in first] == [cell.known[0] for cell in shifted]


def test_an_expert_begins_with_its_centre_even_among_equal_points() -> None:
    rng = np.random.default_rng(5)
    points = np.repeat(rng.uniform(0, 8, (200, 2)).round(2), 2, axis=0)
    for own, known in cells(points):
        mean = points[own].mean(axis=0)
        away = np.linalg.norm(points[own] - mean, axis=1)
        assert len(set(known.tolist())) == 320
        # the points of an expert are the nearest to any point of the cell
        nearest = np.linalg.norm(points[:, None] - points[own][None], axis=2).min(axis=1)
        left_out = np.setdiff1d(np.arange(400), known)
        assert nearest[known].max() <= nearest[left_out].min() + 1e-12
        assert np.linalg.norm(points[known[0]] - mean) <= np.median(away)
