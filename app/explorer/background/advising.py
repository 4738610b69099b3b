"""What would help, asked beside the window: advice, and the batches that reach a goal."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal

from app import examples
from app.explorer.background.worker import SLOW, Worker, later
from simulator.analysis.advice import Advised, advise
from simulator.analysis.seek import (
    SeekResult,
    batch_for_latency,
    batch_for_throughput,
    batch_out_of_overhead,
    largest_batch,
)
from simulator.errors import InputError, RidgepointError, UntracedError
from simulator.prediction import Prediction
from simulator.scenario.scenario import Scenario, predict

_PAUSE_MS = 600
"""How long a scenario must stand before advice on it is looked for."""

Cancelled = Callable[[], bool]
Answer = Callable[[Scenario], Prediction]


class _GivenUpError(RidgepointError):
    """Nobody waits for the answer any more."""


@dataclass(frozen=True)
class Found:
    """Advice on a scenario; `missing` trials wait for a trace."""

    scenario: Scenario
    advised: Advised
    missing: int


GOALS: dict[str, str] = {
    "fits": "Largest batch that fits",
    "regime": "Smallest batch out of overhead",
    "latency": "Largest batch, alone within",
    "rate": "Smallest batch that reaches",
}
UNITS = {"latency": "ms", "rate": "samples/s"}
"""What is typed for the goals that ask for a figure."""


class Advising(QObject):
    """Questions about the scenario that stands. Trials that need no trace come first."""

    begun = Signal()
    """Another scenario is thought about."""
    tried = Signal(int)
    """So many trials are answered."""
    found = Signal(object)
    """Found."""
    failed = Signal(str)
    sought = Signal(str, object, str)
    """A goal, what reaches it (None where nothing does), and why not."""

    def __init__(self, worker: Worker) -> None:
        super().__init__()
        self.worker = worker
        self.scenario: Scenario | None = None
        self._pause = later(_PAUSE_MS, self._ask, self)

    def about(self, scenario: Scenario) -> None:
        """Advise on this from now on, as soon as it stands."""
        if scenario != self.scenario:
            self.stop()
            self.scenario = scenario
            self.begun.emit()
            self._pause.start()

    def stop(self) -> None:
        """Look for nothing."""
        self.scenario = None
        self._pause.stop()
        for key in ("advice", *(f"seek {goal}" for goal in GOALS)):
            self.worker.cancel(key)

    def seek(self, goal: str, target: float) -> None:
        """Look for the batch that reaches a goal; `target` is the figure of those that ask for
        one, in its unit."""
        asked = self.scenario
        if asked is None:
            return
        self.worker.ask(
            f"seek {goal}",
            lambda cancelled: _seek(goal, asked, target, _until(cancelled)),
            lambda found: self.sought.emit(goal, found, ""),
            lambda error: self.sought.emit(goal, None, str(error)),
            SLOW,
            True,
        )

    def ask_more(self) -> None:
        """Try also what has to be traced first."""
        self._advise(whole=True)

    def _ask(self) -> None:
        self._advise(whole=False)

    def _advise(self, whole: bool) -> None:
        asked = self.scenario
        if asked is not None:
            self.worker.ask(
                "advice",
                lambda cancelled: self._found(asked, whole, cancelled),
                self.found.emit,
                lambda error: self.failed.emit(str(error)),
                SLOW,
                True,
            )

    def _found(self, scenario: Scenario, whole: bool, cancelled: Cancelled) -> Found:
        """In the worker's thread."""
        count = missing = 0
        predicted = _until(cancelled)

        def answer(asked: Scenario) -> Prediction:
            nonlocal count, missing
            count += 1
            self.tried.emit(count)
            try:
                return predicted(asked)
            except UntracedError as need:
                if asked == scenario:
                    raise
                if examples.load(need.ask, need.gpu):
                    with suppress(UntracedError):
                        return predicted(asked)
                if whole:
                    raise
                missing += 1
                raise InputError(f"{need}: expected a trace; trace and try it") from None

        return Found(scenario, advise(scenario, predictor=answer), missing)


def _until(cancelled: Cancelled) -> Answer:
    def answer(asked: Scenario) -> Prediction:
        if cancelled():
            raise _GivenUpError("given up")
        return predict(asked)

    return answer


def _seek(goal: str, scenario: Scenario, target: float, answer: Answer) -> SeekResult:
    if goal == "fits":
        return largest_batch(scenario, answer)
    if goal == "regime":
        return batch_out_of_overhead(scenario, answer)
    if goal == "latency":
        return batch_for_latency(scenario, target / 1e3, answer)
    return batch_for_throughput(scenario, target, answer)
