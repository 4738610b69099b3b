"""A row of a list: a name above its figures, and a widget such as a button beside them."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget


class TextRow(QWidget):
    """The texts wrap, so that the row is never wider than its list."""

    def __init__(self, name: str, figures: str, beside: QWidget) -> None:
        super().__init__()
        self.setProperty("look", "plain")
        texts = QVBoxLayout()
        texts.setSpacing(0)
        texts.addWidget(wrapped(name))
        texts.addWidget(wrapped(figures, "quiet"))
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 0, 0, 0)
        line.addLayout(texts, 1)
        line.addWidget(beside)


def wrapped(text: str, tone: str = "") -> QLabel:
    """A label that wraps its text."""
    label = QLabel(text)
    label.setWordWrap(True)
    if tone:
        label.setProperty("tone", tone)
    return label
