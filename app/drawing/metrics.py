"""Measurement of text in the font of a drawing."""

from __future__ import annotations

import json
from functools import lru_cache
from importlib.resources import files
from typing import Protocol

from app.theme import LABEL_PX

_BOLD_FROM = 550
_UNKNOWN_EM = 1.0


class Metrics(Protocol):
    """The size of text, in pixels."""

    def width(self, words: str, px: int = LABEL_PX, weight: int = 400, mono: bool = False) -> float:
        """The width of a line of text."""
        ...

    def height(self, px: int = LABEL_PX) -> float:
        """The height of a line of text."""
        ...


class TabulatedMetrics:
    """The widths of DejaVu Sans, the widest of the theme's fonts, without a font library: a text
    that fits by this table fits in every theme font."""

    def width(self, words: str, px: int = LABEL_PX, weight: int = 400, mono: bool = False) -> float:
        face = "mono" if mono else "bold" if weight > _BOLD_FROM else "regular"
        return px * _width_em(words, face)

    def height(self, px: int = LABEL_PX) -> float:
        return px * _advances_em()["line"]["height"]


TABULATED = TabulatedMetrics()


@lru_cache(maxsize=1)
def _advances_em() -> dict[str, dict[str, float]]:
    text = files("app.drawing").joinpath("advances.json").read_text("utf-8")
    return json.loads(text)["em"]


@lru_cache(maxsize=4096)
def _width_em(words: str, face: str) -> float:
    table = _advances_em()[face]
    return sum(table.get(letter, _UNKNOWN_EM) for letter in words)


def elided(
    metrics: Metrics,
    words: str,
    room: float,
    px: int = LABEL_PX,
    weight: int = 400,
    mono: bool = False,
) -> str:
    """A text elided in its middle to `room` pixels."""
    if metrics.width(words, px, weight, mono) <= room:
        return words
    short = "…"
    low, high = 1, len(words) - 1
    while low <= high:
        letters = (low + high) // 2
        head = (letters + 1) // 2
        candidate = f"{words[:head]}…{words[len(words) - (letters - head) :]}"
        if metrics.width(candidate, px, weight, mono) <= room:
            short, low = candidate, letters + 1
        else:
            high = letters - 1
    return short


def fitting(
    metrics: Metrics, room: float, *texts: str, px: int = LABEL_PX, weight: int = 400
) -> str:
    """The first text that fits into `room` pixels, else the last."""
    return next((text for text in texts if metrics.width(text, px, weight) <= room), texts[-1])
