"""The status bar: the current activity, the number of kernels, and the sources of the figures."""

from __future__ import annotations

from PySide6.QtWidgets import QLabel, QStatusBar

from app.answers.answer import Answer
from app.explorer.background.answering import Answering
from app.explorer.background.worker import Worker, later
from app.quantities import seconds

_TICK_MS = 500
"""Update interval of the elapsed time."""


class Status(QStatusBar):
    """Three labels: activity, counts and sources."""

    def __init__(self, answering: Answering, worker: Worker) -> None:
        super().__init__()
        self.answering, self.worker = answering, worker
        self.setSizeGripEnabled(False)
        self.activity, self.counted, self.sources = QLabel(), QLabel(), QLabel()
        for label in (self.activity, self.counted, self.sources):
            label.setProperty("tone", "support")
            label.setContentsMargins(6, 0, 6, 0)
        self.addWidget(self.activity)
        self.addWidget(self.counted)
        self.addPermanentWidget(self.sources)
        self._tick = later(_TICK_MS, self._show_progress, self)
        worker.progressed.connect(self._show_progress)

    def say(self, words: str) -> None:
        """Show the current activity."""
        self.activity.setText(words)

    def dim(self, stale: bool) -> None:
        """Dim the counts while they belong to an earlier scenario."""
        for label in (self.counted, self.sources):
            label.setEnabled(not stale)

    def count(self, answer: Answer) -> None:
        """Show the counts and sources of an answer."""
        p = answer.prediction
        took_ms = self.answering.clock.nsecsElapsed() / 1e6
        self.activity.setText(f"Simulated in {seconds(answer.took_s, 2)}")
        self.activity.setToolTip(f"{took_ms:.0f} ms from the change to the views")
        missing = sum(p.unmodelled.values())
        self.counted.setText(
            f"{len(p.trace.ops):,} ops, {p.kernel_count:,} kernels, "
            + (f"{missing:,} ops not modelled" if missing else "all ops modelled")
        )
        self.sources.setText(
            f"Profile {p.profile}, host {p.host.id}, traced with "
            f"torch {p.trace.torch_version.partition('+')[0]}"
        )

    def _show_progress(self) -> None:
        sentence, answer = self.worker.tracing.sentence, self.answering.answer
        if sentence:
            self.activity.setText(f"{sentence[0].upper()}{sentence[1:]} (Esc cancels)")
            self._tick.start()
        elif answer is not None and not self.activity.text().startswith("Simulated"):
            self.count(answer)
