"""A label that takes no more room than there is."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QLabel, QSizePolicy


class Elided(QLabel):
    """A line that gives way: shortened in the middle, whole in its tooltip."""

    def __init__(self, align: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignLeft) -> None:
        super().__init__()
        self._whole = ""
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.setAlignment(align | Qt.AlignmentFlag.AlignVCenter)

    def say(self, words: str) -> None:
        """Show these words, as far as there is room."""
        self._whole = words
        self.setToolTip(words)
        self.setAccessibleName(words)
        self._fit()

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    def resizeEvent(self, event: object) -> None:
        self._fit()

    def _fit(self) -> None:
        mode = Qt.TextElideMode.ElideMiddle
        self.setText(self.fontMetrics().elidedText(self._whole, mode, self.width()))
