"""The expected maximum of normal numbers."""

from math import asin, pi, sqrt

import pytest

from simulator.parallel.jitter import largest


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (1, 0.0),
        (2, 1 / sqrt(pi)),
        (3, 1.5 / sqrt(pi)),
        (4, 3 / sqrt(pi) * (0.5 + asin(1 / 3) / pi)),
        (5, 2.5 / sqrt(pi) * (0.5 + 3 * asin(1 / 3) / pi)),
    ],
)  # fmt: skip
def test_the_maximum_of_a_few_normal_numbers(count: int, expected: float) -> None:
    assert largest(count) == pytest.approx(expected, rel=1e-12)


def test_the_maximum_of_many_normal_numbers() -> None:
    assert largest(64) == pytest.approx(2.3437334650791, rel=1e-12)  # scipy.integrate.quad
