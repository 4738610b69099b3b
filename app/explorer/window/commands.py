"""The contents of the command palette: actions, views and cards."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint

from app.answers.cards import SECTIONS
from app.views.catalogue import Offered

if TYPE_CHECKING:
    from app.explorer.window.dialogs.palette import Command
    from app.explorer.window.window import Window


class Commands:
    """Lists the commands of a window, and opens the palette with them."""

    def __init__(self, window: Window) -> None:
        self.window = window

    def available(self) -> list[Command]:
        """All enabled actions, the commands of the visible views, all views, and all cards of the
        shelf."""
        from app.explorer.window.dialogs.palette import Command, action_commands  # as below

        window = self.window
        commands = action_commands(window.actions())
        for offered in window.panels.visible():
            for name, run in window.panels.view(offered).commands():
                commands.append(Command(offered.title, name, "", run))
        for offered in window.panels.panels:
            commands.append(Command("Show", offered.title, "", partial(self.show_view, offered)))
        for card in window.shelf.cards:
            place = SECTIONS[card.kind].removesuffix("s")
            run = partial(window.dropping.apply, card, -1)
            commands.append(Command(place, f"{card.title}, {card.detail}", "", run))
        return commands

    def open(self) -> None:
        """Open the palette near the top of the window."""
        from app.explorer.window.dialogs.palette import CommandPalette  # late for a fast start

        palette = CommandPalette(self.available(), self.window)
        left = (self.window.width() - palette.width()) // 2
        palette.move(self.window.mapToGlobal(QPoint(left, 48)))
        palette.show()

    def show_view(self, offered: Offered) -> None:
        """Show a view in its workspace."""
        self.window.session.show(offered.workspace)
        panel = self.window.panels.panels[offered]
        panel.show()
        panel.raise_()
