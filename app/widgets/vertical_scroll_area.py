"""A column that scrolls up and down, as wide as its area."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QScrollArea, QWidget


class VerticalScrollArea(QScrollArea):
    """Shows a widget without a horizontal scroll bar. Keys reach the widget inside, not the
    area."""

    def __init__(self, inside: QWidget | None = None) -> None:
        super().__init__()
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        if inside is not None:
            self.setWidget(inside)
