"""The menu that selects the axes to combine and the figures to draw."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QSignalBlocker
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QToolButton

from app.answers.side import Side
from app.scenes.combinations.axes import values
from app.scenes.combinations.table import FIGURES
from app.scenes.sweep.curves import axis_name
from app.widgets.strip import Strip

_LEAST = 2


class AxesMenu:
    """Calls `changed` with the names of the ticked axes and figures. At least one axis and two
    entries stay ticked."""

    def __init__(self, strip: Strip, changed: Callable[[list[str], list[str]], None]) -> None:
        self.changed = changed
        self.button = strip.button("Axes ▾", "Choose the axes", lambda: None)
        self.button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.menu = QMenu(self.button)
        self.menu.setAccessibleName("Axes")
        self.button.setMenu(self.menu)
        self.button.setStyleSheet("QToolButton::menu-indicator { image: none; }")

    @property
    def axes(self) -> dict[str, QAction]:
        """The entries of axes by name."""
        return self._entries("axis")

    @property
    def figures(self) -> dict[str, QAction]:
        """The entries of figures by name."""
        return self._entries("figure")

    def _entries(self, kind: str) -> dict[str, QAction]:
        # looked up each time, because a stored Python wrapper may become invalid
        actions = [(action.data(), action) for action in self.menu.actions()]
        return {data[1]: action for data, action in actions if data and data[0] == kind}

    def fill(self, side: Side, axes: Sequence[str], figures: Sequence[str]) -> None:
        """List the axes that a side has, with the named axes and figures ticked."""
        offered = list(values(side))
        if offered != list(self.axes):
            self.menu.clear()
            self._head("Combine values of")
            for name in offered:
                self._action(axis_name(name), "axis", name)
            self._head("Show")
            for name in FIGURES:
                self._action(name, "figure", name)
        for actions, ticked in ((self.axes, axes), (self.figures, figures)):
            for name, action in actions.items():
                with QSignalBlocker(action):
                    action.setChecked(name in ticked)

    def _head(self, words: str) -> None:
        self.menu.addAction(words).setEnabled(False)

    def _action(self, words: str, kind: str, name: str) -> None:
        action = self.menu.addAction(words)
        action.setData((kind, name))
        action.setCheckable(True)
        action.toggled.connect(lambda: self._toggled(kind, name))

    def _toggled(self, kind: str, name: str) -> None:
        axes = [name for name, entry in self.axes.items() if entry.isChecked()]
        figures = [name for name, entry in self.figures.items() if entry.isChecked()]
        if not axes or len(axes) + len(figures) < _LEAST:
            action = self._entries(kind)[name]
            with QSignalBlocker(action):
                action.setChecked(True)
            return
        self.changed(axes, figures)
