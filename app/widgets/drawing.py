"""From a picture to files: it is made and written without a window."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from app import outputs
from app.theme import Theme, theme
from app.widgets.qt_none import keep_none


def application(on_screen: bool = False) -> Any:
    """The Qt application; where there is none yet, a new one, without a screen unless told."""
    from PySide6.QtWidgets import QApplication

    if QApplication.instance() is None and not on_screen:
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    keep_none()
    running = QApplication.instance() or QApplication(["Ridgepoint"])
    running.setApplicationName("Ridgepoint")
    return running


def draw(png: str | None, svg: str | None, look: str, make: Callable[[Theme], Any]) -> None:
    """Write the picture that `make` makes of a theme, `look`, to the files that were asked for."""
    running = application()
    picture = make(theme(look))
    if png:
        outputs.put("--png", png, lambda part: picture.write(png=part))
    if svg:
        outputs.put("--svg", svg, lambda part: picture.write(svg=part))
    picture.close()
    running.processEvents()
