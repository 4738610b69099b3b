"""What is dropped on the window: cards of the shelf, and files of the desktop.

A target says beforehand what a drop would do, or why it is refused; a refused drop moves nothing.
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
"""Of the sentence over a target, in pixels."""
_Drag = QDragEnterEvent | QDragMoveEvent | QDropEvent


@dataclass(frozen=True)
class Offer:
    """What a drop would do, in words, and how it is done; None where it is refused."""

    words: str
    done: Callable[[], None] | None


Offered = Callable[[str], Offer]
"""What a card, by its key, would do."""


class Target(QObject):
    """Lets a widget take cards, and files where `files` takes them. The widget below the pointer
    is outlined meanwhile."""

    def __init__(
        self,
        widget: QWidget,
        theme: Theme,
        offered: Offered,
        files: Callable[[list[Path]], None] | None = None,
        low: bool = False,
        outline: Outline | None = None,
    ) -> None:
        super().__init__(widget)
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
            self.moved(event)
            event.acceptProposedAction()
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
        if key:
            self._say(self.offer(key, event.position()))
        elif paths and self.files:
            self.outline.say(f"Open {', '.join(p.name for p in paths[:3])}", False)
        else:
            return False
        event.acceptProposedAction()
        return True

    def offer(self, key: str, at: QPointF) -> Offer:
        """What the card would do where it is."""
        return self.offered(key)

    def moved(self, event: QDragMoveEvent) -> None:
        """The card is elsewhere on the widget."""

    def left(self) -> None:
        """The card is on the widget no more."""

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
                return
            event.acceptProposedAction()
            offer.done()
        elif paths and self.files:
            event.acceptProposedAction()
            self.files(paths)


class PlaceTarget(Target):
    """A target on which it matters where a card is: `at` says what would happen at a place,
    `leave` that it is gone."""

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
        return self._at(key, at)

    def moved(self, event: QDragMoveEvent) -> None:
        if key := card_key(event.mimeData()):
            self._say(self._at(key, event.position()))

    def left(self) -> None:
        self._leave()


class Outline(QWidget):
    """Dashes around a target and a sentence in its middle, or `low` in it; the pointer goes
    through."""

    def __init__(self, over: QWidget, theme: Theme, low: bool = False) -> None:
        super().__init__(over)
        self.theme, self.low = theme, low
        self.words, self.refused = "", False
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def cover(self) -> None:
        """All of the target, asked for anew: what Python once knew as a table's viewport is gone
        after a while, though the viewport is not."""
        parent = self.parentWidget()
        if parent is not None:
            self.setGeometry(parent.rect())

    def say(self, words: str, refused: bool) -> None:
        """What would happen, or why nothing will."""
        self.words, self.refused = words, refused
        self.cover()
        self.raise_()
        self.show()
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        area = QRectF(self.rect()).adjusted(2, 2, -2, -2)
        self.dash(Paint(painter, self.theme), area)
        self.sentence(painter, area)
        painter.end()

    @property
    def colour(self) -> str:
        """That of what would happen, or of a refusal."""
        return self.theme.danger if self.refused else self.theme.b

    def dash(self, paint: Paint, area: QRectF) -> None:
        """Dashes around an area."""
        paint.box(area, "", self.colour, 8, dashed=True, wide=2.0)

    def sentence(self, painter: QPainter, area: QRectF) -> None:
        """The words on a ground of their own, within an area."""
        paint, theme, colour = Paint(painter, self.theme), self.theme, self.colour
        painter.setFont(face(BODY_PX, 600)[0])
        middle = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
        room = QRectF(0, 0, min(_WIDEST, area.width() - 56), area.height())
        words = self.words
        box = painter.boundingRect(room, middle, words).adjusted(-16, -9, 16, 9)
        if box.height() > area.height():  # a card of the strip: as much as one line takes
            words = elided(words, room.width(), BODY_PX, 600)
            box = painter.boundingRect(room, middle, words).adjusted(-16, -4, 16, 4)
        box.moveCenter(area.center())
        if self.low:
            box.moveBottom(area.bottom() - 8)
        paint.box(box, theme.danger_ground if self.refused else theme.bg2, colour, 6)
        painter.setPen(QColor(colour))
        painter.drawText(box, middle, words)


class Beside(Outline):
    """Dashes around a small widget, and the sentence over what stands left of it in its
    parent."""

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


def card_key(data: QMimeData) -> str:
    """The key of the card that is dragged; "" where it is none."""
    return bytes(data.data(MIME).data()).decode("utf-8", "replace") if data.hasFormat(MIME) else ""


def local_files(data: QMimeData) -> list[Path]:
    """The files that are dragged."""
    return [Path(url.toLocalFile()) for url in data.urls() if url.isLocalFile()]
