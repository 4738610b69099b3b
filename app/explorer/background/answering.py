"""The answers to a session's sides: asked of the worker, and kept while they may come back."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QElapsedTimer, QObject, Signal

from app.answers.answer import Answer, BatchRegimes, batch_regimes, compute_answer
from app.answers.side import Side
from app.explorer.background.worker import SLOW, Worker, later
from app.explorer.state.incoming import code_of
from app.explorer.state.session import LETTERS, Session
from simulator.errors import RidgepointError
from simulator.scenario.scenario import Scenario

_PAUSE_MS = 120
"""How long a scenario must stand before the batch is searched."""
_KEPT = 64


class Answering(QObject):
    """What is known of each side. `drawn` says that the current one has an answer, and that it or
    another side's is new."""

    drawn = Signal()
    known = Signal()
    """Some side has a new answer, or none for a new reason."""
    late = Signal()
    """The current side is another one now, and has no answer yet: what is shown is of before."""
    failed = Signal(str)
    """Why the current side has none."""
    not_read_again = Signal(object, object)
    """Path and RidgepointError: a file whose code a side runs was saved, and has no answer."""
    searched = Signal(object)
    """Along | None: where the current side's regime changes along the batch."""

    def __init__(self, session: Session, worker: Worker) -> None:
        super().__init__()
        self.session, self.worker = session, worker
        self.answers: dict[str, Answer] = {}
        self.outdated = set[str]()
        """Keys of scenarios whose file was saved after their answer."""
        self.refused: dict[str, str] = {}
        self.clock = QElapsedTimer()
        self._pause = later(_PAUSE_MS, self._look_along, self)

    @property
    def caught_up(self) -> bool:
        """Is the answer that of the current scenario, with its file as it is now?"""
        return self.answer is not None and self.session.state.scenario.key not in self.outdated

    @property
    def answer(self) -> Answer | None:
        """The answer to the current scenario, where there is one."""
        return self.answers.get(self.session.state.scenario.key)

    def ask(self) -> None:
        """Have every side answered that is not."""
        self._ask_sides()
        if self.answer is not None:
            self._draw()
        if not self.caught_up:
            self.late.emit()

    def _ask_sides(self) -> None:
        self.clock.start()
        state = self.session.state
        self._forget_sides(len(state.sides))
        self.worker.cancel("along")
        for place, side in enumerate(state.sides):
            key, asked = f"side {place}", side.scenario
            if asked.key in self.answers and asked.key not in self.outdated:
                self.worker.cancel(key)
                continue
            self.worker.ask(
                key,
                lambda _, s=asked: compute_answer(s),
                self._answered,
                lambda error, s=asked: self._failed(s, error),
            )

    def read_again(self, path: Path) -> None:
        """A file was saved: ask again about the sides that run it. Their answers stay until there
        are new ones, and where there are none."""
        asked = {side.scenario.key for side in self.session.state.sides}
        for key, answer in list(self.answers.items()):
            if code_of(answer.scenario) != path:
                continue
            if key in asked:
                self.outdated.add(key)
            else:
                del self.answers[key]
        self._ask_sides()
        self.known.emit()
        if not self.caught_up:
            self.late.emit()

    def keep(self, answer: Answer) -> None:
        """An answer that was found elsewhere."""
        while len(self.answers) > _KEPT:  # the oldest goes
            del self.answers[next(iter(self.answers))]
        self.answers[answer.scenario.key] = answer
        self.refused.pop(answer.scenario.key, None)
        self.outdated.discard(answer.scenario.key)

    def forget(self) -> None:
        """What was answered holds no more, such as after a GPU's file was written: ask again."""
        self.answers.clear()
        self.refused.clear()
        self.ask()

    def sides(self) -> tuple[tuple[Side, ...], int]:
        """The sides that are answered, and the place of the current one among them."""
        state, found, current = self.session.state, list[Side](), 0
        for place, side in enumerate(state.sides):
            answer = self.answers.get(side.scenario.key)
            if place == state.current:
                current = len(found)
            if answer is not None:
                found.append(
                    Side(LETTERS[place], side.name, side.scenario, answer.prediction, side.measured)
                )
        return tuple(found), current

    def give_up(self) -> None:
        """Wait no longer."""
        self._pause.stop()

    def _forget_sides(self, count: int) -> None:
        kept = {f"side {place}" for place in range(count)}
        for key in [k for k in self.worker.jobs if k.startswith("side ") and k not in kept]:
            self.worker.cancel(key)

    def _answered(self, answer: Answer) -> None:
        self.keep(answer)
        self.known.emit()
        if self.answer is not None:
            self._draw()

    def _failed(self, asked: Scenario, error: RidgepointError) -> None:
        if asked.key in self.outdated:
            self.not_read_again.emit(code_of(asked), error)
            return
        self.refused[asked.key] = str(error)
        self.known.emit()
        if asked.key == self.session.state.scenario.key:
            self.give_up()
            self.worker.cancel("along")
            self.failed.emit(str(error))

    def _draw(self) -> None:
        self.drawn.emit()
        if self.caught_up:
            self._pause.start()

    def _look_along(self) -> None:
        answer = self.answer
        if answer is not None:
            asked, batch = answer.scenario, answer.subject.batch
            self.worker.ask(
                "along",
                lambda _: batch_regimes(asked, batch),
                self._found_along,
                lambda error: self._found_along(None),
                SLOW,
                True,
            )

    def _found_along(self, along: BatchRegimes | None) -> None:
        self.searched.emit(along)
