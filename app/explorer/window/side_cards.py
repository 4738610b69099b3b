"""The cards of the scenarios A to D, with the time of each and its change against A."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QEvent, QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QLineEdit, QSizePolicy, QWidget

from app.answers.answer import Answer
from app.explorer.background.worker import later
from app.explorer.docks.veil import OPACITY
from app.explorer.window.side_contents import Shown, paint_alike
from app.explorer.window.verdict.bar import GRACE_MS
from app.quantities import between, number, seconds_unit
from app.theme import BODY_PX, FIGURE_PX, HEAD_PX, LABEL_PX, SUPPORT_PX, Theme
from app.widgets.context_menu import ContextMenu, Entry
from app.widgets.paint import Paint, width
from app.widgets.style import SIDE_HEIGHT, SIDE_LOW
from simulator.prediction import REGIMES

_MODES = {"cuda_graph": "CUDA graph"}  # the other modes have the names of torch.compile


class SideCard(QWidget):
    """A scenario. Click or Enter switches to it, double click or F2 renames, Delete removes it."""

    chosen, removed, copied = Signal(), Signal(), Signal()
    renamed = Signal(str)
    action_requested = Signal(str)
    """The name of an action of the window, for this scenario."""

    def __init__(self, theme: Theme, place: int) -> None:
        super().__init__()
        self.theme, self.place = theme, place
        self.shown: Shown | None = None
        self.painted: Shown | None = None
        """The drawn contents. Figures are kept until the next ones arrive. As in the verdict, they
        count as outdated at once and are drawn dimmed at the next paint, at most `GRACE_MS`
        later."""
        self._dimmed = later(GRACE_MS, self.update, self)
        self.setMinimumHeight(SIDE_LOW)  # at any height, so that the window can become low
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.setMaximumHeight(SIDE_HEIGHT)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.box = QLineEdit(self)
        self.box.setMaxLength(60)
        self.box.setAccessibleName("New name of the scenario")
        self.box.hide()
        self.box.editingFinished.connect(self._typed)

    def sizeHint(self) -> QSize:
        return QSize(180, self.maximumHeight())

    def put(self, shown: Shown) -> None:
        """Show a scenario."""
        before, self.shown = self.painted, shown
        drawn = self.painted = shown.after(before)
        alike = before is not None and paint_alike(before, drawn)
        if before is not None and alike and drawn is not shown:
            if not before.stale:
                self._dimmed.start()
        else:
            undrawn = self._dimmed.isActive()
            self._dimmed.stop()
            if undrawn or not alike or (before is not None and before.stale != drawn.stale):
                self.update()
        sentence = self.sentence()
        self.setAccessibleName(f"Scenario {shown.letter}, {shown.name}")
        self.setAccessibleDescription(sentence)
        self.setToolTip(f"{shown.name}\n{sentence}")

    def sentence(self) -> str:
        """The contents of the card as a sentence."""
        shown = self.shown
        if shown is None or shown.answer is None:
            return (shown and shown.reason) or "not predicted yet"
        p = shown.answer.prediction
        scale, unit = seconds_unit(p.period_s, 2)
        words = f"{number(p.period_s / scale, 2)} {unit}, {between(*p.interval_s, p.period_s)}"
        words += f", {p.regime}-bound, {_setup(shown.answer)}"
        return words + ("" if shown.letter == "A" else f", {self.changed()} against A")

    def changed(self) -> str:
        """The change against A; empty if it is unknown."""
        return self.shown.changed() if self.shown is not None else ""

    def set_low(self, low: bool) -> None:
        """Use two lines instead of three."""
        self.setMaximumHeight(SIDE_LOW if low else SIDE_HEIGHT)
        self.updateGeometry()
        self.update()

    def rename(self) -> None:
        """Open the field for a new name."""
        if self.shown is None:
            return
        self.box.setText(self.shown.name)
        left, top, high = (27, 3, 25) if self.maximumHeight() == SIDE_LOW else (36, 6, 28)
        self.box.setFixedHeight(high)
        self.box.setGeometry(left, top, max(60, self.width() - left - 10), high)
        self.box.selectAll()
        self.box.show()
        self.box.setFocus()

    def _typed(self) -> None:
        if self.box.isVisible():
            self.box.hide()
            self.setFocus()
            self.renamed.emit(self.box.text())

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self.chosen.emit()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.rename()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.menu(event.globalPos())

    def menu(self, at: QPoint) -> None:
        """Show the menu of the scenario."""
        entries = [Entry(words, done) for words, done in self._actions()]
        ContextMenu(self, self.accessibleName(), entries).popup(at)

    def _actions(self) -> tuple[tuple[str, Callable[[], None]], ...]:
        of_window = ("Go to Compare", "Copy as command", "Copy link")
        return (
            ("Switch to it\tEnter", self.chosen.emit),
            ("Rename\tF2", self.rename),
            ("Duplicate scenario\tCtrl+D", self.copied.emit),
            ("Remove\tDel", self.removed.emit),
            *((name, partial(self.action_requested.emit, name)) for name in of_window),
        )

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            # rename this card, not the current scenario
            event.setAccepted(event.key() == Qt.Key.Key_F2)
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        done = {
            Qt.Key.Key_Return: self.chosen.emit,
            Qt.Key.Key_Enter: self.chosen.emit,
            Qt.Key.Key_Space: self.chosen.emit,
            Qt.Key.Key_F2: self.rename,
            Qt.Key.Key_Delete: self.removed.emit,
        }.get(Qt.Key(event.key()))
        if self.box.isVisible() and event.key() == Qt.Key.Key_Escape:
            self.box.hide()
            self.setFocus()
        elif done is None:
            super().keyPressEvent(event)
        else:
            done()

    def paintEvent(self, event: QPaintEvent) -> None:
        shown, theme = self.painted, self.theme
        if shown is None:
            return
        painter = QPainter(self)
        paint = Paint(painter, theme)
        area = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        paint.box(
            area,
            theme.bg2,
            theme.ink if shown.current else theme.line,
            wide=1.6 if shown.current else 1.0,
        )
        own = theme.sides[self.place]
        painter.setOpacity(OPACITY if shown.stale else 1.0)
        if self.maximumHeight() == SIDE_LOW:
            self._low(paint, own, shown)
            painter.end()
            return
        paint.box(QRectF(12, 11, 20, 20), own, radius=4)
        paint.text(22, 21, shown.letter, theme.bg1, SUPPORT_PX, 600, 0.5)
        right = self.width() - 12.0
        setup = _setup(shown.answer) if shown.answer else ""
        room = right - 40 - width(shown.name, BODY_PX, 600) - 10
        if setup and room > 60:
            paint.text(right, 21, setup, theme.ink3, SUPPORT_PX, align=1.0, room=room)
        paint.text(40, 21, shown.name, theme.ink, BODY_PX, 600, room=right - 40)
        if shown.answer is None:
            words = shown.reason or "predicting …"
            ink = theme.danger if shown.reason else theme.ink3
            paint.text(12, 47, words, ink, SUPPORT_PX, room=right - 12)
        else:
            self._figures(paint, right, shown, shown.answer, own)
        if self.hasFocus():
            paint.ring(area.adjusted(2, 2, -2, -2))
        painter.end()

    def _low(self, paint: Paint, own: str, shown: Shown) -> None:
        """Paint two lines: the name with the regime's mark, and the time with its change."""
        theme, right = self.theme, self.width() - 10.0
        paint.box(QRectF(8, 8, 16, 16), own, radius=4)
        paint.text(16, 16, shown.letter, theme.bg1, LABEL_PX, 600, 0.5)
        answer = shown.answer
        room = right - 32 - (14 if answer else 0)
        paint.text(32, 16, shown.name, theme.ink, SUPPORT_PX, 600, room=room)
        if answer is None:
            words, ink = (
                shown.reason or "predicting …",
                theme.danger if shown.reason else theme.ink3,
            )
            paint.text(10, 35, words, ink, LABEL_PX, room=right - 10)
        else:
            p = answer.prediction
            scale, unit = seconds_unit(p.period_s, 2)
            paint.mark(p.regime, right - 5, 16, 4.6)
            time = f"{number(p.period_s / scale, 2)} {unit}"
            words, px = shortened(time, shown.changed(), right - 10)
            box = paint.text(10, 35, time, theme.ink, px, 600)
            ink = self._ink(words, own)
            left = paint.text(right, 35, words, ink, px, 600, 1.0).left()
            interval = between(*p.interval_s, p.period_s)
            if width(interval, LABEL_PX) + 16 < left - box.right():
                paint.text(box.right() + 8, 35, interval, theme.ink2, LABEL_PX)
        if self.hasFocus():
            paint.ring(QRectF(self.rect()).adjusted(3, 3, -3, -3))

    def _ink(self, words: str, own: str) -> str:
        """The colour of a change: the side's colour, or the colour of danger if it is slower."""
        theme = self.theme
        unchanged = words.removesuffix("/item") in ("baseline", "", "0%", "0% per item")
        return theme.ink2 if unchanged else theme.danger if _is_slower(words) else own

    def _figures(self, paint: Paint, right: float, shown: Shown, answer: Answer, own: str) -> None:
        p, theme = answer.prediction, self.theme
        scale, unit = seconds_unit(p.period_s, 2)
        box = paint.text(12, 47, number(p.period_s / scale, 2), theme.ink, HEAD_PX, 600)
        box = paint.text(box.right() + 4, 49, unit, theme.ink2, SUPPORT_PX)
        words = shown.changed()
        ink = self._ink(words, own)
        px = FIGURE_PX if width(words, FIGURE_PX, 600) < right - box.right() - 10 else SUPPORT_PX
        room = right - box.right() - 10
        interval = between(*p.interval_s, p.period_s)
        if width(interval, SUPPORT_PX) + 20 < room - width(words, px, 600):
            paint.text(box.right() + 10, 49, interval, theme.ink2, SUPPORT_PX)
        paint.text(right, 48, words, ink, px, 600, 1.0, room=room)
        name = f"{p.regime}-bound"
        wide = min(width(name, SUPPORT_PX, 500) + 18, right - 60)
        paint.mark(p.regime, right - wide + 5, 71, 4.6)
        paint.text(right - wide + 16, 71, name, theme.regime(p.regime).ink, SUPPORT_PX, 500)
        at, end = 12.0, max(40.0, right - wide - 14)
        whole = end - at
        for regime in REGIMES:
            part = p.shares[regime] * whole
            if part > 0.5:
                paint.area(QRectF(at, 67, max(1.0, part - 1.5), 8), regime, radius=2)
            at += part


def shortened(time: str, words: str, room: float) -> tuple[str, int]:
    """The change beside a time in `room` pixels, and the size of both texts; a change that does not
    fit is left to the tooltip."""
    for px in (SUPPORT_PX, LABEL_PX):
        for text in (words, words.replace(" per item", "/item")):
            if width(time, px, 600) + 6 + width(text, px, 600) <= room:
                return text, px
    return "", SUPPORT_PX


def _setup(answer: Answer) -> str:
    mode = _MODES.get(answer.prediction.mode, answer.prediction.mode)
    return f"{mode}, batch {answer.subject.batch:,}"


def _is_slower(words: str) -> bool:
    return words.startswith("+") or "×" in words
