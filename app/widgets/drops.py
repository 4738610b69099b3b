"""Drag and drop on the window: cards from the shelf, and files from the desktop.

During a drag, a target shows the effect of a drop, or the reason for a refusal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QObject, QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QDragEnterEvent, QDragMoveEvent, QDropEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from app.answers.cards import MIME
from app.theme import BODY_PX, Theme
from app.widgets.paint import Paint, elided, face

_WIDEST = 520.0
"""Maximum width of the text over a target, in pixels."""
_FLAT, _CARD = 160.0, 200.0
"""In targets lower than the first number, the text fits only beside the card, whose width is the
second number."""
_Drag = QDragEnterEvent | QDragMoveEvent | QDropEvent


@dataclass(frozen=True)
class Offer:
    """The effect of a drop in words, and the function that performs it; None if it is refused. With
    `of_whole`, the card concerns the whole scenario instead of the part below it, and the enclosing
    target, if there is one, decides."""

    words: str
    done: Callable[[], None] | None
    of_whole: bool = False


Offered = Callable[[str], Offer]
"""Returns the effect of a card, given its key."""


class Target(QObject):
    """Makes a widget accept cards, and files if `files` is given; outlines it during a drag.
    `refused` receives the reason once a refused card is dropped, because the card may cover the
    text during the drag."""

    def __init__(
        self,
        widget: QWidget,
        theme: Theme,
        offered: Offered,
        files: Callable[[list[Path]], None] | None = None,
        low: bool = False,
        outline: Outline | None = None,
        refused: Callable[[str], None] | None = None,
    ) -> None:
        super().__init__(widget)
        self.widget, self.refused = widget, refused
        self.offered, self.files = offered, files
        self.outline = outline or Outline(widget, theme, low)
        self._offer: Offer | None = None
        widget.setAcceptDrops(True)
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if isinstance(event, QDragEnterEvent):
            return self._enter(event)
        if kind == QEvent.Type.DragMove and isinstance(event, QDragMoveEvent):
            self.outline.follow(event.position())
            self.moved(event)
            _accept(event)
            return True
        if kind == QEvent.Type.DragLeave:
            self.outline.hide()
            self.left()
            return True
        if isinstance(event, QDropEvent) and kind == QEvent.Type.Drop:
            self._drop(event)
            return True
        if kind == QEvent.Type.Resize:
            self.outline.cover()
        return False

    def _enter(self, event: _Drag) -> bool:
        data = event.mimeData()
        key, paths = card_key(data), local_files(data)
        self.outline.follow(event.position())
        if key:
            self._say(self.offer(key, event.position()))
        elif paths and self.files:
            self.outline.say(f"Open {', '.join(p.name for p in paths[:3])}", False)
        else:
            return False
        _accept(event)
        return True

    def offer(self, key: str, at: QPointF) -> Offer:
        """The effect of a card at a position."""
        return self.offered(key)

    def moved(self, event: QDragMoveEvent) -> None:
        """React when the card moves over the widget."""

    def left(self) -> None:
        """React when the card leaves the widget."""

    def enclosing(self) -> Target | None:
        """The target of the nearest widget around this one that has a target."""
        widget = self.widget.parentWidget()
        while widget is not None:
            for child in widget.children():
                if isinstance(child, Target):
                    return child
            widget = widget.parentWidget()
        return None

    def _refused(self) -> Callable[[str], None] | None:
        outer = self.enclosing() if self.refused is None else None
        return outer._refused() if outer else self.refused

    def _say(self, offer: Offer) -> None:
        self._offer = offer
        self.outline.say(offer.words, offer.done is None)

    def _drop(self, event: QDropEvent) -> None:
        self.outline.hide()
        self.left()
        offer, self._offer = self._offer, None
        paths = local_files(event.mimeData())
        if offer is not None and card_key(event.mimeData()):
            if offer.done is None:
                event.setDropAction(Qt.DropAction.IgnoreAction)
                event.accept()
                if refused := self._refused():
                    refused(offer.words)
                return
            _accept(event)
            offer.done()
        elif paths and self.files:
            _accept(event)
            self.files(paths)


class PlaceTarget(Target):
    """A target where the effect depends on the position: `at` returns the effect at a position,
    `leave` is called when the card leaves. Refusals are shown by the enclosing target."""

    def __init__(
        self,
        widget: QWidget,
        theme: Theme,
        at: Callable[[str, QPointF], Offer],
        leave: Callable[[], None],
    ) -> None:
        super().__init__(widget, theme, lambda _: Offer("", None), low=True)
        self._at, self._leave = at, leave

    def offer(self, key: str, at: QPointF) -> Offer:
        offer = self._at(key, at)
        outer = self.enclosing() if offer.of_whole else None
        return outer.offer(key, at) if outer else offer

    def moved(self, event: QDragMoveEvent) -> None:
        if key := card_key(event.mimeData()):
            self._say(self.offer(key, event.position()))

    def left(self) -> None:
        self._leave()


class Outline(QWidget):
    """A dashed outline of a target with a text in its middle, or near its bottom if `low`; mouse
    events pass through."""

    def __init__(self, over: QWidget, theme: Theme, low: bool = False) -> None:
        super().__init__(over)
        self.theme, self.low = theme, low
        self.words, self.refused = "", False
        self.card_at_left = False
        """Whether the dragged card is in the left half."""
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def cover(self) -> None:
        """Cover the whole target. The parent is looked up each time: PySide may drop its wrapper
        of a table's viewport while the viewport lives on."""
        parent = self.parentWidget()
        if parent is not None:
            self.setGeometry(parent.rect())

    def say(self, words: str, refused: bool) -> None:
        """Show the effect of a drop, or why it is refused."""
        self.words, self.refused = words, refused
        self.cover()
        self.raise_()
        self.show()
        self.update()

    def follow(self, at: QPointF) -> None:
        """Keep the text of a flat target in the half that the dragged card does not cover."""
        at_left = at.x() < self.width() / 2
        if at_left != self.card_at_left:
            self.card_at_left = at_left
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        area = QRectF(self.rect()).adjusted(2, 2, -2, -2)
        self.dash(Paint(painter, self.theme), area)
        self.sentence(painter, area)
        painter.end()

    @property
    def colour(self) -> str:
        """The colour of an effect, or of a refusal."""
        return self.theme.danger if self.refused else self.theme.b

    def dash(self, paint: Paint, area: QRectF) -> None:
        """Paint a dashed outline."""
        paint.box(area, "", self.colour, 8, dashed=True, wide=2.0)

    def sentence(self, painter: QPainter, area: QRectF) -> None:
        """Paint the text on its own background, inside an area."""
        paint, theme, colour = Paint(painter, self.theme), self.theme, self.colour
        painter.setFont(face(BODY_PX, 600)[0])
        middle = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
        room = QRectF(0, 0, min(_WIDEST, area.width() - 56), area.height())
        words = self.words
        box = painter.boundingRect(room, middle, words).adjusted(-16, -9, 16, 9)
        if box.height() > area.height():  # in a low target: one line
            words = elided(words, room.width(), BODY_PX, 600)
            box = painter.boundingRect(room, middle, words).adjusted(-16, -4, 16, 4)
        box.moveCenter(area.center())
        if area.height() < _FLAT and 2 * box.width() + _CARD < area.width():
            quarter = area.width() / 4
            box.translate(quarter if self.card_at_left else -quarter, 0)
        if self.low:
            box.moveBottom(area.bottom() - 8)
        paint.box(box, theme.danger_ground if self.refused else theme.bg2, colour, 6)
        painter.setPen(QColor(colour))
        painter.drawText(box, middle, words)


class Beside(Outline):
    """A dashed outline of a small widget, with the text to its left, over the siblings."""

    def __init__(self, widget: QWidget, theme: Theme) -> None:
        parent = widget.parentWidget()
        assert parent is not None
        super().__init__(parent, theme)
        self.widget = widget

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        around = QRectF(self.widget.geometry())
        self.dash(Paint(painter, self.theme), around.adjusted(1, 1, -1, -1))
        left = min(_WIDEST + 56, around.left() - 8)
        self.sentence(
            painter, QRectF(around.left() - 8 - left, around.top(), left, around.height())
        )
        painter.end()


def _accept(event: _Drag) -> None:
    """Accept a drag as a copy: after a move, a file manager would delete the file."""
    event.setDropAction(Qt.DropAction.CopyAction)
    event.accept()


def card_key(data: QMimeData) -> str:
    """The key of the dragged card, or ""."""
    return bytes(data.data(MIME).data()).decode("utf-8", "replace") if data.hasFormat(MIME) else ""


def local_files(data: QMimeData) -> list[Path]:
    """The paths of the dragged files."""
    return [Path(url.toLocalFile()) for url in data.urls() if url.isLocalFile()]
