"""What went wrong, said above the views, which stay."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QToolButton


class Banner(QFrame):
    """One message at a time; hidden without one."""

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("look", "banner")
        self.setAccessibleName("Message")
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 6, 8, 6)
        self.label = QLabel()
        self.label.setWordWrap(True)
        self.label.setTextFormat(Qt.TextFormat.PlainText)
        self.label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        row.addWidget(self.label, 1)
        for words, name, clicked in (
            ("Copy", "Copy the message", self.copy), ("Dismiss", "Dismiss the message", self.hide),
        ):  # fmt: skip
            button = QToolButton()
            button.setText(words)
            button.setProperty("look", "button")
            button.setAccessibleName(name)
            button.clicked.connect(clicked)
            row.addWidget(button)
        self.hide()

    def say(self, words: str) -> None:
        """Show a message."""
        self.label.setText(words)
        self.setAccessibleDescription(words)
        self.show()

    def copy(self) -> None:
        """Put the message on the clipboard."""
        QGuiApplication.clipboard().setText(self.label.text())
