"""A bar of figures at the top of a page."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QSizePolicy

from app.theme import Theme
from app.widgets.context_menu import ContextMenu, copy_entry
from app.widgets.drawing_canvas import DrawingCanvas
from app.widgets.style import VERDICT_HEIGHT


class FigureBar(DrawingCanvas):
    """The main figures of a page; they are also its accessible description, and a menu copies
    them."""

    def __init__(self, theme: Theme, name: str) -> None:
        super().__init__(theme, name)
        self.figures: Sequence[Sequence[str]] = ()
        self.setFixedHeight(VERDICT_HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground, False)

    def describe(self, figures: Sequence[Sequence[str]]) -> None:
        """Set the figures: rows of texts, such as a name and a value."""
        self.figures = figures
        self.setAccessibleDescription("; ".join(": ".join(row) for row in figures))

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if self.figures:
            entries = [copy_entry("Copy figures", self.figures)]
            ContextMenu(self, self.accessibleName(), entries).popup(event.globalPos())
