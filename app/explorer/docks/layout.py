"""How the window lies: its place on the screen, the shelf and inspector, and every dock."""

from __future__ import annotations

from PySide6.QtWidgets import QMainWindow

from app.explorer.docks.panel import Panel
from app.explorer.docks.workspaces import Workspaces, in_base64, of_base64

_WINDOW, _FRAME = "window", "frame of "


class Layout:
    """The layout as text, by part. The shelf and inspector have places of their own in each
    workspace, as the user left them there; at first Explore alone has them."""

    def __init__(self, window: QMainWindow, workspaces: Workspaces, beside: list[Panel]) -> None:
        self.window, self.workspaces, self.beside = window, workspaces, beside
        self.shown = ""
        self._frames: dict[str, str] = {}

    def go(self, workspace: str) -> str:
        """Show a workspace with its frame; the name of the one that is shown."""
        if self.shown:
            self._frames[self.shown] = in_base64(self.window.saveState())
        self.shown = self.workspaces.go(workspace)
        self._frame()
        return self.shown

    def now(self) -> dict[str, str]:
        """How everything lies."""
        self._frames[self.shown] = in_base64(self.window.saveState())
        frames = {f"{_FRAME}{name}": state for name, state in self._frames.items()}
        place = {_WINDOW: in_base64(self.window.saveGeometry())}
        return {**place, **frames, **self.workspaces.layouts()}

    def lay(self, layout: dict[str, str]) -> None:
        """As it once lay; what is not told stays."""
        if _WINDOW in layout:
            self.window.restoreGeometry(of_base64(layout[_WINDOW]))
        told = {n.removeprefix(_FRAME): s for n, s in layout.items() if n.startswith(_FRAME)}
        self._frames |= told
        if told:
            self._frame()
        self._settle()  # docks share out the room that they have by now
        self.workspaces.restore(layout)

    def arrange(self) -> None:
        """The workspace that is shown as at first."""
        self._frames.pop(self.shown, None)
        for panel in self.beside:
            panel.setFloating(False)
        self.workspaces.docks[self.shown].arrange()
        self._frame()

    def _settle(self) -> None:
        """Give every widget its size at once, which Qt does later."""
        for widget in (self.window, self.window.centralWidget()):
            layout = widget and widget.layout()
            if layout:
                layout.activate()

    def _frame(self) -> None:
        if self.shown in self._frames:
            self.window.restoreState(of_base64(self._frames[self.shown]))
            return
        for panel in self.beside:
            panel.setVisible(self.shown == "Explore")
