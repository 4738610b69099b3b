"""Small painted widgets of a lesson: its steps, its options, and its figures."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QKeyEvent, QPaintEvent
from PySide6.QtGui import QPainter as Painter
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QWidget

from app.lessons.lesson import Card
from app.scenes.lessons.attempt import STEPS, Step
from app.theme import BODY_PX, HEAD_PX, LABEL_PX, SUPPORT_PX, Theme
from app.widgets.paint import Paint, elided, faint, width
from simulator.parallel.prediction import ParallelRegime

_CIRCLE_PX, _GAP_PX = 22.0, 10.0
"""The diameter of a step's circle, and the minimum space between two steps."""


class Steps(QWidget):
    """The steps predict, reveal, explain and try, with the current one highlighted."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.theme = theme
        self.step: Step = "predict"
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Steps of the lesson")
        self.show_step("predict")

    def show_step(self, step: Step) -> None:
        """Highlight a step."""
        self.step = step
        place = list(STEPS).index(step) + 1
        self.setAccessibleDescription(f"step {place} of {len(STEPS)}: {STEPS[step]}")
        self.setToolTip(", ".join(f"{at} {words}" for at, words in enumerate(STEPS.values(), 1)))
        self.update()

    def shown_words(self) -> list[str]:
        """The name of each step; if not all fit, only that of the current step."""
        room = self.width() - (len(STEPS) - 1) * _GAP_PX
        if sum(_CIRCLE_PX + 6 + width(w, BODY_PX, 600) for w in STEPS.values()) <= room:
            return list(STEPS.values())
        return [words if step == self.step else "" for step, words in STEPS.items()]

    def sizeHint(self) -> QSize:
        return QSize(404, 32)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = Painter(self)
        paint, theme = Paint(painter, self.theme), self.theme
        current = list(STEPS).index(self.step)
        shown = self.shown_words()
        wide = [_CIRCLE_PX + (6 + width(w, BODY_PX, 600) if w else 0.0) for w in shown]
        gap = max(_GAP_PX, (self.width() - sum(wide)) / (len(STEPS) - 1) - 1)
        x, y = 0.0, self.height() / 2
        for index, words in enumerate(shown):
            done, is_current = index < current, index == current
            ground = theme.b if done else theme.ink if is_current else theme.bg3
            ink = theme.on_accent if done else theme.bg1 if is_current else theme.ink3
            paint.area(QRectF(x, y - 11, 22, 22), ground, radius=11)
            if done:
                paint.line([(x + 6.5, y), (x + 9.8, y + 3.4), (x + 15.5, y - 3.6)], ink, 1.8)
            else:
                paint.text(x + 11, y, str(index + 1), ink, LABEL_PX, 600, 0.5)
            tone = theme.ink if done or is_current else theme.ink3
            paint.text(x + 28, y, words, tone, BODY_PX, 600 if is_current else 400)
            end = x + wide[index]
            x = end + gap
            if index < len(STEPS) - 1 and gap > 20:
                paint.line([(end + 8, y), (x - 8, y)], theme.line2)
        painter.end()


class Option(QAbstractButton):
    """One answer to choose from: a regime or a side. `judged` is a remark such as "correct"."""

    def __init__(self, value: str, words: str, regime: ParallelRegime | None, theme: Theme) -> None:
        super().__init__()
        self.value, self.words, self.theme = value, words, theme
        self.regime: ParallelRegime | None = regime
        self.judged = ""
        self.right = False
        self.setCheckable(True)
        self.setAutoExclusive(True)
        self.setFixedHeight(34)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAccessibleName(words)

    def judge(self, judged: str, right: bool, locked: bool) -> None:
        """Show whether the option was chosen, and whether it is correct."""
        self.judged, self.right = judged, right
        self.setAccessibleDescription(judged)
        self.setEnabled(not locked)
        self.update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = Painter(self)
        paint, theme = Paint(painter, self.theme), self.theme
        box = QRectF(self.rect()).adjusted(1, 1, -1, -3)
        edge = theme.b if self.right else theme.ink if self.isChecked() else theme.line2
        paint.box(box, theme.bg2, edge, 6, wide=1.6 if self.isChecked() or self.right else 1.0)
        y = box.center().y()
        painter.setPen(faint(theme.ink, 1.0))
        painter.setBrush(faint(theme.bg1, 1.0))
        painter.drawEllipse(QRectF(box.left() + 11, y - 6, 12, 12))
        if self.isChecked():
            paint.area(QRectF(box.left() + 14, y - 3, 6, 6), theme.ink, radius=3)
        x = box.left() + 34
        if self.regime:
            paint.mark(self.regime, x + 5, y, 5)
            x += 18
        end = box.right() - 12
        if self.judged:
            tone = theme.b if self.right else theme.ink3
            end = paint.text(end, y, self.judged, tone, SUPPORT_PX, 600, 1.0).left() - 8
        paint.text(x, y, self.words, theme.ink, BODY_PX, 600 if self.right else 400, room=end - x)
        if self.hasFocus():
            paint.ring(box)
        painter.end()


class Cards(QWidget):
    """Figures side by side, each with a name and a note."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.theme = theme
        self.cards: tuple[tuple[Card, ParallelRegime | None], ...] = ()
        self.setFixedHeight(82)
        self.setAccessibleName("Figures of the explanation")

    def show_cards(self, cards: tuple[tuple[Card, ParallelRegime | None], ...]) -> None:
        """Show cards, with their texts filled in, and their regimes."""
        self.cards = cards
        texts = [f"{c.name}: {c.figure}, {c.note}".rstrip(", ") for c, _ in cards]
        self.setAccessibleDescription("; ".join(texts))
        self.setToolTip("\n".join(texts))
        self.setVisible(bool(cards))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self.cards:
            return
        painter = Painter(self)
        paint, theme = Paint(painter, self.theme), self.theme
        gap = 12.0
        wide = min(260.0, (self.width() - gap * (len(self.cards) - 1)) / len(self.cards))
        for index, (card, regime) in enumerate(self.cards):
            box = QRectF(index * (wide + gap), 0, wide, self.height()).adjusted(0.5, 0.5, -0.5, -1)
            paint.box(box, theme.bg2, theme.line, 6)
            x, room = box.left() + 14, wide - 28
            ink = theme.regime(regime).ink if regime else theme.ink
            left = x
            if regime:
                paint.mark(regime, x + 4.5, 17, 4.5)
                left += 16
            paint.text(left, 17, card.name, theme.ink2, SUPPORT_PX, room=room - left + x)
            paint.text(x, 42, elided(card.figure, room, HEAD_PX, 600), ink, HEAD_PX, 600)
            paint.text(x, 65, card.note, theme.ink2, SUPPORT_PX, room=room)
        painter.end()


class Sign(QWidget):
    """A regime's mark beside a text."""

    def __init__(self, regime: ParallelRegime | None, theme: Theme) -> None:
        super().__init__()
        self.regime: ParallelRegime | None = regime
        self.theme = theme
        self.setFixedSize(20, 22)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = Painter(self)
        Paint(painter, self.theme).mark(self.regime, 8, 11, 5)
        painter.end()


class Rule(QWidget):
    """A line between parts of a page."""

    def __init__(self, theme: Theme, upright: bool = False) -> None:
        super().__init__()
        self.theme = theme
        if upright:
            self.setFixedWidth(1)
        else:
            self.setFixedHeight(1)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = Painter(self)
        painter.fillRect(self.rect(), faint(self.theme.line, 1.0))
        painter.end()
