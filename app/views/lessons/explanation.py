"""The explanation of a lesson, with predicted figures."""

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
    """Return a label that wraps plain text."""
    label = QLabel()
    label.setWordWrap(True)
    label.setFont(face(px, weight))
    label.setStyleSheet(f"font-size: {px}px; font-weight: {weight};")
    label.setTextFormat(Qt.TextFormat.PlainText)
    return label


class Explanation(QScrollArea):
    """A paragraph, its figures, and the points to remember."""

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

    def show_outcome(self, outcome: Outcome) -> None:
        """Show the lesson's texts with their placeholders filled in."""
        lesson = outcome.lesson
        self.words.setText(outcome.filled(lesson.explain))
        self.setAccessibleDescription(self.words.text())
        self.cards.show_cards(
            tuple(
                (
                    replace(
                        c,
                        name=outcome.filled(c.name),
                        figure=outcome.filled(c.figure),
                        note=outcome.filled(c.note),
                    ),
                    outcome.regime(c.regime),
                )
                for c in lesson.cards
            )
        )
        empty(self.points)
        for point in lesson.points:
            entry = QWidget()
            row = QHBoxLayout(entry)
            row.setContentsMargins(0, 0, 0, 0)
            row.setSpacing(4)
            row.addWidget(
                Sign(outcome.regime(point.regime), self.theme), 0, Qt.AlignmentFlag.AlignTop
            )
            words = sentence(BODY_PX)
            words.setText(outcome.filled(point.name))
            row.addWidget(words, 1)
            self.points.addWidget(entry, 1)

    def restyle(self, theme: Theme) -> None:
        """Apply a theme."""
        self.theme = theme
        for part in (self.cards, *self.findChildren(Sign)):
            part.theme = theme
            part.update()
