"""The fonts of charts, views and windows: Inter and JetBrains Mono, which the app contains."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from PySide6.QtGui import QFont, QFontDatabase

import app
from app.theme import FAMILIES

FOLDER = Path(app.__file__).parent / "fonts"


@cache
def load_fonts() -> tuple[str, ...]:
    """Register the fonts of the app with Qt; a QApplication must exist. Returns their families."""
    families: set[str] = set()
    for path in (*FOLDER.glob("*.otf"), *FOLDER.glob("*.ttf")):
        number = QFontDatabase.addApplicationFont(str(path))
        families.update(QFontDatabase.applicationFontFamilies(number) if number >= 0 else ())
    return tuple(sorted(families))


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
