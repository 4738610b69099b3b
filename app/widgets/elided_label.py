"""A label that elides its text to the available width."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QLabel, QSizePolicy


class Elided(QLabel):
    """A one-line label, elided in its middle, with the full text as tooltip."""

    def __init__(self, align: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignLeft) -> None:
        super().__init__()
        self._text = ""
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.setAlignment(align | Qt.AlignmentFlag.AlignVCenter)

    def say(self, words: str) -> None:
        """Set the text."""
        self._text = words
        self.setToolTip(words)
        self.setAccessibleName(words)
        self._fit()

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    def resizeEvent(self, event: object) -> None:
        self._fit()

    def _fit(self) -> None:
        mode = Qt.TextElideMode.ElideMiddle
        elided = self.fontMetrics().elidedText(self._text, mode, self.width())
        self.setText("" if elided == "…" else elided)
