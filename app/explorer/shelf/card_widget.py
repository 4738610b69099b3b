"""A card of the shelf: dragged onto a scenario, applied with Enter, or through its menu."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QByteArray, QMimeData, QPoint, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QDrag,
    QEnterEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
)
from PySide6.QtWidgets import QApplication, QSizePolicy, QWidget

from app.answers.cards import MIME, Card, Kind
from app.explorer.state.session import LETTERS
from app.theme import LABEL_PX, SUPPORT_PX, Theme
from app.widgets.context_menu import ContextMenu, Entry
from app.widgets.paint import Paint

HEIGHT = 44
NEW = -2
"""Used in place of a scenario's index: apply the card to a new scenario."""
_SHADOW = QPointF(5, 5)


class CardWidget(QWidget):
    """One card. `applied` carries the card and the index of a scenario, −1 for the current one, or
    `NEW`."""

    applied = Signal(object, int)

    def __init__(self, card: Card, theme: Theme, sides: Callable[[], list[str]]) -> None:
        super().__init__()
        self.card, self.theme, self.sides = card, theme, sides
        self.used = False
        self._pressed: QPoint | None = None
        self.setFixedHeight(HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(f"{card.title}, {card.detail}")
        self.setToolTip(
            f"{card.title}\n{card.help}\nDrag it onto a scenario or press Enter to apply it; "
            "drag it onto + or press Ctrl+Enter for a new scenario"
        )

    def sizeHint(self) -> QSize:
        return QSize(180, HEIGHT)

    def put(self, used: bool) -> None:
        """Set whether the card is in use."""
        if used != self.used:
            self.used = used
            self.setAccessibleDescription("in use" if used else "")
            self.update()

    def pixmap(self) -> QPixmap:
        """The image of the card for a drag, with a shadow."""
        ratio = self.devicePixelRatioF()
        size = self.size() + QSize(6, 6)
        image = QPixmap(size * ratio)
        image.setDevicePixelRatio(ratio)
        image.fill(Qt.GlobalColor.transparent)
        painter = QPainter(image)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        shadow = QColor("black")
        shadow.setAlphaF(0.38)
        painter.setBrush(shadow)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.drawRoundedRect(QRectF(self.rect()).translated(_SHADOW), 8, 8)
        self._draw(painter, lifted=True)
        painter.end()
        return image

    def mime(self) -> QMimeData:
        """The data that a drag of the card carries."""
        data = QMimeData()
        data.setData(MIME, QByteArray(self.card.key.encode()))
        data.setText(self.card.title)
        return data

    def menu(self, at: QPoint) -> None:
        """Show the menu of scenarios that the card can be applied to."""
        names = self.sides()
        places = [(f"Apply to {name}", place) for place, name in enumerate(names)]
        if len(names) < len(LETTERS):
            places.append((f"New scenario {LETTERS[len(names)]} with {self.card.title}", NEW))
        entries = [
            Entry(words, partial(self.applied.emit, self.card, place)) for words, place in places
        ]
        ContextMenu(self, self.card.title, entries).popup(at)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._pressed = event.position().toPoint()
            if self._dots().contains(event.position()):
                self._pressed = None
                self.menu(event.globalPosition().toPoint())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._pressed is None:
            return
        moved = event.position().toPoint() - self._pressed
        if moved.manhattanLength() >= QApplication.startDragDistance():
            drag = QDrag(self)
            drag.setMimeData(self.mime())
            drag.setPixmap(self.pixmap())
            drag.setHotSpot(self._pressed)
            self._pressed = None
            drag.exec(Qt.DropAction.CopyAction)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._pressed = None

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.applied.emit(self.card, -1)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.menu(event.globalPos())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = event.key()
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            new = event.modifiers() & Qt.KeyboardModifier.ControlModifier
            self.applied.emit(self.card, NEW if new else -1)
        elif key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self.focusNextPrevChild(key == Qt.Key.Key_Down)
        else:
            super().keyPressEvent(event)

    def enterEvent(self, event: QEnterEvent) -> None:
        self.update()

    def leaveEvent(self, event: object) -> None:
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        self._draw(painter)
        painter.end()

    def _dots(self) -> QRectF:
        return QRectF(self.width() - 22, 0, 22, HEIGHT)

    def _draw(self, painter: QPainter, lifted: bool = False) -> None:
        paint, theme = Paint(painter, self.theme), self.theme
        area = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        near = lifted or self.underMouse() or self.hasFocus()
        edge = theme.b if self.used or lifted else theme.line2 if near else theme.line
        paint.box(area, theme.bg2, edge, wide=1.4 if self.used else 1.0)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(theme.line2))
        for x in (8.0, 12.0):
            for y in (16.0, 22.0, 28.0):
                painter.drawEllipse(QPointF(x, y), 1.1, 1.1)
        _icon(painter, self.card.kind, theme.b if self.used else theme.ink2)
        room = self.width() - 42 - (24 if near else 8)
        paint.text(42, 15, self.card.title, theme.ink, SUPPORT_PX, 600, room=room)
        paint.text(42, 31, self.card.detail, theme.ink3, LABEL_PX, room=room)
        if near and not lifted:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(theme.ink2))
            for y in (17.0, 22.0, 27.0):
                painter.drawEllipse(QPointF(self.width() - 11, y), 1.3, 1.3)
        if self.hasFocus():
            paint.ring(area.adjusted(1.5, 1.5, -1.5, -1.5))


def _icon(painter: QPainter, kind: Kind, colour: str) -> None:
    """Draw the icon of a kind of card: connected nodes, a chip, a server, sliders."""
    painter.setPen(QPen(QColor(colour), 1.3))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    if kind == "network":
        painter.drawLine(QPointF(25, 22), QPointF(33, 17))
        painter.drawLine(QPointF(25, 22), QPointF(33, 27))
        for x, y in ((23, 22), (34.5, 16), (34.5, 28)):
            painter.drawEllipse(QPointF(x, y), 2.2, 2.2)
    elif kind == "gpu":
        painter.drawRoundedRect(QRectF(22, 17, 14, 10), 2, 2)
        painter.drawEllipse(QPointF(29, 22), 2.6, 2.6)
        for x in (25.0, 29.0, 33.0):
            painter.drawLine(QPointF(x, 27), QPointF(x, 30))
    elif kind == "host":
        for y in (15.5, 22.5):
            painter.drawRoundedRect(QRectF(22, y, 14, 5.5), 1.5, 1.5)
            painter.drawPoint(QPointF(25, y + 2.75))
            painter.drawLine(QPointF(29, y + 2.75), QPointF(33, y + 2.75))
    else:
        for y, x in ((17.0, 32.0), (22.0, 26.0), (27.0, 30.0)):
            painter.drawLine(QPointF(22, y), QPointF(36, y))
            painter.setBrush(QColor(colour))
            painter.drawEllipse(QPointF(x, y), 1.8, 1.8)
