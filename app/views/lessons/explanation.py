"""The explanation of a lesson, with today's figures."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QScrollArea, QVBoxLayout, QWidget

from app.lessons.outcome import Outcome
from app.theme import BODY_PX, FIGURE_PX, Theme
from app.views.lessons.pieces import Cards, Sign
from app.widgets.columns import empty
from app.widgets.style import face


def sentence(px: int = FIGURE_PX, weight: int = 400) -> QLabel:
    """A text that wraps."""
    found = QLabel()
    found.setWordWrap(True)
    found.setFont(face(px, weight))
    found.setStyleSheet(f"font-size: {px}px; font-weight: {weight};")
    found.setTextFormat(Qt.TextFormat.PlainText)
    return found


class Explanation(QScrollArea):
    """A paragraph, the figures that it is about, and what to keep in mind."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.theme = theme
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setAccessibleName("Explanation")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        inside = QWidget()
        self.column = QVBoxLayout(inside)
        self.column.setContentsMargins(20, 6, 20, 10)
        self.column.setSpacing(12)
        self.words = sentence()
        self.cards = Cards(theme)
        self.column.addWidget(self.words)
        self.column.addWidget(self.cards)
        self.points = QHBoxLayout()
        self.points.setSpacing(24)
        self.column.addLayout(self.points)
        self.column.addStretch(1)
        self.setWidget(inside)

    def show_outcome(self, found: Outcome) -> None:
        """The lesson's texts, their placeholders filled in."""
        lesson = found.lesson
        self.words.setText(found.filled(lesson.explain))
        self.setAccessibleDescription(self.words.text())
        self.cards.show_cards(
            tuple(
                (
                    replace(
                        c,
                        name=found.filled(c.name),
                        figure=found.filled(c.figure),
                        note=found.filled(c.note),
                    ),
                    found.regime(c.regime),
                )
                for c in lesson.cards
            )
        )
        empty(self.points)
        for point in lesson.points:
            beside = QWidget()
            row = QHBoxLayout(beside)
            row.setContentsMargins(0, 0, 0, 0)
            row.setSpacing(4)
            row.addWidget(
                Sign(found.regime(point.regime), self.theme), 0, Qt.AlignmentFlag.AlignTop
            )
            words = sentence(BODY_PX)
            words.setText(found.filled(point.name))
            row.addWidget(words, 1)
            self.points.addWidget(beside, 1)

    def restyle(self, theme: Theme) -> None:
        """Another theme."""
        self.theme = theme
        for part in (self.cards, *self.findChildren(Sign)):
            part.theme = theme
            part.update()
