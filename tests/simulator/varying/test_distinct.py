"""Distinct rows against a dictionary of their bytes."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.varying import distinct
from simulator.varying.distinct import distinct_rows


def by_bytes(table: np.ndarray) -> tuple[list[int], list[int]]:
    numbers: dict[bytes, int] = {}
    of = [numbers.setdefault(row.tobytes(), len(numbers)) for row in table]
    return [of.index(number) for number in range(len(numbers))], of


@pytest.mark.parametrize("columns", [1, 3, 16])
@pytest.mark.parametrize("values", [1, 2, 1000])
def test_they_are_those_of_equal_bytes(columns: int, values: int) -> None:
    draw = np.random.default_rng(values)
    for table in (
        *(draw.integers(0, values, (count, columns)) for count in (2, 7, 64, 65, 500)),
        draw.integers(0, values, (9, 2 * columns)).astype(float)[:, ::2],
        draw.integers(0, values, (500, columns)).astype(float),
        np.log2(draw.integers(0, values, (500, columns)) + 1.0)[:, ::-1],
        np.ones((1, columns)),
        np.array([[0.0], [-0.0], [np.nan], [0.0]]).repeat(columns, axis=1),
        np.zeros((0, columns)),
    ):
        first, of = distinct_rows(table)
        assert (first.tolist(), of.tolist()) == by_bytes(table)


def test_rows_that_share_a_checksum_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distinct, "_WEIGHT", np.uint64(1))  # now only the sum of the columns counts
    table = np.array([[1, 2], [2, 1], [1, 2], [0, 3], [2, 1], [1, 2]] * 12)
    first, of = distinct_rows(table)
    assert len(first) > 3  # the sum does count, as it is the same for all rows
    assert (table[first][of] == table).all()
