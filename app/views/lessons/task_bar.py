"""The bar above the views that shows the open task of a lesson, and whether it is reached."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QToolButton

from app.lessons.lesson import Task
from app.scenes.lessons.task import TaskProgress, target_words
from app.theme import Theme
from app.views.lessons.tick import Tick
from app.widgets.elided_label import Elided


class TaskBar(QFrame):
    """Shows a task, its target and the scenario's figure, with a tick once the task is reached."""

    returned = Signal()
    """The user asked for the lesson."""
    left = Signal()
    """The user closed the task."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setProperty("look", "offer")
        self.setAccessibleName("Task of the lesson")
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 6, 8, 6)
        row.setSpacing(10)
        self.tick = Tick(theme)
        self.words = QLabel()
        self.words.setWordWrap(True)
        self.words.setTextFormat(Qt.TextFormat.PlainText)
        self.target, self.now = Elided(), QLabel()
        self.target.setProperty("tone", "quiet")
        self.now.setTextFormat(Qt.TextFormat.PlainText)
        self.now.setWordWrap(True)
        row.addWidget(self.tick)
        for part, stretch in ((self.words, 5), (self.target, 3), (self.now, 3)):
            row.addWidget(part, stretch)
        for words, name, signal in (
            ("Lesson", "Go back to the lesson", self.returned),
            ("Leave", "Leave the task", self.left),
        ):
            button = QToolButton()
            button.setText(words)
            button.setToolTip(name)
            button.setAccessibleName(name)
            button.setProperty("look", "button")
            button.clicked.connect(lambda _=False, signal=signal: signal.emit())
            row.addWidget(button)
        self.hide()

    def show_task(self, task: Task, progress: TaskProgress | None) -> None:
        """Show a task; `progress` is None while the scenario is being predicted."""
        self.words.setText(task.words)
        self.target.say(f"Target: {target_words(task)}")
        self.now.setText(progress.words if progress else "predicting …")
        reached = progress is not None and progress.reached
        self.tick.check(reached)
        self.now.setProperty("tone", "good" if reached else "support")
        self.now.style().unpolish(self.now)
        self.now.style().polish(self.now)
        self.setAccessibleDescription(f"{task.words} {self.target.text()}; {self.now.text()}")

    def restyle(self, theme: Theme) -> None:
        """Apply a theme."""
        self.tick.restyle(theme)
