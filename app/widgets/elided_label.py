"""A label that elides its text to the available width."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QLabel, QSizePolicy

_LEAST = 6
"""Minimum number of letters of an elided text; a shorter text is not shown."""


class Elided(QLabel):
    """A one-line label, elided in its middle, with the full text as a tooltip."""

    def __init__(self, align: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignLeft) -> None:
        super().__init__()
        self._texts: tuple[str, ...] = ("",)
        self.setTextFormat(Qt.TextFormat.PlainText)  # names are data, not markup
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.setAlignment(align | Qt.AlignmentFlag.AlignVCenter)

    def say(self, words: str, *shorter: str) -> None:
        """Set the text, and shorter texts that replace it if it does not fit."""
        self._texts = (words, *shorter)
        self.setToolTip(words)
        self.setAccessibleName(words)
        self._fit()

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    def resizeEvent(self, event: object) -> None:
        self._fit()

    def _fit(self) -> None:
        metrics, room = self.fontMetrics(), self.width()
        fitting = (text for text in self._texts if metrics.horizontalAdvance(text) <= room)
        text = next(fitting, self._texts[-1])
        elided = metrics.elidedText(text, Qt.TextElideMode.ElideMiddle, room)
        self.setText("" if elided != text and len(elided) < _LEAST else elided)
