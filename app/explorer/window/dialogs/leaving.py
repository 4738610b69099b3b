"""The dialog that offers to save before the window closes."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QHBoxLayout, QLabel, QPushButton, QVBoxLayout

if TYPE_CHECKING:
    from app.explorer.window.window import Window


class Leaving(QDialog):
    """Enter saves and closes, Escape cancels. Unsaved scenarios can still be restored at the next
    start."""

    def __init__(self, window: Window) -> None:
        super().__init__(window)
        path = window.files.path
        name = path.name if path else "this session"
        self.setWindowTitle("Save the scenarios?")
        self.setAccessibleName(self.windowTitle())
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setMinimumWidth(460)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 18, 20, 16)
        column.setSpacing(8)
        head = QLabel(f"Save the changes to {name}?")
        head.setProperty("tone", "figure")
        hint = QLabel("Otherwise, Ridgepoint offers to restore them at the next start.")
        hint.setProperty("tone", "support")
        for label in (head, hint):
            label.setWordWrap(True)
            column.addWidget(label)
        column.addSpacing(8)
        row = QHBoxLayout()
        row.addStretch(1)
        self.cancel = QPushButton("Cancel")
        self.discard = QPushButton("Close without saving")
        self.save = QPushButton("Save and close" if path else "Save as … and close")
        self.save.setProperty("look", "primary")
        self.save.setDefault(True)
        for button, done in (
            (self.cancel, self.close),
            (self.discard, self._leave),
            (self.save, self._save),
        ):
            button.setAccessibleName(button.text())
            button.clicked.connect(done)
            row.addWidget(button)
        column.addLayout(row)
        self.save.setFocus()

    @property
    def _window(self) -> Window:
        """The window, looked up each time. If the dialog held the last reference to the window, the
        window would be deleted while it deletes this dialog."""
        return cast("Window", self.parentWidget())

    def _leave(self) -> None:
        window = self._window
        self.close()
        window.close()

    def _save(self) -> None:
        window = self._window
        window.opening.save()
        if not window.files.edited:  # a file was chosen and written
            self._leave()
        else:
            self.close()
