"""Labels whose changes do not lay out the window, and a label that elides its text."""

from __future__ import annotations

import re

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy

_LEAST = 6
"""Minimum number of letters of an elided text; a shorter text is not shown."""
STEP_PX = 8
"""Steps, in pixels, of the width that a control with a changing text requests."""


def clauses(words: str) -> tuple[str, ...]:
    """Shows the text in full, or without its last clauses, or nothing: a text that is cut within a
    clause is hard to read."""
    ends = [clause.start() for clause in re.finditer(r"[;,:] ", words)]
    return words, *(words[:end] for end in reversed(ends)), ""


class Steady(QLabel):
    """A one-line label for a figure that changes often.

    Each change of a QLabel's text lays out all parents up to the window, which takes longer than
    painting them. This label requests a width in steps of 8 px, and only if the step changes.
    """

    def __init__(self, words: str = "") -> None:
        super().__init__()
        self._shown, self._wide = "", -1
        self.setTextFormat(Qt.TextFormat.PlainText)  # names are data
        self.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self.setText(words)

    def text(self) -> str:
        return self._shown

    def setText(self, words: str) -> None:
        if words == self._shown:
            return
        self._shown = words
        if self.sizePolicy().horizontalPolicy() != QSizePolicy.Policy.Ignored:
            self.setAccessibleName(words)
            wide = self.sizeHint().width()
            if wide != self._wide:
                self._wide = wide
                self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        metrics, around = self.fontMetrics(), self.contentsMargins()
        wide = -(-metrics.horizontalAdvance(self._shown) // STEP_PX) * STEP_PX
        edges = around.left() + around.right(), around.top() + around.bottom()
        return QSize(wide + edges[0], metrics.height() + edges[1])

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        self.drawFrame(painter)
        self.style().drawItemText(
            painter,
            self.contentsRect(),
            self.alignment().value,
            self.palette(),
            self.isEnabled(),
            self._shown,
            self.foregroundRole(),
        )
        painter.end()


class Elided(Steady):
    """A one-line label, elided in its middle, with the full text as a tooltip."""

    def __init__(self, align: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignLeft) -> None:
        super().__init__()
        self._texts: tuple[str, ...] = ("",)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.setAlignment(align | Qt.AlignmentFlag.AlignVCenter)

    def say(self, words: str, *shorter: str) -> None:
        """Set the text, and shorter texts that replace it if it does not fit."""
        if (words, *shorter) == self._texts:
            return
        self._texts = (words, *shorter)
        self.setToolTip(words)
        self.setAccessibleName(words)
        self._fit()

    def sizeHint(self) -> QSize:
        return QSize(
            self.fontMetrics().horizontalAdvance(self._texts[0]), super().sizeHint().height()
        )

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._fit()

    def _fit(self) -> None:
        metrics, room = self.fontMetrics(), self.width()
        fitting = (text for text in self._texts if metrics.horizontalAdvance(text) <= room)
        text = next(fitting, self._texts[-1])
        elided = metrics.elidedText(text, Qt.TextElideMode.ElideMiddle, room)
        self.setText("" if elided != text and len(elided) < _LEAST else elided)
