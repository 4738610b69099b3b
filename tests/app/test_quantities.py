"""Numbers as people read them."""

import pytest

from app.quantities import data, number, percent, scaled, seconds


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"), (1, "1.00"), (7.926, "7.93"), (9.996, "10.0"), (99.96, "100"), (999.6, "1,000"),
        (1234.5, "1,230"), (1_234_567, "1,230,000"), (0.01234, "0.0123"), (0.09996, "0.100"),
        (1.5e-7, "0.000000150"), (-3.21, "−3.21"), (float("inf"), "∞"), (float("nan"), "unknown"),
    ],
)  # fmt: skip
def test_three_digits_and_never_an_exponent(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 s"), (7.926e-3, "7.93 ms"), (9.996e-4, "1.00 ms"), (4.2e-6, "4.20 µs"),
        (8.6e-7, "860 ns"), (3e-12, "0.00300 ns"), (71.4, "71.4 s"), (7200, "7,200 s"),
    ],
)  # fmt: skip
def test_seconds_in_the_unit_that_fits(value: float, text: str) -> None:
    assert seconds(value) == text


def test_prefixes() -> None:
    assert scaled(66.9e12, "FLOP/s") == "66.9 TFLOP/s"
    assert scaled(999_900, "FLOP") == "1.00 MFLOP"
    assert scaled(12, "FLOP") == "12.0 FLOP"
    assert data(440_426_496) == "420 MiB"  # 440,426,496 / 2^20 = 420.02
    assert data(512) == "512 B"


def test_shares() -> None:
    assert [percent(x) for x in (0, 0.001, 0.934, 1, 1.2)] == ["0%", "<1%", "93%", "100%", "120%"]
