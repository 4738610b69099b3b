"""Goal seek in the inspector: the batch that reaches what is wanted, with a button that takes
it."""

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
from app.widgets.columns import titled_column
from app.widgets.elided_label import Elided
from simulator.analysis.seek import SeekResult


class Goals(QWidget):
    """One row a goal. `asked` gives a goal and the figure that was typed for it."""

    asked = Signal(str, float)

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session
        self.found: dict[str, SeekResult] = {}
        self.said: dict[str, Elided] = {}
        self.buttons: dict[str, QPushButton] = {}
        self.boxes: dict[str, QLineEdit] = {}
        self.setAccessibleName("Goal seek")
        column = titled_column(self, "Goal seek", above=4)
        for goal, words in GOALS.items():
            column.addWidget(self._row(goal, words))

    def wait(self) -> None:
        """Another scenario: what was found for the last one is gone."""
        self.found.clear()
        for goal, button in self.buttons.items():
            button.setText("Seek")
            button.setEnabled(True)
            button.setAccessibleName(f"Seek: {GOALS[goal]}")
            self.said[goal].say("")

    def show_sought(self, goal: str, found: SeekResult | None, reason: str) -> None:
        """What reaches a goal, or why nothing does."""
        self.said[goal].say(reason)
        if found is None:
            return
        short = f"{found.axis} {found.value:,.0f}" if goal in UNITS else found.sentence
        self.said[goal].say(short)
        self.said[goal].setToolTip(found.sentence)
        self.found[goal] = found
        button = self.buttons[goal]
        button.setText("Apply")
        button.setEnabled(found.scenario.key != self.session.state.scenario.key)
        button.setAccessibleName(f"Apply: {GOALS[goal]}, {found.sentence}")

    def _row(self, goal: str, words: str) -> QFrame:
        row = QFrame()
        row.setProperty("look", "plain")
        line = QHBoxLayout(row)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(6)
        column = QVBoxLayout()
        column.setSpacing(1)
        label = QLabel(words)
        label.setProperty("tone", "support")
        column.addWidget(label)
        below = QHBoxLayout()
        below.setSpacing(5)
        if goal in UNITS:
            box = self.boxes[goal] = QLineEdit()
            valid = QDoubleValidator(1e-6, 1e12, 6, box)
            valid.setLocale(QLocale.c())
            box.setValidator(valid)
            box.setFixedWidth(56)
            box.setAccessibleName(f"{words}, {UNITS[goal]}")
            box.textEdited.connect(lambda: self._forget(goal))
            box.returnPressed.connect(lambda: self._seek(goal))
            unit = QLabel(UNITS[goal])
            unit.setProperty("tone", "label")
            below.addWidget(box)
            below.addWidget(unit)
        said = self.said[goal] = Elided()
        said.setProperty("tone", "label")
        below.addWidget(said, 1)
        column.addLayout(below)
        line.addLayout(column, 1)
        button = self.buttons[goal] = QPushButton("Seek")
        button.setAccessibleName(f"Seek: {words}")
        button.setFixedWidth(64)
        button.clicked.connect(lambda: self._clicked(goal))
        line.addWidget(button)
        return row

    def _forget(self, goal: str) -> None:
        """Another figure is typed."""
        self.found.pop(goal, None)
        self.said[goal].say("")
        self.buttons[goal].setText("Seek")
        self.buttons[goal].setEnabled(True)

    def _clicked(self, goal: str) -> None:
        found = self.found.get(goal)
        if found is not None:
            self.session.ask(found.scenario, f"{GOALS[goal].lower()}: {found.value:g}")
        else:
            self._seek(goal)

    def _seek(self, goal: str) -> None:
        target = 0.0
        if goal in UNITS:
            box = self.boxes[goal]
            if not box.hasAcceptableInput():
                self.said[goal].say("type a figure above 0")
                box.setFocus()
                return
            target = float(box.text())
        self.said[goal].say("looking …")
        self.asked.emit(goal, target)
