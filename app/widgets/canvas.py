"""The painted part of a view: hit testing, the card under the pointer, and the focus ring."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QEvent, QPointF, QRectF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFocusEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
)
from PySide6.QtWidgets import QWidget

from app.drawing.colours import Mark
from app.theme import BODY_PX, LABEL_PX, SUPPORT_PX, Theme
from app.widgets.paint import Paint, face, width

CARD_LINE, _PAD = 18.0, 12.0


@dataclass(frozen=True)
class Card:
    """Details of the item under the pointer: a title with a regime's mark and a note, then rows of
    names and figures."""

    head: str
    rows: tuple[tuple[str, str], ...]
    note: str = ""
    regime: Mark | None = None

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in pixels."""
        names = max((width(row[0]) for row in self.rows), default=0.0)
        rows = max((names + 14 + width(row[1]) for row in self.rows), default=0.0)
        mark = 16 if self.regime else 0
        head = (
            mark
            + width(self.head, BODY_PX, 600)
            + (16 + width(self.note, LABEL_PX, 600) if self.note else 0)
        )
        return max(rows, head) + 2 * _PAD, 26 + CARD_LINE * len(self.rows) + _PAD

    def paint(self, paint: Paint, at: QPointF, inside: QRectF) -> QRectF:
        """Paint the card beside a point, inside an area if it fits. Returns its box."""
        wide, high = self.size
        left = at.x() + 16 if at.x() + 16 + wide <= inside.right() else at.x() - 16 - wide
        left = max(inside.left() + 2, min(left, inside.right() - wide - 2))
        top = at.y() + 12 if at.y() + 12 + high <= inside.bottom() else at.y() - 12 - high
        top = max(inside.top() + 2, min(top, inside.bottom() - high - 2))
        box = QRectF(left, top, wide, high)
        theme = paint.theme
        paint.box(box, theme.bg2, theme.line2)
        middle, x = top + 18, left + _PAD
        if self.regime:
            paint.mark(self.regime, x + 5, middle, 5)
            x += 16
        paint.text(x, middle, self.head, theme.ink, BODY_PX, 600)
        if self.note:
            ink = theme.regime(self.regime).ink if self.regime else theme.ink2
            paint.text(box.right() - _PAD, middle, self.note, ink, LABEL_PX, 600, 1.0)
        for index, (name, value) in enumerate(self.rows):
            y = top + 26 + CARD_LINE * index + CARD_LINE / 2 + 4
            paint.text(left + _PAD, y, name, theme.ink3)
            paint.text(box.right() - _PAD, y, value, theme.ink, align=1.0)
        return box


class Canvas(QWidget):
    """A painted area. `over` is the item, as returned by `hit`, under the pointer or chosen by a
    key."""

    pressed_on = Signal(object)

    def __init__(self, theme: Theme, name: str) -> None:
        super().__init__()
        self.theme = theme
        self.over: Any = None
        self.at = QPointF(-1, -1)
        self.by_key = False
        """Whether the last input was a key; then the focus ring is painted."""
        self.setAccessibleName(name)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMinimumSize(240, 130)

    @abstractmethod
    def draw(self, paint: Paint) -> None:
        """Paint everything except the card."""

    def paint_message(self, paint: Paint, words: str) -> None:
        """Paint a text instead of the content, such as the reason for a refusal."""
        area = QRectF(self.rect()).adjusted(24, 16, -24, -16)
        paint.painter.setFont(face(SUPPORT_PX)[0])
        paint.painter.setPen(QColor(self.theme.ink2))
        flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
        paint.painter.drawText(area, int(flags), words)

    def hit(self, at: QPointF) -> Any:
        """The item at a point, or None."""
        return None

    def card(self) -> Card | None:
        """The card of `over`, or None."""
        return None

    def item_rows(self) -> list[list[str]]:
        """The card of `over` as rows of text; empty if there is no card."""
        card = self.card() if self.over is not None else None
        return [] if card is None else [[card.head, card.note], *map(list, card.rows)]

    def card_at(self) -> QPointF:
        """The point beside which the card is painted."""
        return self.at

    def restyle(self, theme: Theme) -> None:
        """Apply a theme."""
        self.theme = theme
        self.update()

    def show_over(self, item: Any) -> None:
        """Set the item under the pointer, or chosen by a key."""
        if item != self.over:
            self.over = item
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        paint = Paint(painter, self.theme)
        painter.fillRect(self.rect(), QColor(self.theme.bg1))
        self.draw(paint)
        card = self.card() if self.over is not None else None
        if card:
            card.paint(paint, self.card_at(), QRectF(self.rect()))
        if self.hasFocus() and self.by_key and not paint.vector:
            paint.ring(QRectF(self.rect()).adjusted(1, 1, -1, -1))
        painter.end()

    def event(self, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.KeyPress, QEvent.Type.MouseButtonPress):
            self._ring(event.type() == QEvent.Type.KeyPress)
        return super().event(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        reasons = Qt.FocusReason
        if event.reason() not in (reasons.ActiveWindowFocusReason, reasons.PopupFocusReason):
            self._ring(event.reason() != reasons.MouseFocusReason)
        super().focusInEvent(event)

    def _ring(self, by_key: bool) -> None:
        if by_key != self.by_key:
            self.by_key = by_key
            self.update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self.at = event.position()
        item = self.hit(self.at)
        if item is not None or self.over is not None:
            self.over = item
            self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self.at = event.position()
        if event.button() == Qt.MouseButton.LeftButton:
            self.pressed_on.emit(self.hit(self.at))

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Choose the item below the pointer; the view shows the menu."""
        if event.reason() == QContextMenuEvent.Reason.Mouse:
            self.at = QPointF(event.pos())
            self.show_over(self.hit(self.at))
        event.ignore()

    def leaveEvent(self, event: QEvent) -> None:
        self.show_over(None)


@contextmanager
def without_cards(widget: QWidget) -> Generator[None]:
    """Draw the canvases of a widget as if the pointer were elsewhere, for a picture of it."""
    canvases = widget.findChildren(Canvas)
    over = [canvas.over for canvas in canvases]
    for canvas in canvases:
        canvas.over = None
    try:
        yield
    finally:
        for canvas, item in zip(canvases, over, strict=True):
            canvas.over = item
