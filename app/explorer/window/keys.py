"""The keys, in a window of their own, where they can be changed."""

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

from app.explorer.window.own_keys import OwnKeys

_ROWS, _EDIT_PX = 17, 112


class KeyField(QKeySequenceEdit):
    """Takes the key that is pressed in it, but for those that lead out of it: Tab and Esc."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = event.key()
        if key in (Qt.Key.Key_Tab, Qt.Key.Key_Backtab):
            self.focusNextPrevChild(key == Qt.Key.Key_Tab)
        elif key == Qt.Key.Key_Escape:
            event.ignore()  # the dialog's
        else:
            super().keyPressEvent(event)


class KeysDialog(QDialog):
    """Actions with their keys: press another in a field and it is the action's at once; one that is
    taken is refused. Beside them the keys of the views, which stay. Esc closes it."""

    def __init__(
        self, own: OwnKeys, others: list[tuple[str, str]], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.own = own
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
        for at, name in enumerate(own.actions):
            self._place(grid, at % _ROWS, at // _ROWS, self._field(name), name)
        begin = -(-len(own.actions) // _ROWS)
        for at, (key, name) in enumerate(others):
            pressed = QLabel(key)
            pressed.setProperty("tone", "code")
            self._place(grid, at % _ROWS, begin + at // _ROWS, pressed, name)
        column.addLayout(grid)
        row = QHBoxLayout()
        self.said = QLabel("Press another key in a field; Backspace and Delete clear it.")
        self.said.setProperty("tone", "quiet")
        self.reset = QPushButton("Keys as at first")
        close = QPushButton("Close")
        row.addWidget(self.said, 1)
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
        field = self.fields[name] = KeyField(self.own.now[name])
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
        if key == self.own.now[name]:
            return
        if key.toString() in ("Backspace", "Del"):
            key = QKeySequence()
            self._show(name, key)
        wrong = self.own.give(name, key)
        if wrong:
            self._show(name, self.own.now[name])
        self.said.setText(wrong or f"“{name}” has another key from now on")

    def _show(self, name: str, key: QKeySequence) -> None:
        with QSignalBlocker(self.fields[name]):
            self.fields[name].setKeySequence(key)

    def _reset(self) -> None:
        self.own.as_at_first()
        for name, key in self.own.now.items():
            self._show(name, key)
        self.said.setText("Every action has the key that it comes with")
