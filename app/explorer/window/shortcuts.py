"""Custom keyboard shortcuts, stored separately from the defaults."""

from __future__ import annotations

import re
from collections.abc import Iterable

from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from app.explorer.state.places import Remembered

_TEXT = QKeySequence.SequenceFormat.PortableText
_NATIVE = QKeySequence.SequenceFormat.NativeText
_ALLOWED = re.compile(r"(Ctrl|Alt|Meta)\+|(Shift\+)?F\d+$")
"""Keys that the views do not use."""
_RENAMED = {
    "Copy as a new scenario": "Duplicate scenario", "Keys": "Keyboard shortcuts …",
    "Light or dark": "Switch between light and dark", "Panels as at first": "Reset layout",
    "Picture as a table": "Show chart as table", "Theme of the system": "Use system theme",
    "Work on A": "Switch to A", "Work on B": "Switch to B", "Work on C": "Switch to C",
    "Work on D": "Switch to D",
}  # fmt: skip
"""Names of actions in version 0.1, which stored custom shortcuts under them."""


class Shortcuts:
    """The actions by name (`objectName`), with their `defaults` and `current` shortcuts. Custom
    shortcuts are stored in `remembered`."""

    def __init__(self, actions: Iterable[QAction], remembered: Remembered) -> None:
        self.actions = {action.objectName(): action for action in actions if action.objectName()}
        self.defaults = {name: action.shortcut() for name, action in self.actions.items()}
        self.current = dict(self.defaults)
        self.remembered = remembered
        remembered.keys = {_RENAMED.get(name, name): key for name, key in remembered.keys.items()}
        for name, key in remembered.keys.items():
            if name in self.actions:
                self._set(name, QKeySequence.fromString(key, _TEXT))

    def holder(self, key: QKeySequence) -> str:
        """The name of the action with this shortcut, or ""."""
        if key.isEmpty():
            return ""
        return next((name for name, current in self.current.items() if current == key), "")

    def assign(self, name: str, key: QKeySequence) -> str:
        """Assign a shortcut to an action; an empty text removes the shortcut. Returns an error, or
        ""."""
        holder, words = self.holder(key), key.toString(_NATIVE)
        if holder and holder != name:
            return (
                f"{words} already belongs to “{holder}”: choose another, or change that one first"
            )
        if key != self.defaults[name] and _of_views(key):
            return (
                f"{words} alone is reserved for the views: add Ctrl or Alt, or choose a "
                "function key"
            )
        self._set(name, key)
        if key == self.defaults[name]:
            self.remembered.keys.pop(name, None)
        else:
            self.remembered.keys[name] = key.toString(_TEXT)
        self.remembered.write()
        return ""

    def reset(self) -> None:
        """Restore all default shortcuts."""
        for name, key in self.defaults.items():
            self._set(name, key)
        self.remembered.keys.clear()
        self.remembered.write()

    def _set(self, name: str, key: QKeySequence) -> None:
        self.current[name] = key
        self.actions[name].setShortcut(key)


def show_shortcut(control: QWidget, words: str, action: QAction) -> None:
    """Show the shortcut of an action in the tooltip of a control, and update it."""

    def update() -> None:
        if not (isValid(action) and isValid(control)):
            return  # actions also emit `changed` when they are destroyed
        key = action.shortcut().toString(_NATIVE)
        control.setToolTip(f"{words} ({key})" if key else words)

    action.changed.connect(update)
    update()


def _of_views(key: QKeySequence) -> bool:
    """Whether a shortcut would take letters, arrows or Enter from the focused view."""
    return not key.isEmpty() and not _ALLOWED.match(key.toString(_TEXT))
