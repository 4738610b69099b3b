"""Dims the previous answer while the current scenario has no answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.explorer.background.worker import later
from app.explorer.window.verdict.bar import GRACE_MS

if TYPE_CHECKING:
    from app.explorer.window.window import Window


class Staleness:
    """Dims the verdict and all views, and clears the advice of the previous scenario."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self._dimming = later(GRACE_MS, self.dim, window)

    def wait(self) -> None:
        """The scenario has changed: dim everything unless an answer comes soon. Later changes
        before the answer, as in a drag, do not delay the dimming."""
        self.window.verdict.set_stale(True)
        self.window.advising.stop()
        self.window.inspector.wait()
        if not self._dimming.isActive():
            self._dimming.start()

    def dim(self) -> None:
        """Dim all figures now."""
        self._dimming.stop()
        self.window.panels.dim()
        self._labels(True)

    def fail(self) -> None:
        """Dim everything at once, because no answer will come."""
        self.window.verdict.waiting = "No prediction"
        self.window.verdict.set_stale(True)
        self.dim()
        self.window.verdict.update()

    def drawn(self) -> None:
        """Stop dimming the verdict once the answer of the current scenario is drawn; views undim
        themselves."""
        up_to_date = self.window.answering.up_to_date
        if up_to_date:
            self._dimming.stop()
        self.window.verdict.set_stale(not up_to_date)
        self._labels(not up_to_date)

    def _labels(self, stale: bool) -> None:
        self.window.status.dim(stale)
        self.window.head.subject.setEnabled(not stale)
