"""Asks a class: counts the current answer as the answer of another pupil."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QWidget

from app.scenes.lessons.attempt import Attempt


class ClassRow(QWidget):
    """Buttons that add an answer and remove the last one, and the number of answers."""

    voted = Signal()
    """The answers changed."""

    def __init__(self) -> None:
        super().__init__()
        self.attempt: Attempt | None = None
        self.setAccessibleName("Ask the class")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(6)
        self.add = QPushButton("Ask the class: add this answer")
        self.back = QPushButton("−1")
        self.back.setToolTip("Remove the last answer")
        self.count = QLabel()
        self.count.setProperty("tone", "support")
        for button, name in ((self.add, "Add this answer"), (self.back, "Remove the last answer")):
            button.setAccessibleName(name)
            row.addWidget(button)
        row.addWidget(self.count, 1)
        self.add.clicked.connect(self._add)
        self.back.clicked.connect(self._back)

    def show_attempt(self, attempt: Attempt | None) -> None:
        """Show the answers so far; the buttons are disabled once the prediction is locked."""
        self.attempt = attempt
        asking = attempt is not None and not attempt.locked
        count = len(attempt.votes.answers) if attempt is not None else 0
        self.add.setVisible(asking)
        lacking = attempt.lacking if attempt is not None else ""
        self.add.setEnabled(asking and not lacking)
        self.add.setToolTip(lacking or "Count the answer above as the answer of one pupil")
        self.back.setVisible(asking and count > 0)
        self.count.setText(f"{count} answers" if count > 1 else "1 answer" if count else "")

    def _add(self) -> None:
        if self.attempt is not None:
            self.attempt.vote()
            self.voted.emit()

    def _back(self) -> None:
        if self.attempt is not None:
            self.attempt.votes.remove_last()
            self.voted.emit()
