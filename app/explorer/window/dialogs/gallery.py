"""The gallery: examples to open, each with a note on what to look at."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QGridLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.examples.gallery import GALLERY, Example

_COLUMNS, _CARD_PX = 2, 300


class Gallery(QDialog):
    """A card for each example; its button calls `opened` and closes the gallery."""

    def __init__(self, opened: Callable[[Example], None], parent: QWidget) -> None:
        super().__init__(parent)
        self._opened = opened
        self.setWindowTitle("Examples")
        self.setAccessibleName("Examples")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        grid = QGridLayout(self)
        grid.setContentsMargins(16, 16, 16, 16)
        grid.setSpacing(12)
        self.buttons: list[QPushButton] = []
        for place, example in enumerate(GALLERY):
            grid.addWidget(self._card(example), *divmod(place, _COLUMNS))
        self.buttons[0].setFocus()

    def _card(self, example: Example) -> QWidget:
        card = QWidget()
        card.setFixedWidth(_CARD_PX)
        column = QVBoxLayout(card)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        button = QPushButton(example.title)
        button.setAccessibleName(f"Open example: {example.title}")
        button.setAccessibleDescription(example.about)
        button.clicked.connect(lambda: self._open(example))
        about = QLabel(example.about)
        about.setProperty("tone", "support")
        about.setWordWrap(True)
        column.addWidget(button)
        column.addWidget(about)
        column.addStretch(1)
        self.buttons.append(button)
        return card

    def _open(self, example: Example) -> None:
        opened, self._opened = self._opened, _nothing
        self.close()
        opened(example)

    def closeEvent(self, event: object) -> None:
        """Release the callback that opens an example, because it holds a reference to the
        window."""
        self._opened = _nothing


def _nothing(example: Example) -> None:
    pass
