"""The verdict bar: which regime, how long, how sure, what changes it. It is painted, and said."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from app.answers.answer import Answer, BatchRegimes
from app.answers.figures import verdict
from app.explorer.background.worker import later
from app.explorer.docks.veil import OPACITY
from app.explorer.window.verdict_figures import figures
from app.formulas.formula import Formula
from app.formulas.step import metrics
from app.theme import HEAD_PX, Theme
from app.widgets.paint import Paint
from app.widgets.style import VERDICT_HEIGHT

_SHARES = (0.21, 0.11, 0.11, 0.135, 0.105, 0.15, 0.095, 0.085)
"""The columns' parts of the width: regime, time, throughput, utilisation, memory, shift, power,
trust."""
_SHIFT = 5
"""The column of the next shift."""
_PAD = 14.0
GRACE_MS = 40
"""An answer that comes so soon is painted without its forerunner being dimmed before: while a
slider is dragged nothing flickers."""


class VerdictBar(QWidget):
    """The answer to the current scenario. `stale` is an answer to an earlier one, drawn at 60%, as
    is what is known along the batch where it is of an earlier answer. `explained` gives the place
    of a figure on the screen: how does it come about?"""

    explained = Signal(QPoint)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.theme = theme
        self.answer: Answer | None = None
        self.along: BatchRegimes | None = None
        self.searched = False
        self.stale = False
        self.searched_for: Answer | None = None
        """The answer of which `along` is."""
        self._dimmed = later(GRACE_MS, self.update, self)
        self.waiting = "Predicting …"
        self.said = ""
        self.at: int | None = None
        self.setFixedHeight(VERDICT_HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Verdict")
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)

    def show_answer(self, answer: Answer) -> None:
        """This answer; what is known of the batch stays until it is known anew."""
        self.answer, self.stale = answer, False
        if self.along is None and answer is not self.searched_for:
            self.searched = False
        p = answer.prediction
        self.said = verdict(p, answer.subject) + "".join(f"\n{note}" for note in p.notes)
        self.setAccessibleDescription(self.said)
        self.update()

    def show_along(self, along: BatchRegimes | None) -> None:
        """Where the regime shifts."""
        self.along, self.searched, self.searched_for = along, True, self.answer
        self.update()

    def set_stale(self, stale: bool) -> None:
        """The answer is not the current scenario's; it is painted so unless a new one comes at
        once."""
        if stale != self.stale:
            self.stale = stale
            if stale:
                self._dimmed.start()
            else:
                self.update()

    def restyle(self, theme: Theme) -> None:
        """Another theme."""
        self.theme = theme
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(1264, VERDICT_HEIGHT)

    def formulas(self) -> tuple[Formula, ...]:
        """How each figure comes about, from the left; none without an answer."""
        along = self.along if self.answer is self.searched_for else None
        return metrics(self.answer, along) if self.answer is not None else ()

    def column(self, x: float) -> int:
        """The figure at a place."""
        part, left = x / max(1, self.width()), 0.0
        for at, share in enumerate(_SHARES[:-1]):
            left += share
            if part < left:
                return at
        return len(_SHARES) - 1

    def formula(self, at: QPoint) -> Formula | None:
        """Of the figure at a place of the screen, else of the one that a key went to."""
        here = self.mapFromGlobal(at)
        column = self.column(here.x()) if self.rect().contains(here) else self.at or 0
        found = self.formulas()
        return found[column] if found else None

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            formula = self.formula(event.globalPos())
            first = self.column(event.pos().x()) == 0
            said = f"{self.said}\n\n" if first else ""
            QToolTip.showText(event.globalPos(), said + formula.text if formula else "", self)
            return True
        return super().event(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self.answer is not None:
            self.explained.emit(event.globalPosition().toPoint())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        found = self.formulas()
        step = {Qt.Key.Key_Right: 1, Qt.Key.Key_Left: -1}.get(Qt.Key(event.key()))
        if step and found:
            last = len(found) - 1
            self.at = min(max(0, self.at + step), last) if self.at is not None else 0
            self.setAccessibleDescription(found[self.at].text)
            QToolTip.showText(self.mapToGlobal(self._place(self.at)), found[self.at].text, self)
            self.update()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space) and found:
            self.explained.emit(self.mapToGlobal(self._place(self.at or 0)))
        else:
            super().keyPressEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self.at = None
        self.setAccessibleDescription(self.said)
        super().focusOutEvent(event)

    def _place(self, at: int) -> QPoint:
        """Within a figure's column, near its foot."""
        left = sum(_SHARES[:at]) * self.width()
        return QPoint(round(left + _PAD), VERDICT_HEIGHT - 8)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        paint = Paint(painter, self.theme)
        area = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        paint.box(area, self.theme.bg1, self.theme.line)
        if self.answer is None:
            paint.text(20, area.center().y(), self.waiting, self.theme.ink2, HEAD_PX, 600)
            painter.end()
            return
        left = 0.0
        draws = figures(self.along, self.searched)
        for at, (share, draw) in enumerate(zip(_SHARES, draws, strict=True)):
            wide = share * area.width()
            of = self.searched_for if at == _SHIFT and self.along is not None else self.answer
            of = of or self.answer
            painter.setOpacity(OPACITY if self.stale or of is not self.answer else 1.0)
            if left:
                paint.line([(left, 14), (left, VERDICT_HEIGHT - 14)], self.theme.line)
            draw(paint, left + _PAD, wide - 2 * _PAD, of)
            if self.hasFocus() and at == (self.at or 0):
                paint.ring(QRectF(left + 3, 3, wide - 6, VERDICT_HEIGHT - 6))
            left += wide
        painter.end()
