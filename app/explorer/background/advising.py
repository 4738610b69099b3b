"""Advice and goal seek for the current scenario, computed in the background."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from PySide6.QtCore import QObject, Signal

from app.explorer.background.worker import SLOW, Worker, later
from simulator.analysis.advice import Advised, advise
from simulator.analysis.seek import (
    SeekResult,
    batch_for_throughput,
    batch_out_of_overhead,
    batch_under,
    largest_batch,
)
from simulator.errors import InputError, RidgepointError, UntracedError
from simulator.prediction import Prediction
from simulator.scenario.scenario import Scenario, predict

_PAUSE_MS = 600
"""Delay after the last change of the scenario before advice is computed."""

Cancelled = Callable[[], bool]
Answer = Callable[[Scenario], Prediction]


class _CancelledError(RidgepointError):
    """The computation was cancelled."""


@dataclass(frozen=True)
class AdviceResult:
    """Advice on a scenario; `missing` trials need a trace first. `costs` holds the words about the
    cost of advice on other GPUs, by what-if."""

    scenario: Scenario
    advised: Advised
    missing: int
    costs: Mapping[str, str] = field(default_factory=dict[str, str])


GOALS: dict[str, str] = {
    "fits": "Largest batch that fits",
    "regime": "Smallest batch that is not overhead-bound",
    "under": "Largest batch with",
    "rate": "Smallest batch that reaches",
}
UNITS = {"under": "", "rate": "samples/s"}
"""The units of the goals that take a target; `under` has the unit of its figure."""


class Advising(QObject):
    """Searches for advice and goals. Trials that need a new trace run only on request."""

    started = Signal()
    """A search for another scenario starts."""
    tried = Signal(int)
    """Number of trials so far."""
    advice_ready = Signal(object)
    """AdviceResult."""
    failed = Signal(str)
    goal_ready = Signal(str, object, str)
    """Goal, SeekResult (None if the search failed), and the reason for a failure."""

    def __init__(self, worker: Worker) -> None:
        super().__init__()
        self.worker = worker
        self.scenario: Scenario | None = None
        self._pause = later(_PAUSE_MS, self._search_untraced, self)

    def set_scenario(self, scenario: Scenario) -> None:
        """Search for advice on a scenario once it has not changed for `_PAUSE_MS`."""
        if scenario != self.scenario:
            self.stop()
            self.scenario = scenario
            self.started.emit()
            self._pause.start()

    def cancel(self) -> None:
        """Cancel all searches, and show it where advice is awaited."""
        awaited = self._pause.isActive() or self.worker.busy("advice")
        self.stop()
        if awaited:
            self.failed.emit("cancelled; change the scenario to search again")

    def stop(self) -> None:
        """Cancel all searches."""
        self.scenario = None
        self._pause.stop()
        for key in ("advice", *(f"seek {goal}" for goal in GOALS)):
            self.worker.cancel(key)

    def seek(self, goal: str, target: float, figure: str) -> None:
        """Search for the batch that reaches a goal; `target` is in the goal's unit in `UNITS`, or
        in the unit of its `figure` in `UNDER`."""
        scenario = self.scenario
        if scenario is None:
            return
        self.worker.ask(
            f"seek {goal}",
            lambda cancelled: _seek(goal, scenario, target, figure, _until(cancelled)),
            lambda result: self.goal_ready.emit(goal, result, ""),
            lambda error: self.goal_ready.emit(goal, None, str(error)),
            SLOW,
            True,
        )

    def search_all(self) -> None:
        """Run all trials, including those that need a new trace."""
        self._search(trace=True)

    def _search_untraced(self) -> None:
        self._search(trace=False)

    def _search(self, trace: bool) -> None:
        scenario = self.scenario
        if scenario is not None:
            self.worker.ask(
                "advice",
                lambda cancelled: self._advise(scenario, trace, cancelled),
                self.advice_ready.emit,
                lambda error: self.failed.emit(str(error)),
                SLOW,
                True,
            )

    def _advise(self, scenario: Scenario, trace: bool, cancelled: Cancelled) -> AdviceResult:
        """Run the trials; called in the worker's thread."""
        count = missing = 0
        predict_trial = _until(cancelled)

        def answer(trial: Scenario) -> Prediction:
            nonlocal count, missing
            count += 1
            self.tried.emit(count)
            try:
                return predict_trial(trial)
            except UntracedError as need:
                if trial == scenario:
                    raise
                if trace:
                    raise
                missing += 1
                raise InputError(
                    f"{need}: expected a trace; trace the network and try again"
                ) from None

        advised = advise(scenario, predictor=answer)
        from app.answers.advice_cost import cost_words  # loads the planner: not at the start

        costs = {a.whatif: cost_words(scenario, advised.baseline, a) for a in advised.advice}
        return AdviceResult(scenario, advised, missing, costs)


def _until(cancelled: Cancelled) -> Answer:
    """A `predict` that raises _CancelledError once the job is cancelled."""

    def answer(scenario: Scenario) -> Prediction:
        if cancelled():
            raise _CancelledError("cancelled")
        return predict(scenario)

    return answer


def _seek(goal: str, scenario: Scenario, target: float, figure: str, answer: Answer) -> SeekResult:
    if goal == "fits":
        return largest_batch(scenario, answer)
    if goal == "regime":
        return batch_out_of_overhead(scenario, answer)
    if goal == "under":
        return batch_under(scenario, figure, target, answer)
    return batch_for_throughput(scenario, target, answer)
