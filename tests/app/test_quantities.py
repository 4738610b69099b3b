"""Numbers as readable text."""

import pytest

from app.quantities import (
    between,
    change,
    data,
    number,
    percent,
    plain,
    scaled,
    seconds,
    signed_seconds,
    trimmed,
)


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
        (8.6e-7, "860 ns"), (3e-12, "0.00300 ns"), (71.4, "71.4 s"), (600, "10.0 min"),
        (7200, "2.00 h"), (180_000, "2.08 days"), (86400 * 365 * 31, "31.0 years"),
    ],
)  # fmt: skip
def test_seconds_in_the_unit_that_fits(value: float, text: str) -> None:
    assert seconds(value) == text


def test_prefixes() -> None:
    assert scaled(66.9e12, "FLOP/s") == "66.9 TFLOP/s"
    assert scaled(999_900, "FLOP") == "1.00 MFLOP"
    assert scaled(12, "FLOP") == "12.0 FLOP"
    assert data(440_426_496) == "420 MiB"  # 440,426,496 / 2^20 = 420.02
    assert data(512) == "512 B" and data(3) == "3 B" and data(-40) == "−40 B"
    assert data(8192) == "8.00 KiB"
    assert data(5 * 2**40) == "5.00 TiB" and data(2.5 * 2**50) == "2.50 PiB"


def test_shares() -> None:
    assert [percent(x) for x in (0, 0.001, 0.934, 1, 1.2)] == ["0%", "<1%", "93%", "100%", "120%"]


def test_changes() -> None:
    pairs = ((1, 0.41), (1, 1.03), (1, 2.4), (1, 1), (1, 0.998), (1000, 1), (0, 0), (0, 1))
    assert [change(a, b) for a, b in pairs] == [
        "−59%",
        "+3%",
        "2.4×",
        "0%",
        "−0.2%",
        "−99.9%",
        "0%",
        "new",
    ]
    assert (signed_seconds(1.2e-3), signed_seconds(-3e-6)) == ("+1.20 ms", "−3.00 µs")
    assert between(4.7e-3, 5.3e-3, 5e-3) == "4.7 to 5.3"


def test_numbers_without_exponents() -> None:
    assert [plain(v) for v in (1, 16384, 0.125, 1.5, 123_450.5)] == [
        "1",
        "16,384",
        "0.125",
        "1.5",
        "123,450",
    ]
    assert [trimmed(t) for t in ("16.0 GiB", "128 GiB", "1.50 ms", "20.0 ms", "1,000 /s")] == [
        "16 GiB",
        "128 GiB",
        "1.5 ms",
        "20 ms",
        "1,000 /s",
    ]
