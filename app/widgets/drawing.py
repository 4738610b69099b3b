"""Write drawings to files, without a window."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Protocol

from app import outputs
from app.drawing.metrics import TABULATED, Metrics
from app.drawing.picture import Drawing
from app.theme import theme
from app.widgets.qt_repairs import keep_none


def application(on_screen: bool = False) -> Any:
    """The Qt application, created on the first call; offscreen unless `on_screen`."""
    from PySide6.QtWidgets import QApplication  # imported only to draw

    if QApplication.instance() is None and not on_screen:
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    keep_none()
    running = QApplication.instance() or QApplication(["Ridgepoint"])
    running.setApplicationName("Ridgepoint")
    from app.widgets.fonts import load_fonts  # Qt: imported only to draw

    load_fonts()
    return running


class PictureFiles(Protocol):
    """The files of a picture; None for each file that is not wanted."""

    @property
    def png(self) -> str | None: ...
    @property
    def svg(self) -> str | None: ...
    @property
    def theme(self) -> str: ...


def put(files: PictureFiles, make: Callable[[Metrics], Drawing]) -> None:
    """Write the drawing that `make` returns; SVG needs no Qt."""
    colours = theme(files.theme)
    if files.svg:
        from app.drawing.svg import document  # imported only for files

        text = document(make(TABULATED), colours)
        outputs.put("--svg", files.svg, lambda part: part.write_text(text, encoding="utf-8"))
    if files.png:
        application()
        from app.widgets.drawn import QT_METRICS, write_png  # Qt: imported only here

        drawing = make(QT_METRICS)
        outputs.put("--png", files.png, lambda part: write_png(drawing, colours, part))
