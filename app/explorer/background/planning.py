"""Compute the plan of the session in the background while the user edits its draft."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from PySide6.QtCore import QObject, Signal

from app.answers.plan.draft import Draft, checked
from app.answers.plan.planned import Candidate, Planned
from app.answers.plan.scenario_draft import of_scenario
from app.explorer.background.worker import PLAN, Worker, later
from app.explorer.state.session import Session, State
from app.time_left import TimeLeft
from simulator.errors import RidgepointError
from simulator.planning import Plan, Row, plan
from simulator.planning.verdict import ranked

_PAUSE_MS = 150
"""Delay after an edit before planning starts."""
_SOON_MS = 200
"""Interval between updates of the candidates during planning."""
_KEY = "plan"

Cancelled = Callable[[], bool]


class _CancelledError(RidgepointError):
    """The plan was cancelled."""


class Planning(QObject):
    """Plans the session's draft while `watched`; `planned` is the contents of the page. Without a
    plan, the session's current scenario is planned."""

    changed = Signal()
    """`planned` has changed."""
    _progressed = Signal(object, str)
    _seen = Signal(object, object)

    def __init__(self, session: Session, worker: Worker) -> None:
        super().__init__()
        self.session, self.worker = session, worker
        self.watched = False
        self._planned: Planned | None = None
        self._left = TimeLeft()
        self._pause = later(_PAUSE_MS, self._start, self)
        self._soon = later(_SOON_MS, self.changed.emit, self)
        session.changed.connect(self._on_changed)
        self._progressed.connect(self._on_progress)
        self._seen.connect(self._on_seen)

    @property
    def planned(self) -> Planned:
        """The contents of the page. Writing the first draft checks it against the catalogue, which
        takes 0.1 s, so it is written when it is first needed."""
        if self._planned is None:
            self._planned = Planned(draft_of(self.session.state))
        return self._planned

    @planned.setter
    def planned(self, planned: Planned) -> None:
        self._planned = planned

    @property
    def complete(self) -> bool:
        """Whether there is a plan of the draft."""
        now = self._planned
        return now is not None and now.plan is not None and not now.stale

    @property
    def busy(self) -> bool:
        """Whether a plan is being computed."""
        return self._pause.isActive() or self.worker.busy(_KEY)

    def watch(self, watched: bool) -> None:
        """Compute plans while `watched`, beginning with the current draft; otherwise pause."""
        self.watched = watched
        if watched:
            self._follow_session()
            now = self.planned
            if (now.stale or now.plan is None) and not now.error and not self.busy:
                self._request()

    def edit(self, draft: Draft, text: str) -> None:
        """Set the draft. Raises InputError and changes nothing if the planner refuses it."""
        self.session.set_plan(checked(draft).text, text)

    def choose(self, candidate: Candidate | None) -> None:
        """Choose a candidate."""
        if candidate != self.planned.chosen:
            self._show(replace(self.planned, chosen=candidate))

    def cancel(self) -> None:
        """Stop planning; the candidates so far are kept."""
        if self.busy:
            self._pause.stop()
            self.worker.cancel(_KEY)
            self._show(
                replace(self.planned, progress="", error="Cancelled. Plan again to continue.")
            )

    def retry(self) -> None:
        """Plan the current draft again."""
        self._request()

    def _on_changed(self, before: State, after: State) -> None:
        if self.watched or before.plan != after.plan:
            self._follow_session()

    def _follow_session(self) -> None:
        """Show the session's draft if it has changed, and plan it while `watched`."""
        now, draft = self.planned, draft_of(self.session.state)
        if draft == now.draft:
            return
        self._show(replace(now, draft=draft, stale=bool(now.rows), error=""))
        if self.watched:
            self._request()

    def _request(self) -> None:
        self.worker.cancel(_KEY)
        stale = bool(self.planned.rows)
        doing = f"preparing {self.planned.draft.spec.workload.network}"
        self._show(replace(self.planned, stale=stale, progress=doing, error=""))
        self._pause.start()

    def _start(self) -> None:
        draft, self._left = self.planned.draft, TimeLeft()

        def run(cancelled: Cancelled) -> Plan:
            def step(text: str) -> None:
                _stop(cancelled)
                self._progressed.emit(draft, text)

            def so_far(rows: Sequence[Row]) -> None:
                _stop(cancelled)
                self._seen.emit(draft, tuple(rows))

            return plan(draft.spec, progress=step, so_far=so_far)

        self.worker.ask(_KEY, run, lambda plan: self._done(draft, plan), self._failed, PLAN)

    def _on_progress(self, draft: Draft, text: str) -> None:
        if draft == self.planned.draft and self.worker.busy(_KEY):
            self._show_soon(replace(self.planned, progress=self._left.with_text(text)))

    def _on_seen(self, draft: Draft, rows: tuple[Row, ...]) -> None:
        """Replace the candidates of an earlier draft with the candidates so far."""
        now = self.planned
        if draft != now.draft or not self.worker.busy(_KEY) or not rows:
            return
        show = self._show if now.stale or not now.rows else self._show_soon
        show(replace(now, spec=draft.spec, rows=ranked(rows), plan=None, stale=False))

    def _done(self, draft: Draft, plan: Plan) -> None:
        self._show(
            replace(
                self.planned,
                spec=draft.spec,
                rows=plan.rows,
                plan=plan,
                stale=False,
                progress="",
                error="",
            )
        )

    def _failed(self, error: RidgepointError) -> None:
        stale = bool(self.planned.rows)
        self._show(replace(self.planned, stale=stale, progress="", error=str(error)))

    def _show(self, planned: Planned) -> None:
        self.planned = planned
        self._soon.stop()
        self.changed.emit()

    def _show_soon(self, planned: Planned) -> None:
        """Show candidates and progress, at most every `_SOON_MS`."""
        self.planned = planned
        if not self._soon.isActive():
            self._soon.start()


def draft_of(state: State) -> Draft:
    """The plan of a session; if the session has no plan, a plan for its current scenario."""
    return Draft(state.plan) if state.plan else of_scenario(state.scenario)


def _stop(cancelled: Cancelled) -> None:
    if cancelled():
        raise _CancelledError("cancelled")
