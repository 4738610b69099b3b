"""Mean residuals of many points at once against those of single works."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.costs import Work
from simulator.timing.residuals import Residual

WORKS = [Work("copy", flops=0, read_bytes=n, write_bytes=0) for n in (1 << 10, 1 << 14, 1 << 20)]


def residual() -> Residual:
    """Copies of 2¹⁰ to 2²⁰ bytes: residuals of 0.1 to 0.5 for copies from DRAM, and −0.1 to −0.5
    from L2."""
    points = [[float(power), hot] for hot in (0.0, 1.0) for power in (10, 14, 20)]
    values = [0.1, 0.3, 0.5, -0.1, -0.3, -0.5]
    return Residual.measured(["bytes", "hot"], [2.0, 0.1], points, values, 0.4, 0.001)


def test_a_work_from_dram_is_above_the_physics_and_from_l2_below() -> None:
    assert residual().of(WORKS, 1) == pytest.approx(
        np.array([[0.1, -0.1], [0.3, -0.3], [0.5, -0.5]]), abs=0.01
    )


def test_points_of_works_at_once_are_the_single_works() -> None:
    alone = residual().of(WORKS, 1)
    together = residual().of(WORKS, 1, [1, 1, 1], np.array([True, False, True]))
    assert together[:, 0] == pytest.approx(alone[:, 0], rel=1e-12)
    assert together[[0, 2], 1] == pytest.approx(alone[[0, 2], 1], rel=1e-12)


def test_points_are_measured_in_units_of_features_and_scaled_by_lengths() -> None:
    # a length of 2 in the logarithm of bytes, and of 0.1 in the share from L2
    measured = np.array([[10.0, 0.0], [14.0, 0.0], [20.0, 0.0], [10.0, 1.0], [14.0, 1.0], [20, 1]])
    assert residual().measured_points.tolist() == measured.tolist()
    assert residual().scaled_points == pytest.approx(measured / [2.0, 0.1])


LENGTH = "a length that is not above 0 and at most 1e+09"


@pytest.mark.parametrize(
    ("features", "lengths", "points", "values", "message"),
    [
        ("ab", (1.0, 0.0), bytes(4), bytes(2), LENGTH),
        ("ab", (0.0, 1.0), bytes(4), bytes(2), LENGTH),
        ("ab", (1.0, -1.0), bytes(4), bytes(2), LENGTH),
        ("ab", (2e9, 1.0), bytes(4), bytes(2), LENGTH),
        ("ab", (1.0, float("nan")), bytes(4), bytes(2), LENGTH),
        ("ab", (1.0,), bytes(4), bytes(2), "1 lengths for 2 features"),
        (
            "ab",
            (1.0, 1.0),
            bytes(6),
            bytes(2),
            "6 bytes of points: expected 4 for each of 1 values",
        ),
        (
            "ab",
            (1.0, 1.0),
            bytes(6),
            bytes(3),
            "6 bytes of points: expected 4 for each of 1 values",
        ),
        ("a", (1.0,), bytes(4), bytes(2), "4 bytes of points: expected 2 for each of 1 values"),
    ],
)
def test_columns_that_do_not_fit_are_refused(
    features: str, lengths: tuple[float, ...], points: bytes, values: bytes, message: str
) -> None:
    with pytest.raises(ValueError) as caught:
        Residual(tuple(features), lengths, points, values, 0.4, 0.001)
    assert str(caught.value) == message


def test_a_length_of_up_to_a_thousand_million_is_accepted() -> None:
    wide = Residual(("a", "b"), (1e9, 1e-9), bytes(4), bytes(2), 0.4, 0.001)
    assert wide.scaled_points.tolist() == [[0.0, 0.0]]
