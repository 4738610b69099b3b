"""The cache of predictions is bounded, and always holds those of the sides."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

from app.answers.answer import Answer
from app.examples import FIRST
from app.explorer.background.answering import Answering
from app.explorer.background.worker import Worker
from app.explorer.state.session import NamedScenario, Session, State
from simulator.errors import InputError
from simulator.scenario.scenario import Scenario


class RefusingWorker:
    """Refuses every job at once."""

    def __init__(self) -> None:
        self.jobs = dict[str, object]()
        self.pauses = 0

    def ask(self, key: str, run: object, done: object, failed: Any, *_: object) -> None:
        failed(InputError(f"{key} is refused"))

    def cancel(self, key: str) -> None:
        """Does nothing, as no job runs."""

    def pause_slow(self) -> None:
        """Counts the pauses."""
        self.pauses += 1


def _answering() -> Answering:
    session = Session(State((NamedScenario("Today", FIRST), NamedScenario("Next", FIRST))))
    return Answering(session, cast("Worker", RefusingWorker()))


def _answer(scenario: Scenario) -> Answer:
    return cast("Answer", SimpleNamespace(scenario=scenario))


def test_the_answers_of_the_sides_stay_while_others_come_and_go():
    answering = _answering()
    answering.store(_answer(FIRST))
    for batch in range(100, 300):
        answering.store(_answer(replace(FIRST, batch=batch)))
    assert len(answering.answers) == 64
    assert FIRST.key in answering.answers
    assert replace(FIRST, batch=299).key in answering.answers


def test_reasons_are_cached_only_for_the_sides():
    answering = _answering()
    for batch in range(100, 110):
        answering.session.set_scenario(replace(FIRST, batch=batch), "batch", place=1)
        answering.request()
    assert answering.refused == {
        FIRST.key: "side 0 is refused",
        replace(FIRST, batch=109).key: "side 1 is refused",
    }


def test_views_are_painted_before_their_questions_after_an_undo():
    """An undone change has a cached answer, so no prediction pauses the slow jobs."""
    session = Session(State((NamedScenario("Today", FIRST),)))
    worker = RefusingWorker()
    answering = Answering(session, cast("Worker", worker))
    order = list[str]()
    answering.current_answered.connect(lambda: order.append(f"drawn after {worker.pauses}"))
    answering.request()
    assert (worker.pauses, order) == (0, [])
    answering.store(_answer(FIRST))
    answering.request()
    assert order == ["drawn after 1"]
