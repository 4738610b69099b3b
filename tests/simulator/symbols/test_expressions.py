"""Sizes as expressions, derived from their values at a few points: the right expression, or
none."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.symbols.expressions import TOKENS, Atom, Expression, Search, constant

POINTS = [(2, 2), (16384, 120960), (16384, 2), (2, 104485), (7, 93), (41, 1366), (3, 10)]


def up(n: int, m: int) -> int:
    """`n` rounded up to the next multiple of `m`, without Atom's arithmetic."""
    return n if n % m == 0 else n + m - n % m


def expression(
    size: Callable[[int, int], int], points: list[tuple[int, int]] = POINTS
) -> str | None:
    (one,) = Search(points).expressions([tuple(size(b, s) for b, s in points)])
    return None if one is None else str(one)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (lambda b, s: 7, "7"),
        (lambda b, s: 768 * b * s, "768·B·S"),
        (lambda b, s: 4 * b * s * s, "4·B·S·S"),
        (lambda b, s: s + 3, "3 + 1·S"),
        (lambda b, s: s - 1, "-1 + 1·S"),
        (lambda b, s: 12 * b * up(s, 32), "384·B·⌈S/32⌉"),
        (lambda b, s: s * up(s, 16), "16·S·⌈S/16⌉"),
        (lambda b, s: up(s, 48) // 48, "1·⌈S/48⌉"),
        (lambda b, s: 8 * up(b, 8) * 5, "320·⌈B/8⌉"),
        (lambda b, s: 40 * b * s + 8 * b + 256, "256 + 8·B + 40·B·S"),
        (lambda b, s: 64 * round(b * s / 4), "64·[B·S/4]"),  # ties at 3 × 10 and 41 × 1366
        (lambda b, s: 5 * round(b * s / 3), "5·[B·S/3]"),
        (lambda b, s: min(s, 128), "1·min(S, 128)"),
        (lambda b, s: 512 * b * min(s, 1366), "512·B·min(S, 1366)"),  # a point on the border
    ],
)
def test_a_size_is_expressed(size: Callable[[int, int], int], text: str) -> None:
    assert expression(size) == text


def test_sums_of_padded_sizes_use_only_known_expressions() -> None:
    def vector(size: Callable[[int, int], int]) -> tuple[int, ...]:
        return tuple(size(b, s) for b, s in POINTS)

    one, padding, square = Search(POINTS).expressions(
        [
            vector(lambda b, s: up(s, 64)),
            vector(lambda b, s: up(s, 64) - s),
            vector(lambda b, s: 3 * b * (up(s, 64) // 64 + 1) ** 2),
        ]
    )
    assert (str(one), str(padding)) == ("64·⌈S/64⌉", "-1·S + 64·⌈S/64⌉")
    assert str(square) == "3·B + 6·B·⌈S/64⌉ + 3·B·⌈S/64⌉·⌈S/64⌉"
    assert square is not None and square.at(5, 65) == 3 * 5 * 9  # ⌈65/64⌉ + 1 = 3


def test_sums_of_limited_sizes_use_only_known_expressions() -> None:
    window, rest = Search(POINTS).expressions(
        [
            tuple(64 * min(s, 128) for _, s in POINTS),
            tuple(b * s + 3 * b * min(s, 128) for b, s in POINTS),
        ]
    )
    assert str(window) == "64·min(S, 128)" and str(rest) == "1·B·S + 3·B·min(S, 128)"
    assert rest is not None and rest.at(5, 128) == 5 * 128 + 15 * 128
    assert rest.at(5, 129) == 5 * 129 + 15 * 128


@pytest.mark.parametrize(
    "size",
    [
        lambda b, s: s.bit_length(),
        lambda b, s: min(s, 5),  # only one length is shorter
        lambda b, s: min(s, 110_000),  # only one length is longer
        lambda b, s: min(s, 128) if s != 93 else 94,
        lambda b, s: b * s // 3,
        lambda b, s: int(b * s / 4 + 0.5),  # ties up
        lambda b, s: s if s < 100 else 2 * s,
        lambda b, s: 768 * b * s + (b == 7),  # off by one at a single point
    ],
)
def test_values_without_an_expression_are_refused(size: Callable[[int, int], int]) -> None:
    assert expression(size) is None


def test_too_few_points_say_nothing() -> None:
    assert expression(lambda b, s: 5 * s, POINTS[:2]) is None
    assert expression(lambda b, s: 5 * s + 1, POINTS[3:6]) is None


def test_values_past_64_bits() -> None:
    far = [(b * 2**20, s * 2**12) for b, s in POINTS]
    assert expression(lambda b, s: 4 * b * s, far) == "4·B·S"


@settings(deadline=None)  # this does not test speed
@given(
    st.lists(st.integers(-99, 99).filter(bool), min_size=1, max_size=3),
    st.lists(st.sampled_from([(), (0,), (1,), (0, 1), (0, 1, 1)]), min_size=3, unique=True),
    st.integers(1, 999),
    st.integers(1, 9999),
)
def test_a_sum_is_recovered(
    factors: list[int], powers: list[tuple[int, ...]], batch: int, seq: int
) -> None:
    terms = [(c, tuple(map(Atom, axes))) for c, axes in zip(factors, powers, strict=False)]
    true = Expression(tuple(terms))
    (one,) = Search(POINTS).expressions([tuple(true.at(b, s) for b, s in POINTS)])
    assert one is not None and one.at(batch, seq) == true.at(batch, seq)


def test_arrays_and_integers_agree() -> None:
    one = Expression(((3, (Atom(0), Atom(1, 16))), (-2, ())))
    batches, seqs = np.array([1, 2, 5]), np.array([1, 16, 17])
    assert one.at(batches, seqs).tolist() == [1, 4, 28]  # 3·B·⌈S/16⌉ − 2
    assert [one.at(b, s) for b, s in [(1, 1), (2, 16), (5, 17)]] == [1, 4, 28]
    assert constant(4).at(3, 3) == 4 and one.adjusted == {Atom(1, 16)}


@settings(deadline=None)  # this does not test speed
@given(st.integers(1, 999), st.integers(1, 9999), st.integers(2, 256))
def test_tokens_are_rounded_as_by_python(batch: int, seq: int, divisor: int) -> None:
    rounded = Atom(TOKENS, divisor)
    assert rounded.at(batch, seq) == round(Fraction(batch * seq, divisor))
    both = np.array([batch, 1]), np.array([seq, 3 * divisor])
    assert rounded.at(*both).tolist() == [rounded.at(batch, seq), 3]


def test_limited_arrays_and_integers_agree() -> None:
    one = Expression(((3, (Atom(0), Atom(1, 16, 40))),))  # 3·B·⌈min(S, 40)/16⌉
    seqs = [1, 16, 17, 39, 40, 41, 9999]
    assert one.at(np.full(7, 2), np.array(seqs)).tolist() == [6, 6, 12, 18, 18, 18, 18]
    assert [one.at(2, s) for s in seqs] == [6, 6, 12, 18, 18, 18, 18]
    assert str(one) == "3·B·⌈min(S, 40)/16⌉" and one.adjusted == {Atom(1, 16, 40)}
