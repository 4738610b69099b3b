"""Copies the command line of what the window shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QGuiApplication

from simulator.scenario.as_command import as_command

if TYPE_CHECKING:
    from app.explorer.window.window import Window


def copy_command(window: Window) -> None:
    """Copy the command line of the current scenario, on the cluster where that is shown."""
    state, page = window.session.state, window.cluster_page

    def copy() -> None:
        on_cluster = state.workspace == page.workspace
        text = page.command if on_cluster else as_command(state.scenario)
        QGuiApplication.clipboard().setText(text)
        window.status.say("Copied the command line")

    window.opening.attempt(copy)
