"""Placeholders in a lesson's texts: a word (`app.lessons.words`), optionally with a side and a
comparison.

{period}          a step of the first side, such as "3.04 ms"
{kernels_b}       the same figure of side b
{times_flops_b}   the ratio of the figure to the first side's, such as "2.4"
{faster_b}        "4.38 times faster", "1.30 times slower", "as fast"
{shift}           the value of the lesson's axis at which the regime changes
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from app.lessons.words import NAMES, WORDS

SHIFT = ("shift", "shift_before", "shift_after")
"""Words of an axis: the value at which the regime changes, and the regimes before and after."""

PLACE = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True)
class Place:
    """A parsed placeholder: a word, its side, and whether it is compared with side a."""

    word: str
    side: str = "a"
    compared: Literal["", "times", "faster"] = ""


def place(text: str) -> Place | None:
    """Parse a placeholder; None if it is not in the vocabulary."""
    if text in SHIFT:
        return Place(text)
    body, _, last = text.rpartition("_")
    side = last if body and last in ("a", "b", "c", "d") else "a"
    body = body if side == last and body else text
    if body == "faster":
        return Place("period", side, "faster")
    if body.startswith("times_") and body.removeprefix("times_") in WORDS:
        return Place(body.removeprefix("times_"), side, "times")
    return Place(body, side) if body in WORDS or body in NAMES else None


def known() -> str:
    """The vocabulary, for error messages."""
    return ", ".join([*WORDS, *NAMES, *SHIFT, "faster", "times_…"])
