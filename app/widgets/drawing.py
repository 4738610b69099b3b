"""Create charts and write them to files, without a window."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from app import outputs
from app.drawing.metrics import TABULATED, Metrics
from app.drawing.picture import Drawing
from app.drawing.svg import document
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


def put(png: str | None, svg: str | None, look: str, make: Callable[[Metrics], Drawing]) -> None:
    """Write the drawing that `make` returns to the given files; SVG needs no Qt."""
    colours = theme(look)
    if svg:
        text = document(make(TABULATED), colours)
        outputs.put("--svg", svg, lambda part: part.write_text(text, encoding="utf-8"))
    if png:
        application()
        from app.widgets.drawn import QT_METRICS, write_png  # Qt, only for this

        drawing = make(QT_METRICS)
        outputs.put("--png", png, lambda part: write_png(drawing, colours, part))
