"""A lesson: a question about scenarios, what the learner predicts, and what explains the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from simulator.scenario.scenario import Scenario

Choose = Literal["", "regime", "fastest"]


@dataclass(frozen=True)
class LessonSide:
    """One of the scenarios that a lesson compares, by its letter."""

    letter: str
    label: str
    scenario: Scenario


@dataclass(frozen=True)
class LessonAxis:
    """An axis along which the first scenario is swept. Of its `values` the learner predicts those
    in `markers`."""

    name: str
    values: tuple[int, ...]
    markers: tuple[int, ...]


@dataclass(frozen=True)
class Card:
    """A figure of the explanation, with what it is and where it comes from. `regime` is one, or
    the letter of a side, whose own it then is, or ""."""

    name: str
    figure: str
    note: str = ""
    regime: str = ""


@dataclass(frozen=True)
class Lesson:
    """Texts have placeholders (`app.lessons.words`); `guess` is the word that is predicted, or
    "shift", or "" where only `choose` is asked. `asked` are the letters of the sides whose figure
    is predicted where there is no line. `low` and `high` bound the axis of the guess, in SI."""

    name: str
    title: str
    topic: str
    question: str
    explain: str
    sides: tuple[LessonSide, ...]
    line: LessonAxis | None = None
    guess: str = ""
    asked: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    choose: Choose = ""
    choice: str = ""
    chosen_of: str = "a"
    cards: tuple[Card, ...] = ()
    points: tuple[Card, ...] = ()
    opens: str = "a"

    def side(self, letter: str) -> LessonSide:
        """The side of a letter."""
        return next(side for side in self.sides if side.letter == letter)
