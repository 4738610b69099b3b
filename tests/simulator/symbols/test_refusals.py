"""Errors whose sizes are expressions of batch and sequence."""

from __future__ import annotations

import msgspec
import pytest

from simulator.symbols.refusals import Refusal
from simulator.symbols.templates import ProgramMismatchError

POINTS = [(1, 1), (2, 8), (7, 5), (16, 100), (3, 33)]


def test_a_text_with_sizes() -> None:
    texts = [f"queries [{64 * b}, 3, {s}] in float32" for b, s in POINTS]
    refusal = Refusal.fit(POINTS, texts)
    assert refusal.at(9, 77) == "queries [576, 3, 77] in float32"  # 64 · 9 = 576
    packed = msgspec.json.encode(refusal)
    assert msgspec.json.decode(packed, type=Refusal).at(2, 4) == "queries [128, 3, 4] in float32"


def test_a_text_without_sizes() -> None:
    assert Refusal.fit(POINTS, ["no 2"] * 5).at(1, 1) == "no 2"


def test_texts_that_differ_otherwise_are_no_refusal() -> None:
    with pytest.raises(ProgramMismatchError, match="a text is 'one' at one point and 'two' at an"):
        Refusal.fit(POINTS, ["one", "one", "one", "one", "two"])
