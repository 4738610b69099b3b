"""Matrix products that one thread computes in parts equal those of numpy."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest

from simulator.timing.products import Floats, long_parts, product, weighted_sum


@pytest.mark.parametrize("shapes", [
    ((409, 9), (9, 320)), ((3, 9), (9, 320)), ((130, 90), (90, 1001)), ((40, 3000), (3000, 7)),
    ((1000, 320), (320,)), ((5, 4), (4,)), ((17, 20_000), (20_000,)), ((0, 3), (3, 5)),
    ((7, 0), (0, 5)), ((1, 1), (1, 400_000)),
])  # fmt: skip
def test_parts_make_the_product(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    chance = np.random.default_rng(1)
    one, other = (chance.normal(size=shape) for shape in shapes)
    # sums of at most 20,000 products near 1 have rounding errors of about sqrt(20,000) · 1e-16
    np.testing.assert_allclose(product(one, other), one @ other, rtol=0, atol=1e-12)


def test_products_of_whole_numbers_are_exact() -> None:
    sizes = np.arange(300.0)[:, None] * np.arange(1, 2001) + 2**40
    counts = np.tile(np.arange(300.0) % 3, (50, 1))
    # Σ (i mod 3)·(i·p + 2⁴⁰) = p·Σ (i mod 3)·i + 300·2⁴⁰, with Σ (i mod 3)·i = 45,050
    expected = 45_050 * np.arange(1, 2001) + 300 * 2**40
    assert sum((i % 3) * i for i in range(300)) == 45_050
    np.testing.assert_array_equal(product(counts, sizes), np.tile(expected, (50, 1)))


@pytest.mark.parametrize(
    ("count", "most", "ends"),
    [
        (58, 28, [24, 48, 58]),
        (53, 28, [24, 40, 53]),  # 24 + 16 + 13, because a last part of 5 would be too short
        (9, 3, [9]),
        (16, 8, [8, 16]),
        (5, 100, [5]),
        (0, 8, []),
    ],
)
def test_long_parts(count: int, most: int, ends: list[int]) -> None:
    parts = long_parts(count, most)
    assert [part.stop for part in parts] == ends
    assert [part.start for part in parts] == [0, *ends[:-1]][: len(ends)]


def test_a_row_has_equal_bits_in_any_number_of_rows() -> None:
    chance = np.random.default_rng(3)
    rows, weights = np.exp(-np.abs(chance.normal(size=(409, 320)))), chance.normal(size=320)
    whole = product(rows, weights)
    for count in (32, 96, 160, 400):
        assert product(rows[:count], weights).tobytes() == whole[:count].tobytes()


@pytest.mark.parametrize("shapes", [((409, 9), (9, 320)), ((409, 320), (320,))])
def test_one_thread_works(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    one, other = (np.ones(shape) for shape in shapes)
    # threads of an earlier product may still be ending; threads left over would run at each attempt
    assert any(_by_other_threads(product, one, other) < 0.2 for _ in range(5))


@pytest.mark.parametrize("shape", [(130, 1000), (70_000,)])
def test_one_thread_sums_figures(shape: tuple[int, ...]) -> None:
    counts, figures = np.ones(shape[0]), np.ones(shape)
    assert any(_by_other_threads(weighted_sum, counts, figures) < 0.2 for _ in range(5))


@pytest.mark.parametrize("rows", [0, 3, 9_999, 10_001, 34_070])
def test_a_weighted_sum_is_that_of_its_rows(rows: int) -> None:
    counts = np.arange(rows) % 3
    expected = sum((i % 3) * i for i in range(rows))
    assert weighted_sum(counts.astype(float), np.arange(float(rows))) == expected
    figures = np.arange(float(rows))[:, None] * [1.0, 2.0]
    np.testing.assert_array_equal(
        weighted_sum(counts.astype(float), figures), [expected, 2 * expected]
    )


def _by_other_threads(
    multiply: Callable[[Floats, Floats], Floats], one: Floats, other: Floats
) -> float:
    """The time of other threads, relative to that of this one."""
    all_s, mine_s = time.process_time(), time.thread_time()
    for _ in range(300):
        multiply(one, other)
    all_s, mine_s = time.process_time() - all_s, time.thread_time() - mine_s
    return all_s / mine_s - 1
