"""Canvases with a title, and lists of rows with a cursor."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QKeyEvent

from app.theme import BODY_PX, SUPPORT_PX, Theme
from app.widgets.canvas import Canvas
from app.widgets.elided_label import clauses
from app.widgets.paint import Paint, width

HEAD_PX = 32.0
_SIDE, _MOST_PX = 12.0, 32.0


class Titled(Canvas):
    """A canvas with a title and a subtitle above its `body`."""

    def __init__(self, theme: Theme, title: str, about: str = "") -> None:
        super().__init__(theme, title)
        self.title, self.about = title, about
        self.setMinimumSize(200, 120)

    @property
    def body(self) -> QRectF:
        """The area below the title."""
        return QRectF(_SIDE, HEAD_PX, self.width() - 2 * _SIDE, self.height() - HEAD_PX - 8)

    def draw(self, paint: Paint) -> None:
        theme = self.theme
        after = paint.text(_SIDE, HEAD_PX / 2, self.title, theme.ink, BODY_PX, 600).right() + 10
        room = self.width() - after - _SIDE
        about = next((a for a in clauses(self.about) if width(a, SUPPORT_PX) <= room), "")
        paint.text(after, HEAD_PX / 2 + 1, about, theme.ink3, SUPPORT_PX)
        paint.line([(0, 0.5), (self.width(), 0.5)], theme.line)
        self.draw_body(paint)

    @abstractmethod
    def draw_body(self, paint: Paint) -> None:
        """Paint the contents below the title."""


class Listed(Titled):
    """A list of `items` as rows below column heads; a last line counts the items that do not
    fit."""

    def __init__(
        self, theme: Theme, title: str, about: str = "", heads: bool = True, least_px: float = 22.0
    ) -> None:
        super().__init__(theme, title, about)
        self.least_px = least_px
        self.items: list[Any] = []
        self.heads_px = 20.0 if heads else 0.0

    @property
    def high(self) -> float:
        """The height of a row, between `least_px` and 32 px."""
        room = self.body.height() - self.heads_px
        return min(_MOST_PX, max(self.least_px, room / max(1, len(self.items))))

    def shown(self) -> list[tuple[Any, QRectF]]:
        """The items that fit, each with the box of its row."""
        body, high = self.body, self.high
        fit = int((body.height() - self.heads_px + 0.5) // high)
        fit = len(self.items) if fit >= len(self.items) else max(0, fit - 1)
        top = body.top() + self.heads_px
        return [
            (item, QRectF(body.left(), top + high * i, body.width(), high))
            for i, item in enumerate(self.items[:fit])
        ]

    def draw_body(self, paint: Paint) -> None:
        theme, rows = self.theme, self.shown()
        self.draw_heads(
            paint, QRectF(self.body.left(), self.body.top(), self.body.width(), self.heads_px)
        )
        for item, box in rows:
            if item is self.over:
                paint.box(box.adjusted(-6, 1, 6, -1), theme.bg3, radius=4)
            paint.line([(box.left(), box.top()), (box.right(), box.top())], theme.line)
            self.draw_row(paint, item, box)
        more = len(self.items) - len(rows)
        if more:
            y = self.body.top() + self.heads_px + self.high * (len(rows) + 0.5)
            paint.text(self.body.left(), y, f"{more:,} more in the table", theme.ink3)

    def draw_heads(self, paint: Paint, box: QRectF) -> None:
        """Paint the names of the columns."""

    @abstractmethod
    def draw_row(self, paint: Paint, item: Any, box: QRectF) -> None:
        """Paint a row."""

    def hit(self, at: QPointF) -> Any:
        return next((item for item, box in self.shown() if box.contains(at)), None)

    def card_at(self) -> QPointF:
        box = next((box for item, box in self.shown() if item is self.over), None)
        if box is None or box.contains(self.at):
            return self.at
        return QPointF(box.left() + 40, box.center().y())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, items = Qt.Key(event.key()), [item for item, _ in self.shown()]
        at = next((i for i, item in enumerate(items) if item is self.over), -1)
        steps = {
            Qt.Key.Key_Down: at + 1,
            Qt.Key.Key_Up: at - 1,
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: len(items) - 1,
        }
        if items and key in steps:
            self.at = QPointF(-1, -1)
            self.show_over(items[min(max(steps[key], 0), len(items) - 1)])
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space) and at >= 0:
            self.pressed_on.emit(self.over)
        elif key == Qt.Key.Key_Escape and self.over is not None:
            self.show_over(None)
        else:
            super().keyPressEvent(event)
