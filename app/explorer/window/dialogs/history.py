"""The history of the session: every change by name, the current one selected."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QUndoStack
from PySide6.QtWidgets import QDialog, QLabel, QUndoView, QVBoxLayout, QWidget


class HistoryDialog(QDialog):
    """A click on a change undoes or redoes all changes up to it, and the window is updated."""

    def __init__(self, history: QUndoStack, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("History")
        self.setAccessibleName("History")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(320, 420)
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 12, 12, 12)
        column.setSpacing(8)
        hint = QLabel("Choose a change to go to the state after it.")
        hint.setProperty("tone", "support")
        hint.setWordWrap(True)
        self.list = QUndoView(history)
        self.list.setEmptyLabel("Start of the session")
        self.list.setAccessibleName("Changes")
        column.addWidget(hint)
        column.addWidget(self.list, 1)
        self.list.setFocus()
