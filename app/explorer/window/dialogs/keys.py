"""The dialog that lists and changes keyboard shortcuts."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSignalBlocker, QSize, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QKeySequenceEdit,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.explorer.window.shortcuts import Shortcuts

_MOST_COLUMNS, _EDIT_PX = 5, 112
_AROUND = QSize(60, 140)
"""Room for the margins and buttons of the dialog, and for a border around it."""


def _words(name: str) -> QLabel:
    words = QLabel(name)
    words.setProperty("tone", "support")
    return words


def _spread(grid: QGridLayout, pairs: Sequence[tuple[QWidget, QLabel]], columns: int) -> QSize:
    """Place fields and their names in columns of equal length. Returns the size that they need."""
    rows = -(-len(pairs) // columns)
    for at, (field, words) in enumerate(pairs):
        words.setBuddy(field)
        grid.addWidget(field, at % rows, 2 * (at // rows))
        grid.addWidget(words, at % rows, 2 * (at // rows) + 1)
    return grid.sizeHint()


class KeyField(QKeySequenceEdit):
    """A field that records a pressed key; Tab and Esc leave the field."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = event.key()
        if key in (Qt.Key.Key_Tab, Qt.Key.Key_Backtab):
            self.focusNextPrevChild(key == Qt.Key.Key_Tab)
        elif key == Qt.Key.Key_Escape:
            event.ignore()  # handled by the dialog
        else:
            super().keyPressEvent(event)


class KeysDialog(QDialog):
    """Lists the actions with editable shortcuts, and the fixed keys of the views beside them.

    A key pressed in a field is assigned at once, or refused if another action has it.
    """

    def __init__(
        self, shortcuts: Shortcuts, fixed: list[tuple[str, str]], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.shortcuts = shortcuts
        self.fields: dict[str, KeyField] = {}
        self.setWindowTitle("Keys")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setAccessibleName("Keys")
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(10)
        column.addWidget(self._keys(fixed), 1)
        row = QHBoxLayout()
        self.message = QLabel("Press a new key in a field; Backspace or Delete clears it.")
        self.message.setProperty("tone", "quiet")
        self.reset = QPushButton("Restore default keys")
        close = QPushButton("Close")
        row.addWidget(self.message, 1)
        for button, done in ((self.reset, self._reset), (close, self.close)):
            button.setAccessibleName(button.text())
            button.setAutoDefault(False)
            button.clicked.connect(done)
            row.addWidget(button)
        column.addLayout(row)

    def _keys(self, fixed: list[tuple[str, str]]) -> QScrollArea:
        """All keys with their names, in as many columns as fit beside each other on the screen."""
        inside = QWidget()
        grid = QGridLayout(inside)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(10)
        grid.setVerticalSpacing(4)
        pairs = list[tuple[QWidget, QLabel]]()
        pairs += [(self._field(name), _words(name)) for name in self.shortcuts.actions]
        for key, name in fixed:
            pressed = QLabel(key)
            pressed.setProperty("tone", "code")
            pairs.append((pressed, _words(name)))
        area = QScrollArea()
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setWidgetResizable(True)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the fields take the focus and scroll it
        area.setWidget(inside)
        parent = self.parentWidget()
        room = (parent or self.screen().availableGeometry()).size() - _AROUND
        bar = area.verticalScrollBar().sizeHint().width()
        columns = _MOST_COLUMNS
        size = _spread(grid, pairs, columns)
        while columns > 1 and size.width() + bar > room.width():
            columns -= 1
            size = _spread(grid, pairs, columns)
        area.setMinimumSize((size + QSize(bar, 0)).boundedTo(room))
        return area

    def _field(self, name: str) -> KeyField:
        field = self.fields[name] = KeyField(self.shortcuts.current[name])
        field.setMaximumSequenceLength(1)
        field.setFixedWidth(_EDIT_PX)
        field.setAccessibleName(f"Key of {name}")
        for line in field.findChildren(QLineEdit):
            line.setAccessibleName(f"Key of {name}")
            line.setPlaceholderText("none")
            line.setClearButtonEnabled(False)
        field.setFinishingKeyCombinations([])
        field.editingFinished.connect(lambda: self._changed(name, field.keySequence()))
        return field

    def _changed(self, name: str, key: QKeySequence) -> None:
        if key == self.shortcuts.current[name]:
            return
        if key.toString() in ("Backspace", "Del"):
            key = QKeySequence()
            self._show(name, key)
        wrong = self.shortcuts.assign(name, key)
        if wrong:
            self._show(name, self.shortcuts.current[name])
        self.message.setText(wrong or f"The key of “{name}” has changed")

    def _show(self, name: str, key: QKeySequence) -> None:
        with QSignalBlocker(self.fields[name]):
            self.fields[name].setKeySequence(key)

    def _reset(self) -> None:
        self.shortcuts.reset()
        for name, key in self.shortcuts.current.items():
            self._show(name, key)
        self.message.setText("The default keys are restored")
