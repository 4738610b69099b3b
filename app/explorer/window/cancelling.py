"""Cancels background work."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.explorer.window.window import Window


def is_busy(window: Window) -> bool:
    """Whether any running work can be cancelled."""
    busy = any(page.busy for page in window.pages.computing)
    return window.worker.busy() or window.networks.busy or busy


def cancel(window: Window) -> None:
    """Cancel all background work; the figures that are shown are kept."""
    window.networks.cancel()
    for page in window.pages.computing:
        page.cancel()
    window.panels.cancel()
    window.advising.cancel()
    window.worker.cancel_all()
    window.answering.stop()
    window.status.say("Cancelled")
