"""The history of the session: every change by name, the current one selected."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtGui import QUndoStack
from PySide6.QtWidgets import QDialog, QLabel, QListWidget, QVBoxLayout, QWidget


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
        self.list = _Changes(history)
        self.list.setAccessibleName("Changes")
        column.addWidget(hint)
        column.addWidget(self.list, 1)
        self.list.setFocus()


class _Changes(QListWidget):
    """The start of the session and all changes after it.

    PySide 6.12 makes a stack the child of its `QUndoView`: with the view it forgets the stack's
    actions, which then raise RuntimeError, and the arrows of the header no longer follow them."""

    def __init__(self, history: QUndoStack) -> None:
        super().__init__()
        self._history = history
        for changed in (history.indexChanged, history.undoTextChanged):
            changed.connect(self._fill)
        self._fill()
        self.currentRowChanged.connect(history.setIndex)

    def _fill(self) -> None:
        history = self._history
        names = ["Start of the session", *(history.text(at) for at in range(history.count()))]
        with QSignalBlocker(self):
            if names != [self.item(row).text() for row in range(self.count())]:
                self.clear()
                self.addItems(names)
            self.setCurrentRow(history.index())
