"""The layout of the window: its geometry, the shelf and inspector, and all docks."""

from __future__ import annotations

from PySide6.QtWidgets import QApplication, QMainWindow

from app.explorer.docks.panel import Panel
from app.explorer.docks.workspaces import Workspaces, from_base64, to_base64

_WINDOW, _FRAME = "window", "frame of "
_TAKING_GPUS, _WIDE_PX = ("Cluster", "Plan"), 1900


class Layout:
    """Saves and restores the layout as text, by part.

    Each workspace has its own positions of the shelf and the inspector. By default, Explore shows
    both, and in a wide window the pages that take the cards of GPUs show the shelf."""

    def __init__(self, window: QMainWindow, workspaces: Workspaces, beside: list[Panel]) -> None:
        self.window, self.workspaces, self.beside = window, workspaces, beside
        self.shown = ""
        self._frames: dict[str, str] = {}
        self._wide = False

    def show(self, workspace: str) -> str:
        """Show a workspace with its side panels. Returns the name of the workspace shown."""
        size = self.window.size()
        if self.shown:
            self._frames[self.shown] = to_base64(self.window.saveState())
        focus = QApplication.focusWidget()
        parts = (self.workspaces, *self.beside)
        if focus is not None and any(part.isAncestorOf(focus) for part in parts):
            self.window.setFocus()  # else Qt gives the focus to the button of another workspace
        self.shown = self.workspaces.show_workspace(workspace)
        self._frame()
        self.settle()
        if self.window.size() != size:  # the side panels of the previous page enlarged the window
            self.window.resize(size)
        return self.shown

    def current(self) -> dict[str, str]:
        """The current layout."""
        self._frames[self.shown] = to_base64(self.window.saveState())
        frames = {f"{_FRAME}{name}": state for name, state in self._frames.items()}
        place = {_WINDOW: to_base64(self.window.saveGeometry())}
        return {**place, **frames, **self.workspaces.layouts()}

    def restore(self, layout: dict[str, str]) -> None:
        """Restore a layout; parts that it does not contain are unchanged."""
        if _WINDOW in layout:
            self.window.restoreGeometry(from_base64(layout[_WINDOW]))
        frames = {n.removeprefix(_FRAME): s for n, s in layout.items() if n.startswith(_FRAME)}
        self._frames |= frames
        if frames:
            self._wide = self._is_wide  # so that showing the window at this width keeps them
            self._frame()
        self.settle()  # docks share the current size of the window
        self.workspaces.restore(layout)

    def reset(self) -> None:
        """Reset the layout of the workspace shown."""
        self._frames.pop(self.shown, None)
        for panel in self.beside:
            panel.setFloating(False)
        self.workspaces.docks[self.shown].reset()
        self._frame()

    def follow_width(self) -> None:
        """Show or hide the shelf on the pages that take the cards of GPUs, when the window becomes
        wide or narrow."""
        wide = self._is_wide
        if wide != self._wide:
            self._wide = wide
            for name in _TAKING_GPUS:
                self._frames.pop(name, None)
            if self.shown in _TAKING_GPUS:
                self._frame()

    @property
    def _is_wide(self) -> bool:
        return self.window.width() >= _WIDE_PX

    def settle(self) -> None:
        """Apply all sizes at once, which Qt otherwise does later."""
        for widget in (self.window, self.window.centralWidget()):
            layout = widget and widget.layout()
            if layout:
                layout.activate()
        if self.shown in self.workspaces.docks:
            self.workspaces.docks[self.shown].settle()

    def _frame(self) -> None:
        if self.shown in self._frames:
            self.window.restoreState(from_base64(self._frames[self.shown]))
            return
        shelf, inspector = self.beside
        beside_gpus = self._is_wide and self.shown in _TAKING_GPUS
        shelf.setVisible(self.shown == "Explore" or beside_gpus)
        inspector.setVisible(self.shown == "Explore")
