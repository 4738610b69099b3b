"""Create charts and write them to files, without a window."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from app import outputs
from app.theme import Theme, theme
from app.widgets.qt_none import keep_none


def application(on_screen: bool = False) -> Any:
    """The Qt application, created if there is none; offscreen unless `on_screen`."""
    from PySide6.QtWidgets import QApplication  # imported only where something is drawn

    if QApplication.instance() is None and not on_screen:
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    keep_none()
    running = QApplication.instance() or QApplication(["Ridgepoint"])
    running.setApplicationName("Ridgepoint")
    return running


def draw(png: str | None, svg: str | None, look: str, make: Callable[[Theme], Any]) -> None:
    """Write the chart that `make` creates for the theme `look` to the given files."""
    running = application()
    picture = make(theme(look))
    if png:
        outputs.put("--png", png, lambda part: picture.write(png=part))
    if svg:
        outputs.put("--svg", svg, lambda part: picture.write(svg=part))
    picture.close()
    running.processEvents()
