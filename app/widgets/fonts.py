"""The font of charts and views."""

from __future__ import annotations

from PySide6.QtGui import QFont

from app.theme import FAMILIES


def font(px: int, weight: int = 400) -> QFont:
    """The font at `px` pixels, with tabular figures."""
    letters = QFont()
    letters.setFamilies(list(FAMILIES))
    letters.setPixelSize(px)
    letters.setWeight(QFont.Weight(weight))
    if hasattr(letters, "setFeature"):
        tag = getattr(QFont, "Tag", None)
        if tag is not None:
            letters.setFeature(tag("tnum"), 1)
    return letters
