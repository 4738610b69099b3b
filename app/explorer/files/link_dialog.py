"""The dialog that asks for a link."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QLabel, QLineEdit, QPushButton, QVBoxLayout, QWidget

from app.widgets.refusal import Refusal
from simulator.errors import RidgepointError


class LinkDialog(QDialog):
    """A field for a link, filled with `offered`. Enter or Open opens it; after an error, the text
    is kept.
    """

    def __init__(self, parent: QWidget, offered: str, opened: Callable[[str], None]) -> None:
        super().__init__(parent)
        self.opened = opened
        self.setWindowTitle("Open link")
        self.setAccessibleName("Open link")
        self.setMinimumWidth(480)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 14, 16, 14)
        column.setSpacing(10)
        hint = QLabel("The link of a scenario or a plan, as copied by Copy link.")
        hint.setProperty("tone", "support")
        self.field = QLineEdit(offered)
        self.field.setPlaceholderText("ridgepoint://…")
        self.field.setAccessibleName("Link")
        self.field.selectAll()
        self.refusal = Refusal()
        self.button = QPushButton("Open")
        self.button.setProperty("look", "primary")
        self.button.setAccessibleName("Open the link")
        self.button.setDefault(True)
        self.button.clicked.connect(self.submit)
        for widget in (hint, self.field, self.refusal, self.button):
            column.addWidget(widget)

    def submit(self) -> None:
        """Open the link, or show the error."""
        try:
            self.opened(self.field.text())
        except RidgepointError as error:
            self.refusal.say(str(error))
            return
        self.close()
