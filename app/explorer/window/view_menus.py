"""The context menus of views: what can be done with an item, then with the whole chart."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint

from app.explorer.docks.panel import Panel
from app.widgets.context_menu import ContextMenu, Entry
from app.widgets.view import View

if TYPE_CHECKING:
    from app.explorer.window.window import Window


class ViewMenus:
    """Opens the menus that views request; `menu` is the last one."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self.menu: ContextMenu | None = None
        window.panels.created.connect(self._created)
        window.strip.action_requested.connect(self._trigger)

    def _created(self, view: View) -> None:
        view.menu_requested.connect(partial(self.open, view))
        view.shown_in.connect(self.show_view)

    def _trigger(self, name: str) -> None:
        self.window.shortcuts.actions[name].trigger()

    def panel(self, title: str) -> Panel:
        """The panel of a view."""
        panels = self.window.panels.panels
        return next(panel for offered, panel in panels.items() if offered.title == title)

    def show_view(self, title: str) -> None:
        """Bring a view to the front."""
        panel = self.panel(title)
        panel.show()
        panel.raise_()

    def open(self, view: View, entries: list[Entry], at: QPoint) -> None:
        """Open the menu at a screen position."""
        panel = self.panel(view.title)
        menu = self.menu = ContextMenu(panel, view.title, entries)
        formula = view.formula(at)
        if formula is not None:
            explain = menu.addAction("Explain this figure\tF1")
            explain.triggered.connect(lambda: self.window.explaining.show(formula, at))
        if not menu.isEmpty():
            menu.addSeparator()
        menu.addActions(panel.menu.actions())
        menu.popup(at)
