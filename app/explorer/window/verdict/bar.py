"""The verdict bar: the regime, the time and its interval, and the next regime shift. The bar is
painted; its accessible description gives the same in words."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise

from PySide6.QtCore import QEvent, QPoint, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFocusEvent,
    QHelpEvent,
    QImage,
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
from app.explorer.window.verdict.columns import SHIFT, column_edges
from app.explorer.window.verdict.figures import figures
from app.formulas.formula import Formula
from app.theme import HEAD_PX, Theme
from app.widgets.brushes import faint
from app.widgets.context_menu import ContextMenu, Entry, copy_entry
from app.widgets.paint import Paint
from app.widgets.style import VERDICT_HEIGHT

_PAD_PX, _NARROW_PAD_PX, _NARROW_PX = 14.0, 10.0, 1300
"""The space beside a column's texts, the space in a narrow bar, and the width below which a bar is
narrow."""
GRACE_MS = 40
"""Delay before an outdated answer is dimmed: during a slider's drag a new answer usually comes
sooner, so nothing flickers."""


class VerdictBar(QWidget):
    """The answer to the current scenario.

    A `stale` answer belongs to an earlier scenario. It is drawn at 60% opacity, as is an outdated
    regime shift. `explained` gives the screen position of the figure whose formula the user wants
    to see."""

    explained = Signal(QPoint)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.theme = theme
        self.answer: Answer | None = None
        self.along: BatchRegimes | None = None
        self.searched = False
        self.stale = False
        self._pictured: QImage | None = None
        self._shown: tuple[object, ...] = ()
        self._pictured_search = False
        """The picture of the columns, with the values of its contents."""
        self.searched_for: Answer | None = None
        """The answer that `along` belongs to."""
        self._dimmed = later(GRACE_MS, self.update, self)
        self.waiting = "Predicting …"
        self.sentence = ""
        self.at: int | None = None
        self.setFixedHeight(VERDICT_HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Verdict")
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)

    def show_answer(self, answer: Answer) -> None:
        """Show an answer; the previous regime shift is kept until the next search."""
        self.answer, self.stale = answer, False
        self._dimmed.stop()
        if self.along is None and answer is not self.searched_for:
            self.searched = False
        p = answer.prediction
        self.sentence = verdict(p, answer.subject) + "".join(f"\n{note}" for note in p.notes)
        self.setAccessibleDescription(self.sentence)
        self.update()

    def show_along(self, along: BatchRegimes | None) -> None:
        """Show where the regime shifts along the batch."""
        self.along, self.searched, self.searched_for = along, True, self.answer
        self.update()

    def set_stale(self, stale: bool) -> None:
        """Set whether the answer is outdated; it is dimmed after `GRACE_MS`."""
        if stale != self.stale:
            self.stale = stale
            if stale:
                self._dimmed.start()
            else:
                self._dimmed.stop()
                self.update()

    def restyle(self, theme: Theme) -> None:
        """Apply a theme."""
        self.theme = theme
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(1264, VERDICT_HEIGHT)

    def formulas(self) -> tuple[Formula, ...]:
        """The formula of each figure, from the left; empty if there is no answer."""
        from app.formulas.step import metrics  # imported when first needed, to start faster

        along = self.along if self.answer is self.searched_for else None
        return metrics(self.answer, along) if self.answer is not None else ()

    def column(self, x: float) -> int:
        """The index of the column at pixel `x`."""
        return bisect_right(column_edges(self.width())[1:-1], x)

    def formula(self, at: QPoint) -> Formula | None:
        """The formula of the figure at a screen position, else of the figure with the focus."""
        here = self.mapFromGlobal(at)
        column = self.column(here.x()) if self.rect().contains(here) else self.at or 0
        formulas = self.formulas()
        return formulas[column] if formulas else None

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            formula = self.formula(event.globalPos())
            first = self.column(event.pos().x()) == 0
            intro = f"{self.sentence}\n\n" if first else ""
            QToolTip.showText(event.globalPos(), intro + formula.text if formula else "", self)
            return True
        return super().event(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self.answer is not None:
            self.explained.emit(event.globalPosition().toPoint())

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Open the menu of the figure below the pointer or, by key, of the chosen figure."""
        by_key = event.reason() == QContextMenuEvent.Reason.Keyboard
        at = self.mapToGlobal(self._place(self.at or 0)) if by_key else event.globalPos()
        formula = self.formula(at)
        if formula is None:
            return
        entries = [
            Entry("Explain this figure\tF1", lambda: self.explained.emit(at)),
            copy_entry("Copy figure", [[formula.name, formula.sum]]),
            copy_entry("Copy verdict", [[self.sentence]]),
        ]
        ContextMenu(self, formula.name, entries).popup(at)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        formulas = self.formulas()
        step = {Qt.Key.Key_Right: 1, Qt.Key.Key_Left: -1}.get(Qt.Key(event.key()))
        if step and formulas:
            last = len(formulas) - 1
            self.at = min(max(0, self.at + step), last) if self.at is not None else 0
            self.setAccessibleDescription(formulas[self.at].text)
            QToolTip.showText(self.mapToGlobal(self._place(self.at)), formulas[self.at].text, self)
            self.update()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space) and formulas:
            self.explained.emit(self.mapToGlobal(self._place(self.at or 0)))
        else:
            super().keyPressEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self.at = None
        self.setAccessibleDescription(self.sentence)
        super().focusOutEvent(event)

    def _place(self, at: int) -> QPoint:
        """A point in a figure's column, near its bottom."""
        return QPoint(round(column_edges(self.width())[at] + _PAD_PX), VERDICT_HEIGHT - 8)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        paint = Paint(painter, self.theme)
        area = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        paint.box(area, self.theme.bg1, self.theme.line)
        if self.answer is None:
            paint.text(20, area.center().y(), self.waiting, self.theme.ink2, HEAD_PX, 600)
            painter.end()
            return
        edges = column_edges(area.width())
        ratio = self.devicePixelRatioF()
        if paint.vector or paint.ratio != ratio or not ratio.is_integer():
            self._paint_columns(paint)  # an export, or a scale at which a copy would blur
        else:
            inside = self.rect().adjusted(6, 6, -6, -6)  # within the rounded corners
            scale = int(ratio)
            corner, size = inside.topLeft() * scale, inside.size() * scale
            painter.drawImage(inside, self._picture(scale), QRect(corner, size))
        dimmed = [(edges[0], edges[-1])] if self.stale else []
        if not self.stale and self._shift_answer is not self.answer:
            dimmed = [(edges[SHIFT], edges[SHIFT + 1])]
        for left, right in dimmed:
            inside = QRectF(left, 6, right - left, self.height() - 12).adjusted(2, 0, -2, 0)
            painter.fillRect(inside, faint(self.theme.bg1, 1 - OPACITY))
        if self.hasFocus():
            left, right = edges[self.at or 0], edges[(self.at or 0) + 1]
            paint.ring(QRectF(left + 3, 3, right - left - 6, VERDICT_HEIGHT - 6))
        painter.end()

    @property
    def _shift_answer(self) -> Answer | None:
        """The answer that the regime shift is drawn for."""
        return (self.searched_for if self.along is not None else None) or self.answer

    def _picture(self, ratio: int) -> QImage:
        """The columns at full strength, cached: dimming them only copies the picture."""
        shown = self.answer, self._shift_answer, self.along, self.theme
        same = all(one is other for one, other in zip(shown, self._shown, strict=False))
        picture, size = self._pictured, self.size() * ratio
        if (
            picture is None
            or picture.size() != size
            or not same
            or self._pictured_search != self.searched
        ):
            # an old picture of this size is painted over: a new one costs 0.2 ms
            if picture is None or picture.size() != size:
                picture = QImage(size, QImage.Format.Format_RGB32)
            picture.setDevicePixelRatio(ratio)
            picture.fill(QColor(self.theme.bg1))
            painter = QPainter(picture)
            self._paint_columns(Paint(painter, self.theme))
            painter.end()
            self._pictured, self._shown, self._pictured_search = picture, shown, self.searched
        return picture

    def _paint_columns(self, paint: Paint) -> None:
        pad = _NARROW_PAD_PX if self.width() < _NARROW_PX else _PAD_PX
        columns = pairwise(column_edges(self.width() - 1.0))
        draws = figures(self.along, self.searched)
        for at, ((left, right), draw) in enumerate(zip(columns, draws, strict=True)):
            answer = self._shift_answer if at == SHIFT else self.answer
            assert answer is not None
            if left:
                paint.line([(left, 14), (left, VERDICT_HEIGHT - 14)], self.theme.line)
            draw(paint, left + pad, right - left - 2 * pad, answer)
