"""The keys, in a window of their own."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QGridLayout, QLabel, QWidget

_ROWS = 16


class KeysDialog(QDialog):
    """Keys and what they do, in two columns or more. Esc closes it."""

    def __init__(self, keys: list[tuple[str, str]], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Keys")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setAccessibleName("Keys")
        grid = QGridLayout(self)
        grid.setContentsMargins(20, 16, 20, 16)
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(6)
        for at, (key, name) in enumerate(keys):
            row, column = at % _ROWS, at // _ROWS * 3
            pressed, said = QLabel(key), QLabel(name)
            pressed.setProperty("tone", "code")
            said.setProperty("tone", "support")
            grid.addWidget(pressed, row, column)
            grid.addWidget(said, row, column + 1)
            grid.setColumnMinimumWidth(column + 2, 20)
