"""Goal seek in the inspector: the batch that reaches a goal, with a button to apply it."""

from __future__ import annotations

from PySide6.QtCore import QLocale, Signal
from PySide6.QtGui import QDoubleValidator
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.explorer.background.advising import GOALS, UNITS
from app.explorer.state.session import Session
from app.theme import Theme
from app.widgets.columns import titled_column
from app.widgets.elided_label import Elided
from app.widgets.fields.choice import Choice
from simulator.analysis.seek import UNDER, SeekResult


class Goals(QWidget):
    """One row per goal. `requested` carries a goal, its target, and the figure that the goal
    "Largest batch with … under …" limits."""

    requested = Signal(str, float, str)

    def __init__(self, session: Session, theme: Theme) -> None:
        super().__init__()
        self.session, self.theme = session, theme
        self.results: dict[str, SeekResult] = {}
        self.questions: dict[str, str] = {}
        """The question of each goal whose search is running or has a result."""
        self.labels: dict[str, Elided] = {}
        self.buttons: dict[str, QPushButton] = {}
        self.boxes: dict[str, QLineEdit] = {}
        self.setAccessibleName("Goal seek")
        column = titled_column(self, "Goal seek", above=4)
        self.units: dict[str, QLabel] = {}
        for goal, words in GOALS.items():
            column.addWidget(self._row(goal, words))
        self._set_unit()

    def wait(self) -> None:
        """Clear the results of the previous scenario."""
        for goal in GOALS:
            self._forget(goal)

    def show_result(self, goal: str, result: SeekResult | None, reason: str) -> None:
        """Show the result of a search, or the reason why it failed; nothing if the question has
        changed in the meantime."""
        if goal not in self.questions:
            return
        self.labels[goal].say(reason)
        if result is None:
            return
        short = f"{result.axis} {result.value:,.0f}" if goal in UNITS else result.sentence
        self.labels[goal].say(short)
        self.labels[goal].setToolTip(result.sentence)
        self.results[goal] = result
        button = self.buttons[goal]
        button.setText("Apply")
        button.setEnabled(result.scenario.key != self.session.state.scenario.key)
        button.setAccessibleName(f"Apply: {self.questions[goal]}, {result.sentence}")

    def _row(self, goal: str, words: str) -> QFrame:
        row = QFrame()
        row.setProperty("look", "plain")
        line = QHBoxLayout(row)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(6)
        column = QVBoxLayout()
        column.setSpacing(1)
        label = QLabel(words)
        label.setWordWrap(True)  # so that no label widens the inspector
        label.setProperty("tone", "support")
        column.addWidget(label)
        if goal == "under":
            column.addWidget(self._figures())
        below = QHBoxLayout()
        below.setSpacing(5)
        if goal in UNITS:
            box = self.boxes[goal] = QLineEdit()
            valid = QDoubleValidator(1e-6, 1e12, 6, box)
            valid.setLocale(QLocale.c())
            box.setValidator(valid)
            box.setFixedWidth(56)
            box.setAccessibleName(f"{words}, {UNITS[goal]}".strip(", "))
            box.textEdited.connect(lambda: self._forget(goal))
            box.returnPressed.connect(lambda: self._seek(goal))
            unit = self.units[goal] = QLabel(UNITS[goal])
            unit.setProperty("tone", "label")
            below.addWidget(box)
            below.addWidget(unit)
        result = self.labels[goal] = Elided()
        result.setProperty("tone", "label")
        below.addWidget(result, 1)
        column.addLayout(below)
        line.addLayout(column, 1)
        button = self.buttons[goal] = QPushButton("Seek")
        button.setAccessibleName(f"Seek: {words}")
        button.setFixedWidth(64)
        button.clicked.connect(lambda: self._clicked(goal))
        line.addWidget(button)
        return row

    def _figures(self) -> Choice:
        """The choice of the figure to limit; the unit of the figure is shown beside the limit."""
        self.figure = Choice(self.theme, "Figure under a limit")
        # elided where there is little room, so that it does not widen the inspector
        policy = Choice.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        self.figure.setSizeAdjustPolicy(policy)
        self.figure.setMinimumContentsLength(6)
        self.figure.addItems([f"{name} under" for name in UNDER])
        self.figure.currentIndexChanged.connect(self._set_unit)
        return self.figure

    def restyle(self, theme: Theme) -> None:
        """Apply a theme."""
        self.theme = self.figure.theme = theme
        self.figure.update()

    def _set_unit(self) -> None:
        self.units["under"].setText(UNDER[self._figure][1])
        self.boxes["under"].setAccessibleName(f"{self._figure} under, {UNDER[self._figure][1]}")
        self._forget("under")

    @property
    def _figure(self) -> str:
        return list(UNDER)[self.figure.currentIndex()]

    def _question(self, goal: str) -> str:
        """A goal in words, with its figure and its target as typed."""
        words = f"{GOALS[goal]} {self._figure} under" if goal == "under" else GOALS[goal]
        typed = self.boxes[goal].text() if goal in UNITS else ""
        return f"{words} {typed} {self.units[goal].text()}" if typed else words

    def _forget(self, goal: str) -> None:
        """Clear the question and its result, for example when another target is typed."""
        self.results.pop(goal, None)
        self.questions.pop(goal, None)
        self.labels[goal].say("")
        button = self.buttons[goal]
        button.setText("Seek")
        button.setEnabled(True)
        button.setAccessibleName(f"Seek: {self._question(goal)}")

    def _clicked(self, goal: str) -> None:
        result = self.results.get(goal)
        if result is not None:
            question = self.questions[goal]
            words = f"{question[:1].lower()}{question[1:]}: {result.value:g}"
            self.session.set_scenario(result.scenario, words)
        else:
            self._seek(goal)

    def _seek(self, goal: str) -> None:
        target = 0.0
        if goal in UNITS:
            box = self.boxes[goal]
            if not box.hasAcceptableInput():
                self.labels[goal].say("expected a number above 0; enter one", "enter > 0")
                box.setFocus()
                return
            target = float(box.text())
        self._forget(goal)
        self.questions[goal] = self._question(goal)
        self.labels[goal].say("searching …")
        self.requested.emit(goal, target, self._figure)
