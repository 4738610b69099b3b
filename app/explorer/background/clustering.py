"""Predict the step over several GPUs in the background while the user edits its question."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from app.answers.changes import as_fields
from app.answers.cluster.answer import ClusterAnswer
from app.answers.cluster.choice import AnswerQuestion, ClusterQuestion, first
from app.answers.cluster.page import Clustered
from app.answers.cluster.scaling import StrongQuestion
from app.answers.cluster.splits import (
    SplitQuestion,
    SplitSearch,
    belongs,
    split_question,
    with_answer,
)
from app.explorer.background.cluster_process import ClusterProcess, Kind, OnMessage
from app.explorer.background.worker import CLUSTER, Worker, later
from app.explorer.state.session import Session, State
from app.time_left import TimeLeft
from simulator.errors import RidgepointError

_PAUSE_MS = 150
"""Delay after an edit before the prediction starts."""
_KEY = "cluster"
_PARTS = 1000
"""The number of steps of a search's progress bar."""
_LATER: tuple[Kind, ...] = ("points", "what_ifs", "strong_points")

AnyQuestion = ClusterQuestion | AnswerQuestion | StrongQuestion | SplitQuestion
Ask = Callable[[AnyQuestion, Callable[[], bool], OnMessage], None]


class Clustering(QObject):
    """Predicts the session's question while `watched`; `clustered` is the contents of the page."""

    changed = Signal()
    """`clustered` has changed."""
    _received = Signal(object, str, object)

    def __init__(self, session: Session, worker: Worker, ask: Ask | None = None) -> None:
        super().__init__()
        self.session, self.worker = session, worker
        self.process = ClusterProcess()
        self._ask = ask or self.process.ask
        self.watched = False
        self.clustered = Clustered(question_of(session.state))
        self._question: AnyQuestion = self.clustered.question
        self._left = TimeLeft()
        self._pause = later(_PAUSE_MS, self._start, self)
        session.changed.connect(self._on_changed)
        self._received.connect(self._on_message)

    @property
    def busy(self) -> bool:
        """Whether a step is being predicted."""
        return self._pause.isActive() or self.worker.busy(_KEY)

    def watch(self, watched: bool) -> None:
        """Predict while `watched`, beginning with the current question; otherwise pause."""
        self.watched = watched
        if not watched:
            return
        is_other = self._follow(self.session.state)
        now = self.clustered
        if is_other or ((now.stale or now.answer is None) and not now.error and not self.busy):
            self._request()

    def cancel(self) -> None:
        """Stop predicting; the current figures are kept."""
        if self.busy:
            self._pause.stop()
            self.worker.cancel(_KEY)
            self.process.end_question(self._question)
            now = self.clustered
            late = now.answer is not None and not now.stale
            words = "" if late else "Cancelled. Predict again to continue."
            search = None if now.search and now.search.ranking is None else now.search
            self._show(replace(now, progress="", error=words, search=search))

    def retry(self) -> None:
        """Predict the current question again."""
        self._request()

    def reread(self, path: Path) -> None:
        """Predict again if the question reads this file, which may have been edited."""
        now = self.clustered
        scenario = now.question.scenario
        if str(path) in (now.question.choice.cluster, scenario.gpu, scenario.host):
            self._show(replace(now, stale=now.answer is not None, error="", search=None))
            if self.watched:
                self._request()

    def find_splits(self) -> None:
        """Search for the fastest split of the question's batch over all its GPUs."""
        if self.busy:
            return
        try:
            question = split_question(self.clustered.question)
            question.question.check()
        except RidgepointError as error:
            self._fail(str(error))
            return
        words = "searching for the fastest split"
        self._show(replace(self.clustered, search=SplitSearch(question, doing=words), error=""))
        self._run(question, self.changed.emit, self._search_failed)

    def scale(self, strong: bool) -> None:
        """Show strong scaling (the total batch is fixed) or weak scaling (each replica's batch is
        fixed)."""
        self._show(replace(self.clustered, strong=strong))
        if not self.busy:
            self._scale_strongly()

    def answered(self, question: ClusterQuestion, cancelled: Callable[[], bool]) -> ClusterAnswer:
        """Compute the figures of another question, such as a lesson's. Blocks a thread of the
        worker; raises the errors of `ClusterProcess.ask`.
        """
        answers: list[ClusterAnswer] = []

        def on_message(kind: Kind, content: Any) -> None:
            if kind == "answer":
                answers.append(content)

        self._ask(AnswerQuestion(question), cancelled, on_message)
        return answers[0]

    def close(self) -> None:
        """End the process."""
        self.process.end()

    def _on_changed(self, before: State, after: State) -> None:
        if self.watched and self._follow(after):
            self._request()

    def _follow(self, state: State) -> bool:
        """Show the question of a state. Returns whether it differs from the current one."""
        question = question_of(state)
        if question == self.clustered.question:
            return False
        now = self.clustered
        search = now.search
        if search and not (search.ranking and belongs(search, question)):
            search = None
        stale = now.answer is not None
        self._show(replace(now, question=question, stale=stale, error="", search=search))
        return True

    def _request(self) -> None:
        self.worker.cancel(_KEY)
        now = self.clustered
        try:
            now.question.check()
        except RidgepointError as error:
            self._pause.stop()
            self._fail(str(error))
            return
        doing = f"preparing {now.question.scenario.network}"
        self._show(replace(now, stale=now.answer is not None, progress=doing, error=""))
        self._pause.start()

    def _start(self) -> None:
        question = self.clustered.question
        self._run(question, lambda: self._done(question), self._failed)

    def _run(
        self,
        question: AnyQuestion,
        done: Callable[[], None],
        failed: Callable[[RidgepointError], None],
    ) -> None:
        self._question, self._left = question, TimeLeft()

        def run(cancelled: Callable[[], bool]) -> None:
            def on_message(kind: Kind, content: Any) -> None:
                self._received.emit(question, kind, content)

            self._ask(question, cancelled, on_message)

        self.worker.ask(_KEY, run, lambda _: done(), failed, CLUSTER)

    def _with_time_left(self, doing: str, share: float) -> tuple[str, float]:
        """A search's current work with its time left, and the completed share."""
        self._left.count(round(share * _PARTS), _PARTS)
        return ", ".join(filter(None, (doing, self._left.words()))), share

    def _on_message(self, question: AnyQuestion, kind: Kind, content: Any) -> None:
        now = self.clustered
        if isinstance(question, SplitQuestion):
            if now.search is not None and question == now.search.target:
                if kind == "share":
                    content = self._with_time_left(*content)
                search = _further(now.search, kind, content)
                if now.answer is not None and not now.stale:
                    search = with_answer(search, now.question, now.answer)
                self._show(replace(now, search=search))
            return
        if not isinstance(question, ClusterQuestion):
            question = question.question
        if question != now.question or not self.busy:
            return
        if kind == "progress":
            self._show(replace(now, progress=content))
        elif kind == "answer":
            search = with_answer(now.search, question, content)
            now = replace(now, answer=content, search=search, stale=False)
            self._show(replace(now, points=None, what_ifs=None, strong_points=None))
        elif kind in _LATER:
            self._show(replace(now, **{kind: content}))

    def _done(self, question: ClusterQuestion) -> None:
        if question == self.clustered.question:
            self._show(replace(self.clustered, progress="", error=""))
            self._scale_strongly()

    def _scale_strongly(self) -> None:
        """Predict strong scaling if it is shown and not predicted yet."""
        now = self.clustered
        if now.strong and now.strong_points is None and now.answer and not now.stale:
            question = now.question
            self._show(replace(now, progress="sharing the batch among fewer and more GPUs"))
            self._run(StrongQuestion(question), lambda: self._done(question), self._unscaled)

    def _unscaled(self, error: RidgepointError) -> None:
        self._show(replace(self.clustered, strong_points=(), progress="", error=str(error)))

    def _search_failed(self, error: RidgepointError) -> None:
        self._show(replace(self.clustered, search=None, error=str(error)))

    def _failed(self, error: RidgepointError) -> None:
        self._fail(str(error))

    def _fail(self, reason: str) -> None:
        now = self.clustered
        self._show(replace(now, stale=now.answer is not None, progress="", error=reason))

    def _show(self, clustered: Clustered) -> None:
        self.clustered = clustered
        self.changed.emit()


def _further(search: SplitSearch, kind: Kind, content: Any) -> SplitSearch:
    """Apply a message of the process to a search."""
    if kind == "progress":
        return replace(search, doing=content)
    if kind == "share":
        return replace(search, doing=content[0], share=content[1])
    return replace(search, ranking=content, share=1.0, doing="") if kind == "splits" else search


def question_of(state: State) -> ClusterQuestion:
    """The question of a session about its current scenario."""
    scenario = as_fields(state.scenario)
    return ClusterQuestion(scenario, state.cluster or first(scenario))
