"""What is shown while the question of now has no answer yet: that of before, dimmed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.explorer.background.worker import later
from app.explorer.window.verdict import GRACE_MS

if TYPE_CHECKING:
    from app.explorer.window.window import Window


class CatchingUp:
    """Dims the verdict and whatever else has figures; advice on what was asked before goes."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self._dimming = later(GRACE_MS, self.dim, window)

    def wait(self) -> None:
        """There is another question."""
        self.window.verdict.set_stale(True)
        self.window.advising.stop()
        self.window.inspector.wait()
        self._dimming.start()

    def dim(self) -> None:
        """The figures are of another question, for now or for good."""
        self._dimming.stop()
        self.window.panels.dim()
        self._labels(True)

    def drawn(self) -> None:
        """An answer is drawn; is it that of now? Views say so themselves."""
        caught_up = self.window.answering.caught_up
        if caught_up:
            self._dimming.stop()
        self.window.verdict.set_stale(not caught_up)
        self._labels(not caught_up)

    def _labels(self, stale: bool) -> None:
        self.window.status.dim(stale)
        self.window.head.asked.setEnabled(not stale)
