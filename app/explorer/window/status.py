"""The line at the bottom: what was done, how much was counted, and where the figures are from."""

from __future__ import annotations

from PySide6.QtWidgets import QLabel, QStatusBar

from app.answers.answer import Answer
from app.explorer.background.answering import Answering
from app.explorer.background.worker import Worker, later
from app.quantities import seconds

_TICK_MS = 500
"""How often it says how long something has been under way."""


class Status(QStatusBar):
    """Three labels, the first of which says what is under way."""

    def __init__(self, answering: Answering, worker: Worker) -> None:
        super().__init__()
        self.answering, self.worker = answering, worker
        self.setSizeGripEnabled(False)
        self.said, self.counted, self.sources = QLabel(), QLabel(), QLabel()
        for label in (self.said, self.counted, self.sources):
            label.setProperty("tone", "support")
            label.setContentsMargins(6, 0, 6, 0)
        self.addWidget(self.said)
        self.addWidget(self.counted)
        self.addPermanentWidget(self.sources)
        self._tick = later(_TICK_MS, self._say_under_way, self)
        worker.moved.connect(self._say_under_way)

    def say(self, words: str) -> None:
        """What was done."""
        self.said.setText(words)

    def dim(self, stale: bool) -> None:
        """Are the counts of another question than that which is asked?"""
        for label in (self.counted, self.sources):
            label.setEnabled(not stale)

    def count(self, answer: Answer) -> None:
        """What an answer counted."""
        p = answer.prediction
        took_ms = self.answering.clock.nsecsElapsed() / 1e6
        self.said.setText(f"Re-simulated in {seconds(answer.took_s, 2)}")
        self.said.setToolTip(f"{took_ms:.0f} ms from the change to the views")
        missing = sum(p.unmodelled.values())
        self.counted.setText(
            f"{len(p.trace.ops):,} ops, {p.kernel_count:,} kernels, "
            + (f"{missing:,} ops not modelled" if missing else "nothing left unmodelled")
        )
        self.sources.setText(
            f"Profile {p.profile}, host {p.host.id}, traced by "
            f"torch {p.trace.torch_version.partition('+')[0]}"
        )

    def _say_under_way(self) -> None:
        sentence, answer = self.worker.tracing.sentence, self.answering.answer
        if sentence:
            self.said.setText(f"{sentence[0].upper()}{sentence[1:]} (Esc gives up)")
            self._tick.start()
        elif answer is not None and not self.said.text().startswith("Re"):
            self.count(answer)
