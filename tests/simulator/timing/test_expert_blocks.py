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
