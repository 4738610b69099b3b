"""The dialog that lists and changes keyboard shortcuts."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QDialog,
    QGridLayout,
    QHBoxLayout,
    QKeySequenceEdit,
    QLabel,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.explorer.window.shortcuts import Shortcuts

_ROWS, _EDIT_PX = 17, 112


class KeyField(QKeySequenceEdit):
    """A field that records a pressed key; Tab and Esc leave the field."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = event.key()
        if key in (Qt.Key.Key_Tab, Qt.Key.Key_Backtab):
            self.focusNextPrevChild(key == Qt.Key.Key_Tab)
        elif key == Qt.Key.Key_Escape:
            event.ignore()  # left to the dialog
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
        grid = QGridLayout()
        grid.setHorizontalSpacing(10)
        grid.setVerticalSpacing(4)
        for at, name in enumerate(shortcuts.actions):
            self._place(grid, at % _ROWS, at // _ROWS, self._field(name), name)
        begin = -(-len(shortcuts.actions) // _ROWS)
        for at, (key, name) in enumerate(fixed):
            pressed = QLabel(key)
            pressed.setProperty("tone", "code")
            self._place(grid, at % _ROWS, begin + at // _ROWS, pressed, name)
        column.addLayout(grid)
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

    @staticmethod
    def _place(grid: QGridLayout, row: int, column: int, field: QWidget, name: str) -> None:
        words = QLabel(name)
        words.setProperty("tone", "support")
        words.setBuddy(field)
        grid.addWidget(field, row, 3 * column)
        grid.addWidget(words, row, 3 * column + 1)
        grid.setColumnMinimumWidth(3 * column + 2, 18)

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
