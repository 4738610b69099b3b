"""The status bar: the current activity, the number of kernels, and the sources of the figures."""

from __future__ import annotations

import time

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QProgressBar, QStatusBar, QToolButton

from app.answers.answer import Answer
from app.explorer.background.answering import Answering
from app.explorer.background.worker import Job, Worker, later
from app.explorer.files.exporting import KEY
from app.explorer.window.head import OWN_QUESTION
from app.quantities import seconds
from app.widgets.elided_label import Steady

_TICK_MS, _LONG_S = 250, 0.3
"""Update interval of the elapsed time; jobs that take longer than the second figure are named."""
_BAR_WIDTH = 90
_NAMES = {"along": "the regimes along the batch", "advice": "advice"}
"""What a job computes, by its key. The key of a view's job contains the title of the view."""


class Status(QStatusBar):
    """Three labels: activity, counts and sources; beside a long-running activity, its completed
    share and Cancel. The counts and sources of the scenario are hidden on pages that have their own
    question."""

    cancelled = Signal()
    """The user pressed Cancel."""

    def __init__(self, answering: Answering, worker: Worker) -> None:
        super().__init__()
        self.answering, self.worker = answering, worker
        self.setSizeGripEnabled(False)
        self.activity, self.counted, self.sources = Steady(), Steady(), Steady()
        for label in (self.activity, self.counted, self.sources):
            label.setProperty("tone", "support")
            label.setContentsMargins(6, 0, 6, 0)
            label.setMinimumWidth(1)  # otherwise a long text widens the window
        self.bar, self.stop = QProgressBar(), QToolButton()
        self.bar.setTextVisible(False)
        self.stop.setText("Cancel")
        self.bar.setFixedWidth(_BAR_WIDTH)
        self.bar.setAccessibleName("Progress of the activity")
        self.stop.setAccessibleName("Cancel the activity")
        self.stop.setToolTip("Stop computing and keep the figures so far (Esc)")
        self.stop.setProperty("look", "small")
        self.stop.clicked.connect(self.cancelled)
        self.addWidget(self.activity)
        self.addWidget(self.bar)
        self.addWidget(self.stop)
        self.addWidget(self.counted)
        self.addPermanentWidget(self.sources)
        self._show_share(False, 0.0)
        self._simulated = self._progress = ""
        self._tick = later(_TICK_MS, self._show_progress, self)
        worker.progressed.connect(self._show_progress)
        answering.session.changed.connect(self._page_changed)

    def say(self, words: str) -> None:
        """Show the current activity, or the duration of the last simulation."""
        self.activity.setText(words or self._usual)

    def dim(self, stale: bool) -> None:
        """Dim the counts while they belong to an earlier scenario."""
        for label in (self.counted, self.sources):
            label.setEnabled(not stale)

    def count(self, answer: Answer) -> None:
        """Show the counts and sources of an answer."""
        p = answer.prediction
        took_ms = self.answering.clock.nsecsElapsed() / 1e6
        self._simulated = f"Simulated in {seconds(answer.took_s, 2)}"
        self.activity.setText(self._usual)
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
        self._show_share(bool(sentence), 0.0 if self.worker.tracing.sentence else self._share())
        if sentence:
            self._progress = f"{sentence[0].upper()}{sentence[1:]} (Esc cancels)"
            self.activity.setText(self._progress)
        elif self._progress and self.activity.text() == self._progress:
            self.activity.setText(self._usual)

    @property
    def _of_scenario(self) -> bool:
        """Whether the page shows the current scenario."""
        return self.answering.session.state.workspace not in OWN_QUESTION

    @property
    def _usual(self) -> str:
        return self._simulated if self._of_scenario else ""

    def _page_changed(self) -> None:
        if self.activity.text() in ("", self._simulated):
            self.activity.setText(self._usual)
        self.counted.setVisible(self._of_scenario and self.stop.isHidden())
        self.sources.setVisible(self._of_scenario)

    def _show_share(self, busy: bool, share: float) -> None:
        """Show Cancel while `busy`, and the completed share if it is known."""
        self.stop.setVisible(busy)
        self.counted.setVisible(
            not busy and self._of_scenario
        )  # a narrow window has room for only one of them
        self.bar.setVisible(busy and share > 0)
        self.bar.setValue(round(100 * share))

    def _long(self) -> dict[str, Job]:
        """The jobs that have run for a while, by the name of their result."""
        now_s = time.monotonic()
        jobs = ((_name(key), job) for key, job in self.worker.jobs.items())
        return {name: job for name, job in jobs if name and now_s - job.since_s > _LONG_S}

    def _share(self) -> float:
        """The completed share of the first long-running job with a count, or 0."""
        counted = [job.report.left for job in self._long().values() if job.report.left.total]
        return counted[0].done / counted[0].total if counted else 0.0

    def _computing(self) -> str:
        """The jobs that have run for a while, with their count or elapsed time; empty if no job
        has."""
        running = self._long()
        if not running:
            return ""
        names = list(running)
        counts = [job.report.text for job in running.values() if job.report.text]
        longest_s = max(time.monotonic() - job.since_s for job in running.values())
        progress = counts[0] if counts else f"{longest_s:.0f} s"
        return f"computing {' and '.join(names[:2])}, {progress}"


def _name(key: str) -> str:
    """What the job with a key computes; "" for a job that is not named."""
    if key.startswith(KEY):
        return f"the {key.removeprefix(KEY)}"
    return _NAMES.get(key, "") or key.removeprefix("view ") * key.startswith("view ")
