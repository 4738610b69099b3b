"""The nearest points are those that looking at all of them finds."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.timing.nearest import Neighbours


def by_looking_at_all(
    points: np.ndarray, asked: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray]:
    squares = ((asked[:, None] - points[None]) ** 2).sum(axis=2)
    near = np.sort(np.argsort(squares.round(9), axis=1, kind="stable")[:, :count], axis=1)
    return near, np.sqrt(np.take_along_axis(squares, near, axis=1))


@pytest.mark.parametrize("axes", [1, 2, 7])
@pytest.mark.parametrize("asked", [1, 5, 700])
def test_they_are_those_of_all_points(axes: int, asked: int) -> None:
    draw = np.random.default_rng(axes * asked)
    points = draw.normal(0, 3, (400, axes))
    # some asked points are far from all, and some are measured ones
    where = np.concatenate([draw.normal(0, 4, (asked, axes)), points[:3], points[:1] + 1e4])
    near, far = Neighbours(points, 20).of(where)
    expected, distance = by_looking_at_all(points, where, 20)
    assert near[:-1].tolist() == expected[:-1].tolist()
    np.testing.assert_allclose(far[:-1], distance[:-1], rtol=1e-9, atol=1e-12)
    assert (far[-1] > 5e3).all()


def test_of_many_candidates_none_is_lost() -> None:
    draw = np.random.default_rng(5)
    points = np.concatenate([draw.normal(0, 1, (3000, 4)), draw.normal(300, 40, (500, 4))])
    asked = draw.normal(0, 2, (50, 4))  # the members of one cluster lie apart
    near, _ = Neighbours(points, 48).of(asked)
    assert near.tolist() == by_looking_at_all(points, asked, 48)[0].tolist()


def test_of_equally_near_ones_the_first_are_taken_in_any_company() -> None:
    # a grid: from the middle of a square 4 points are as near, then 8, then 4 …
    points = np.stack(np.meshgrid(np.arange(20.0), np.arange(20.0)), axis=-1).reshape(-1, 2)
    asked = points + 0.5
    found = Neighbours(points, 6)
    near, _ = found.of(asked)
    assert near.tolist() == by_looking_at_all(points, asked, 6)[0].tolist()
    alone = [found.of(asked[i : i + 1])[0][0].tolist() for i in range(0, 400, 7)]
    assert alone == near[::7].tolist()
    # around (3.5, 3.5): the four corners, and of the eight at √2.5 the two that come first
    assert near[3 * 20 + 3].tolist() == [2 * 20 + 3, 2 * 20 + 4, 63, 64, 83, 84]


def test_fewer_points_than_wanted_are_all_near() -> None:
    near, far = Neighbours(np.array([[0.0], [4.0]]), 48).of(np.array([[1.0], [5.0]]))
    assert near.tolist() == [[0, 1], [0, 1]]
    np.testing.assert_allclose(far, [[1, 3], [5, 1]], rtol=1e-12)
