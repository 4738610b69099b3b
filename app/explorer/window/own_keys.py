"""Keys of the user's own: which action has which, told apart from those at first."""

from __future__ import annotations

import re
from collections.abc import Iterable

from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from app.explorer.state.places import Remembered

_TEXT = QKeySequence.SequenceFormat.PortableText
_WRITTEN = QKeySequence.SequenceFormat.NativeText
_FREE = re.compile(r"(Ctrl|Alt|Meta)\+|(Shift\+)?F\d+$")
"""What a key begins with, or is, that no view has."""


class OwnKeys:
    """The actions by their names (`objectName`), with the keys that `remembered` has of them: those
    of `first` that they come with, and of `now`."""

    def __init__(self, actions: Iterable[QAction], remembered: Remembered) -> None:
        self.actions = {each.objectName(): each for each in actions if each.objectName()}
        self.first = {name: each.shortcut() for name, each in self.actions.items()}
        self.now = dict(self.first)
        self.remembered = remembered
        for name, key in remembered.keys.items():
            if name in self.actions:
                self._set(name, QKeySequence.fromString(key, _TEXT))

    def holder(self, key: QKeySequence) -> str:
        """The action that has a key; "" where none has."""
        if key.isEmpty():
            return ""
        return next((name for name, each in self.now.items() if each == key), "")

    def give(self, name: str, key: QKeySequence) -> str:
        """A key for an action, none where it is empty; else why it cannot have it."""
        holder, words = self.holder(key), key.toString(_WRITTEN)
        if holder and holder != name:
            return f"{words} is the key of “{holder}”: choose another, or change that one first"
        if key != self.first[name] and _of_views(key):
            return f"{words} alone is for the views: add Ctrl or Alt, or choose a function key"
        self._set(name, key)
        if key == self.first[name]:
            self.remembered.keys.pop(name, None)
        else:
            self.remembered.keys[name] = key.toString(_TEXT)
        self.remembered.write()
        return ""

    def as_at_first(self) -> None:
        """Every action with the key that it comes with."""
        for name, key in self.first.items():
            self._set(name, key)
        self.remembered.keys.clear()
        self.remembered.write()

    def _set(self, name: str, key: QKeySequence) -> None:
        self.now[name] = key
        self.actions[name].setShortcut(key)


def tell_key(control: QWidget, words: str, action: QAction) -> None:
    """A control's tooltip, with the key that its action has now."""

    def say() -> None:
        if not (isValid(action) and isValid(control)):
            return  # an action tells of its own end too
        key = action.shortcut().toString(_WRITTEN)
        control.setToolTip(f"{words} ({key})" if key else words)

    action.changed.connect(say)
    say()


def _of_views(key: QKeySequence) -> bool:
    """Would an action with this key take letters, arrows or Enter from what has the focus?"""
    return not key.isEmpty() and not _FREE.match(key.toString(_TEXT))
