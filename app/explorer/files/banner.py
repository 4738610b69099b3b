"""A message above the views: an error, or an offer with buttons."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QToolButton


class Banner(QFrame):
    """Shows one message at a time; hidden without a message. `about` is the topic, for `clear`."""

    def __init__(self) -> None:
        super().__init__()
        self.about = ""
        self.setAccessibleName("Message")
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 6, 8, 6)
        self.label = QLabel()
        self.label.setWordWrap(True)
        self.label.setTextFormat(Qt.TextFormat.PlainText)
        self.label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        row.addWidget(self.label, 1)
        self.offers = QHBoxLayout()
        row.addLayout(self.offers)
        self.copying = _button("Copy", "Copy the message", self.copy)
        self.dismissing = _button("Dismiss", "Dismiss the message", self.hide)
        row.addWidget(self.copying)
        row.addWidget(self.dismissing)
        self.hide()

    def say(
        self,
        words: str,
        about: str = "",
        wrong: bool = True,
        offers: Mapping[str, Callable[[], object]] | None = None,
        dismiss: str = "Dismiss",
        copied: bool = False,
    ) -> None:
        """Show a message, as an error if `wrong`, with a button for each of `offers` and one that
        hides it, with the text `dismiss`. Questions have no copy button. Neither does the message
        that a text was `copied`: copying the message would replace that text on the clipboard."""
        self.about = about
        self.setProperty("look", "banner" if wrong else "offer")
        self.style().unpolish(self)
        self.style().polish(self)
        while self.offers.count():
            item = self.offers.takeAt(0)
            widget = item.widget() if item else None
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        for name, done in (offers or {}).items():
            self.offers.addWidget(_button(name, name, lambda done=done: self._accept(done)))
        self.copying.setVisible(not copied and (wrong or not offers))
        self.dismissing.setText(dismiss)
        self.label.setText(words)
        self.setAccessibleDescription(words)
        self.show()

    def clear(self, *topics: str) -> None:
        """Hide the message if it is about one of these topics."""
        if self.about in topics:
            self.hide()

    def copy(self) -> None:
        """Copy the message to the clipboard."""
        QGuiApplication.clipboard().setText(self.label.text())

    def _accept(self, done: Callable[[], object]) -> None:
        self.hide()
        done()


def _button(words: str, name: str, clicked: Callable[[], object]) -> QToolButton:
    button = QToolButton()
    button.setText(words)
    button.setProperty("look", "button")
    button.setAccessibleName(name)
    button.clicked.connect(lambda: clicked())
    return button
