"""A line of text that shows a value of the session, and can be edited."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QLineEdit

_HISTORY = (QKeySequence.StandardKey.Undo, QKeySequence.StandardKey.Redo)


class ValueLine(QLineEdit):
    """The undo and redo keys act on the text while it differs from the `current` value, and
    otherwise on the session: a line edit alone would restore the text before the last change, which
    is no longer the value."""

    def __init__(self, current: Callable[[], str]) -> None:
        super().__init__()
        self._current = current

    def event(self, event: QEvent) -> bool:
        if (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and self.text() == self._current()
            and any(event.matches(keys) for keys in _HISTORY)
        ):
            event.ignore()  # the window's action gets the keys
            return True
        return super().event(event)
