"""The status bar: the current activity, the number of kernels, and the sources of the figures."""

from __future__ import annotations

import time

from PySide6.QtWidgets import QLabel, QStatusBar

from app.answers.answer import Answer
from app.explorer.background.answering import Answering
from app.explorer.background.worker import Worker, later
from app.quantities import seconds

_TICK_MS, _LONG_S = 250, 0.3
"""Update interval of the elapsed time; jobs that take longer than the second figure are named."""
_NAMES = {"along": "the regimes along the batch", "advice": "advice"}
"""What a job computes, by its key. The key of a view's job contains the title of the view."""


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
        self._simulated = self._progress = ""
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
        self._simulated = f"Simulated in {seconds(answer.took_s, 2)}"
        self.activity.setText(self._simulated)
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
        sentence = self.worker.tracing.sentence or self._computing()
        if self.worker.busy() or sentence:
            self._tick.start()
        if sentence:
            self._progress = f"{sentence[0].upper()}{sentence[1:]} (Esc cancels)"
            self.activity.setText(self._progress)
        elif self._progress and self.activity.text() == self._progress:
            self.activity.setText(self._simulated)

    def _computing(self) -> str:
        """What has been computed for a while, and for how long; "" for nothing."""
        now_s = time.monotonic()
        running = [
            (_NAMES.get(key, key.removeprefix("view ")), now_s - job.since_s)
            for key, job in self.worker.jobs.items()
            if (key in _NAMES or key.startswith("view ")) and now_s - job.since_s > _LONG_S
        ]
        if not running:
            return ""
        names = [name for name, _ in running]
        longest_s = max(for_s for _, for_s in running)
        return f"computing {' and '.join(names[:2])}, {longest_s:.0f} s"
