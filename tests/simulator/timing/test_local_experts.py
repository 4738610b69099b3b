"""Local experts: with few points they equal the exact process, with many they are close to it."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from simulator.caches.lru import LRUCache
from simulator.timing import local_experts as module
from simulator.timing.local_experts import (
    Experts,
    LocalExperts,
    _places,
    cells,
    local_experts,
)

SPREAD = 0.3


def exact(
    points: np.ndarray, values: np.ndarray, noise: np.ndarray, queries: np.ndarray
) -> np.ndarray:
    """The mean of the process over all points."""

    def covariance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return SPREAD**2 * np.exp(-np.linalg.norm(a[:, None] - b[None], axis=2))

    own = covariance(points, points) + np.diag(noise**2)
    return covariance(queries, points) @ np.linalg.solve(own, values)


def drawn(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points on a plane, their values and their noise."""
    rng = np.random.default_rng(count)
    points = rng.uniform(0, 8, (count, 2)).round(2)
    values = 0.3 * np.sin(points[:, 0]) + rng.normal(0, 0.02, count)
    return points, values, rng.uniform(0.01, 0.1, count)


def test_one_point_by_hand() -> None:
    experts = local_experts(np.zeros((1, 1)), np.array([0.5]), 2.0, np.array([1.0]))
    # the weight is 0.5 / (2² + 1²); at distance 1 the covariance is 2²·e⁻¹
    assert np.frombuffer(experts.weights, "<f4") == pytest.approx([0.1])
    mean = LocalExperts(np.zeros((1, 1)).__getitem__, 2.0, experts).means(
        np.array([[0.0], [1.0], [-1.0]])
    )
    assert mean == pytest.approx([0.4, 0.4 * np.exp(-1), 0.4 * np.exp(-1)], rel=1e-6)


def test_few_points_are_one_exact_expert() -> None:
    points, values, noise = drawn(320)
    queries = np.random.default_rng(1).uniform(-2, 10, (50, 2))
    experts = local_experts(points, values, SPREAD, noise)
    assert experts.size == 320 and len(experts.points) == 2 * 320
    means = LocalExperts(points.__getitem__, SPREAD, experts).means(queries)
    np.testing.assert_allclose(means, exact(points, values, noise, queries), atol=1e-5)


def test_experts_of_many_points_are_close_to_the_exact_process() -> None:
    points, values, noise = drawn(1500)
    queries = np.random.default_rng(1).uniform(-1, 9, (200, 2))
    means = LocalExperts(
        points.__getitem__, SPREAD, local_experts(points, values, SPREAD, noise)
    ).means(queries)
    away = np.abs(means - exact(points, values, noise, queries))
    assert np.median(away) < 1e-4 and away.max() < 0.01


def test_every_point_has_one_cell_and_an_expert_that_knows_it() -> None:
    points, _, _ = drawn(1500)
    parts = cells(points)
    assert np.sort(np.concatenate([cell.own for cell in parts])).tolist() == list(range(1500))
    for own, known in parts:
        assert len(set(known.tolist())) == len(known) == 320
        assert set(own.tolist()) <= set(known.tolist())
        assert known[0] in own
        # the expert of a cell is the expert of its centre, because no other centre is nearer
        centres = points[[cell.known[0] for cell in parts]]
        away = np.linalg.norm(points[own][:, None] - centres[None], axis=2)
        to_own = np.linalg.norm(points[own] - points[known[0]], axis=1)
        np.testing.assert_allclose(to_own, away.min(axis=1), atol=1e-9)


def test_cells_are_those_of_eight_rounds_from_a_fixed_draw() -> None:
    """The same measurements have the same experts in each fit: cells begin at 1 of 48 points, drawn
    by generator 0, and their centres become the points nearest to the final means."""
    points, _, _ = drawn(700)
    # two centres are far from all other points, and from each other
    points[np.random.default_rng(0).permutation(700)[[3, 8]]] = [[500.0, 500.0], [500.0, 600.0]]

    def nearest(to: np.ndarray, of: np.ndarray) -> np.ndarray:
        return np.linalg.norm(of[:, None] - to[None], axis=2).round(9).argmin(axis=1)

    centres = points[np.random.default_rng(0).permutation(700)[: 700 // 48]]
    for _ in range(8):
        own = nearest(centres, points)
        centres = np.array([points[own == cell].mean(axis=0) for cell in sorted(set(own.tolist()))])
    middle = np.unique(nearest(points, centres))
    own = nearest(points[middle], points)
    expected = [np.flatnonzero(own == cell).tolist() for cell in range(len(middle))]
    assert [cell.own.tolist() for cell in cells(points)] == expected
    assert [cell.known[0] for cell in cells(points)] == middle.tolist()


def test_a_mean_is_the_same_in_any_company(monkeypatch: pytest.MonkeyPatch) -> None:
    points, values, noise = drawn(700)
    process = LocalExperts(points.__getitem__, SPREAD, local_experts(points, values, SPREAD, noise))
    # some are measured points, some lie halfway between two centres, and one is far from all
    centres = points[process._numbers[:, 0]]
    middle = (centres[1:] + centres[:-1]) / 2
    queries = np.concatenate([points[:40], middle, np.full((1, 2), 1e4), drawn(90)[0]])
    together = process.means(queries)
    alone = np.concatenate([process.means(point[None]) for point in queries])
    np.testing.assert_allclose(alone, together, rtol=1e-12, atol=1e-15)
    monkeypatch.setattr(module, "_AT_ONCE", 700)  # two points at a time
    np.testing.assert_allclose(process.means(queries), together, rtol=1e-12, atol=1e-15)


def test_processes_share_a_bound_on_the_points_of_experts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_KNOWN_EXPERTS", LRUCache[object](3))
    before = points_in_memory()
    processes = [
        LocalExperts(points.__getitem__, SPREAD, local_experts(points, values, SPREAD, noise))
        for points, values, noise in (drawn(700), drawn(800))
    ]
    queries = np.random.default_rng(1).uniform(0, 8, (300, 2))
    means = [process.means(queries) for process in processes]
    assert min(len(process._numbers) for process in processes) > 3
    # points of 3 experts, and the centres of 2 processes
    assert points_in_memory() - before == 3 + 2
    for process, first in zip(processes, means, strict=True):
        np.testing.assert_array_equal(process.means(queries), first)


def points_in_memory() -> int:
    """The number of groups of points to which distances are computed."""
    gc.collect()
    return sum(isinstance(thing, module._Points) for thing in gc.get_objects())


def test_more_points_than_numbers_are_refused() -> None:
    with pytest.raises(ValueError) as caught:
        local_experts(np.zeros((65_537, 1)), np.zeros(65_537), 1.0, np.ones(65_537))
    assert str(caught.value) == "65537 points of one process: expected at most 65536"


@pytest.mark.parametrize(
    ("size", "points", "weights", "complaint"),
    [
        (0, [], [], "experts without 0 points each"),
        (2, [], [], "experts without 2 points each"),
        (2, [0, 1, 2], [1.0] * 3, "experts without 2 points each"),
        (2, [0, 1], [1.0], "experts without a weight for each point"),
        (2, [0, 3], [1.0, 1.0], "experts of points beyond the 3 that were measured"),
        (2, [0, 1], [1.0, np.nan], "an expert's weight that is not a finite number"),
    ],
)
def test_experts_of_another_process_are_refused(
    size: int, points: list[int], weights: list[float], complaint: str
) -> None:
    experts = Experts(size, np.array(points, "<u2").tobytes(), np.array(weights, "<f4").tobytes())
    with pytest.raises(ValueError) as caught:
        experts.check(3)
    assert str(caught.value) == complaint


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_the_nearest_centre_is_that_of_all_distances(count: int) -> None:
    draw = np.random.default_rng(count)
    centres, points = draw.uniform(0, 9, (count, 3)), draw.uniform(0, 9, (200, 3))
    distances = np.linalg.norm(points[:, None] - centres[None], axis=2)
    nearest = module._nearest(points, module._Points(centres))
    assert nearest.tolist() == distances.argmin(axis=1).tolist()
    assert len(set(nearest.tolist())) == count


def test_squares_below_the_limit_are_computed_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Expanded squares of points far from the middle are rounded to multiples of about 10⁻⁴."""
    others = module._Points(np.array([[0.1], [3e6]]))
    points = np.array([[0.7], [0.9]])
    monkeypatch.setattr(module, "_CLOSE", 0.0)
    expanded = module._squares(points, others)[:, 0]
    direct = (points[:, 0] - 0.1) ** 2
    assert abs(expanded - direct).min() > 1e-6
    monkeypatch.setattr(module, "_CLOSE", expanded[1])  # one is below the limit, one equals it
    squares = module._squares(points, others)[:, 0]
    assert squares.tolist() == [pytest.approx(direct[0], rel=1e-9), expanded[1]]


@pytest.mark.parametrize("count", [1, 32, 33, 200])
def test_few_and_many_points_find_their_experts(count: int) -> None:
    numbers = np.random.default_rng(count).integers(0, 5, count)
    places = {number: each.tolist() for number, each in _places(numbers)}
    expected = {int(n): np.flatnonzero(numbers == n).tolist() for n in np.unique(numbers)}
    assert places == expected


@pytest.mark.parametrize(("nearer", "nearest"), [(0.4e-9, 0), (0.6e-9, 1), (1.6e-9, 1), (-1e-9, 0)])
def test_distances_that_differ_by_rounding_count_as_equal(nearer: float, nearest: int) -> None:
    """The second centre is nearer by less than a thousand-millionth: half of it is rounded up."""
    centres = module._Points(np.array([[1.0], [-np.sqrt(1.0 - nearer)]]))
    assert module._nearest(np.zeros((1, 1)), centres).tolist() == [nearest]
