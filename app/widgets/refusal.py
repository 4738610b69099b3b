"""A text in a dialog with the reason why the values are refused."""

from __future__ import annotations

from PySide6.QtWidgets import QLabel


class Refusal(QLabel):
    """Hidden if there is no reason. The dialog grows to hold the text, because Qt gives wrapped
    text in a visible dialog the room of one line and cuts the fields above it."""

    def __init__(self) -> None:
        super().__init__()
        self.setWordWrap(True)
        self.setProperty("tone", "danger")
        self.hide()

    def say(self, reason: str) -> None:
        """Show a reason."""
        self.setText(reason)
        self.show()
        dialog, layout = self.window(), self.window().layout()
        if layout is not None:
            layout.activate()
            need = layout.totalHeightForWidth(dialog.width())
            dialog.resize(dialog.width(), max(dialog.height(), need))
