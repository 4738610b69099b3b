"""Predictions of the session's sides: requested from the worker, and cached."""

from __future__ import annotations

import json
from pathlib import Path

from PySide6.QtCore import QElapsedTimer, QObject, Signal

from app.answers.answer import Answer, batch_regimes, compute_answer
from app.answers.side import Side
from app.explorer.background.worker import SLOW, Worker, later
from app.explorer.state.incoming import code_of
from app.explorer.state.session import LETTERS, Session
from simulator.errors import RidgepointError
from simulator.scenario.scenario import Scenario

_PAUSE_MS = 120
"""Delay after an answer before the regimes along the batch are searched."""
_CACHED = 64
"""Maximum number of cached answers, including the answers of the sides."""


class Answering(QObject):
    """The answers of all sides, and signals for their changes."""

    current_answered = Signal()
    """The current side has an answer, and at least one side has a new answer."""
    answers_changed = Signal()
    """A side has a new answer or a new error."""
    outdated_shown = Signal()
    """The current side has no answer yet; the views still show an earlier one."""
    current_failed = Signal(str)
    """The prediction of the current side failed, with the reason."""
    reload_failed = Signal(object, object)
    """Path and RidgepointError: a side's network file was saved, and its new prediction failed."""
    along_ready = Signal(object)
    """BatchRegimes | None: the regimes of the current side along the batch."""

    def __init__(self, session: Session, worker: Worker) -> None:
        super().__init__()
        self.session, self.worker = session, worker
        self.answers: dict[str, Answer] = {}
        self.outdated = set[str]()
        """Keys of scenarios whose source file was saved after their answer."""
        self.refused: dict[str, str] = {}
        """Why a side could not be predicted, by the key of its scenario."""
        self.clock = QElapsedTimer()
        self._pause = later(_PAUSE_MS, self._search_along, self)

    @property
    def up_to_date(self) -> bool:
        """Whether the current scenario has an answer for the current contents of its file."""
        return self.answer is not None and self.session.state.scenario.key not in self.outdated

    @property
    def waiting(self) -> bool:
        """Whether the answer to the current scenario is being computed."""
        return not self.up_to_date and self.worker.busy(f"side {self.session.state.current}")

    @property
    def answer(self) -> Answer | None:
        """The answer to the current scenario, or None."""
        return self.answers.get(self.session.state.scenario.key)

    @property
    def _keys(self) -> set[str]:
        """The keys of the sides' scenarios."""
        return {side.scenario.key for side in self.session.state.sides}

    def request(self) -> None:
        """Request an answer for every side that lacks one."""
        self._ask_sides()
        if self.answer is not None:
            self.worker.pause_slow()  # the answer is painted before the views' questions
            self._announce()
        if not self.up_to_date:
            self.outdated_shown.emit()

    def _ask_sides(self) -> None:
        self.clock.start()
        state, current = self.session.state, self._keys
        self.refused = {key: reason for key, reason in self.refused.items() if key in current}
        self._cancel_beyond(len(state.sides))
        self.worker.cancel("along")
        for place, side in enumerate(state.sides):
            key, scenario = f"side {place}", side.scenario
            if scenario.key in self.answers and scenario.key not in self.outdated:
                self.worker.cancel(key)
                continue
            self.worker.ask(
                key,
                lambda _, s=scenario: compute_answer(s),
                self._receive,
                lambda error, s=scenario: self._fail(s, error),
            )

    def reload(self, path: Path) -> None:
        """Request new answers for the sides that run a saved file. Old answers are kept until new
        ones arrive, even if the new predictions fail.
        """
        current = self._keys
        for key, answer in list(self.answers.items()):
            if code_of(answer.scenario) != path:
                continue
            if key in current:
                self.outdated.add(key)
            else:
                del self.answers[key]
        self._ask_sides()
        self.answers_changed.emit()
        if not self.up_to_date:
            self.outdated_shown.emit()

    def reread(self, path: Path) -> None:
        """Drop the answers of scenarios that read a GPU or host file, which may have been edited,
        and request them again."""
        text = json.dumps(str(path))[1:-1]
        for answers in (self.answers, self.refused):
            for key in [key for key in answers if text in key]:
                del answers[key]
        self.request()

    def store(self, answer: Answer) -> None:
        """Cache an answer; drop the oldest ones that belong to no side."""
        key = answer.scenario.key
        self.answers.pop(key, None)
        self.answers[key] = answer
        current = self._keys
        unused = [key for key in self.answers if key not in current]
        for oldest in unused[: max(0, len(self.answers) - _CACHED)]:
            del self.answers[oldest]
        self.refused.pop(key, None)
        self.outdated.discard(key)

    def clear(self) -> None:
        """Drop all answers, for example after a GPU file changed, and request them again."""
        self.answers.clear()
        self.refused.clear()
        self.outdated.clear()
        self.request()

    def sides(self) -> tuple[tuple[Side, ...], int]:
        """The sides that have an answer, and the index of the current one in this list."""
        state, sides, current = self.session.state, list[Side](), 0
        for place, side in enumerate(state.sides):
            answer = self.answers.get(side.scenario.key)
            if place == state.current:
                current = len(sides)
            if answer is not None:
                trace = side.measured, side.measured_as
                sides.append(
                    Side(LETTERS[place], side.name, side.scenario, answer.prediction, *trace)
                )
        return tuple(sides), current

    def stop(self) -> None:
        """Cancel the search along the batch."""
        self._pause.stop()

    def _cancel_beyond(self, count: int) -> None:
        sides = {f"side {place}" for place in range(count)}
        for key in [k for k in self.worker.jobs if k.startswith("side ") and k not in sides]:
            self.worker.cancel(key)

    def _receive(self, answer: Answer) -> None:
        self.store(answer)
        if self.answer is not None:
            self._announce()  # first: the verdict is painted before the cards
        self.answers_changed.emit()

    def _fail(self, scenario: Scenario, error: RidgepointError) -> None:
        if scenario.key in self.outdated:
            self.reload_failed.emit(code_of(scenario), error)
            return
        self.refused[scenario.key] = str(error)
        self.answers_changed.emit()
        if scenario.key == self.session.state.scenario.key:
            self.stop()
            self.worker.cancel("along")
            self.current_failed.emit(str(error))

    def _announce(self) -> None:
        self.current_answered.emit()
        if self.up_to_date:
            self._pause.start()

    def _search_along(self) -> None:
        answer = self.answer
        if answer is not None:
            scenario, batch = answer.scenario, answer.subject.batch
            self.worker.ask(
                "along",
                lambda _: batch_regimes(scenario, batch),
                self.along_ready.emit,
                lambda error: self.along_ready.emit(None),
                SLOW,
                True,
            )
