"""A degree of parallelism: a number between buttons for less and more."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QHBoxLayout,
    QLabel,
    QSpinBox,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.widgets.elided_label import Elided

_MOST = 4096


class _Degree(QSpinBox):
    """Steps go from one divisor of the number of GPUs to the next."""

    gpus = 1

    def stepBy(self, steps: int) -> None:
        value = self.value()
        larger = [n for n in range(value + 1, self.gpus + 1) if self.gpus % n == 0]
        smaller = [n for n in range(1, value) if self.gpus % n == 0]
        if steps > 0:
            self.setValue(larger[0] if larger else value + 1)
        elif steps < 0:
            self.setValue(smaller[-1] if smaller else max(1, value - 1))


class Stepper(QWidget):
    """A number with its name, and a note below it. The keys Up and Down also step."""

    changed = Signal(int)

    def __init__(self, name: str, note: str) -> None:
        super().__init__()
        self.setProperty("look", "plain")
        self.name, self.note = QLabel(name), Elided()
        self.note.say(note)
        self.note.setProperty("tone", "quiet")
        self.box = _Degree()
        self.box.setRange(1, _MOST)
        self.box.setButtonSymbols(QAbstractSpinBox.ButtonSymbols.NoButtons)
        self.box.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.box.setFixedWidth(52)
        self.box.setKeyboardTracking(False)
        for widget in (self.box, self.box.lineEdit()):
            widget.setAccessibleName(f"{name} parallelism: {note}")
        self.name.setBuddy(self.box)
        self.box.valueChanged.connect(self.changed)
        self.less = self._button("−", f"Less {name.lower()} parallelism", -1)
        self.more = self._button("+", f"More {name.lower()} parallelism", 1)
        words = QVBoxLayout()
        words.setSpacing(0)
        words.addWidget(self.name)
        words.addWidget(self.note)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(4)
        row.addLayout(words, 1)
        for widget in (self.less, self.box, self.more):
            row.addWidget(widget)

    def put(self, value: int, gpus: int) -> None:
        """Show a degree, for this number of GPUs."""
        self.box.gpus = gpus
        with QSignalBlocker(self.box):
            self.box.setValue(value)
        self.less.setEnabled(value > 1)

    def _button(self, text: str, name: str, step: int) -> QToolButton:
        button = QToolButton()
        button.setText(text)
        button.setProperty("look", "button")
        button.setAccessibleName(name)
        button.setToolTip(f"{name}: the next divisor of the number of GPUs")
        button.setFixedSize(28, 28)
        button.clicked.connect(lambda: self.box.stepBy(step))
        return button
