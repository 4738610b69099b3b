"""The type of pictures and views; nothing here needs pyqtgraph."""

from __future__ import annotations

from PySide6.QtGui import QFont

from app.theme import FAMILIES


def font(px: int, weight: int = 400) -> QFont:
    """The type of pictures, in pixels, its figures of one width."""
    found = QFont()
    found.setFamilies(list(FAMILIES))
    found.setPixelSize(px)
    found.setWeight(QFont.Weight(weight))
    if hasattr(found, "setFeature"):
        tag = getattr(QFont, "Tag", None)
        if tag is not None:
            found.setFeature(tag("tnum"), 1)
    return found
