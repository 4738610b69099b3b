"""The records of a lesson: a question about scenarios, the guess and the explanation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from app.answers.cluster.choice import ClusterChoice
from simulator.scenario.scenario import Scenario

Choose = Literal["", "regime", "fastest"]


@dataclass(frozen=True)
class LessonSide:
    """One of the scenarios that a lesson compares, on several GPUs if it has a `cluster`."""

    letter: str
    label: str
    scenario: Scenario
    cluster: ClusterChoice | None = None


@dataclass(frozen=True)
class LessonAxis:
    """An axis of the first scenario. The learner guesses the figure at `markers`, some of its
    `values`."""

    name: str
    values: tuple[int, ...]
    markers: tuple[int, ...]


@dataclass(frozen=True)
class Card:
    """A figure of the explanation with its name and a note. `regime` is a regime, the letter of a
    side for that side's regime, or ""."""

    name: str
    figure: str
    note: str = ""
    regime: str = ""


@dataclass(frozen=True)
class Task:
    """The target for the learner to reach in Explore: `figure`, a word, within its bounds in SI
    units, and `regime`; either may be "". The fields `keep` of the scenario must not change.
    `solution` is a scenario that reaches the target, None if the file has none."""

    words: str
    figure: str
    at_least: float | None
    at_most: float | None
    regime: str
    keep: tuple[str, ...]
    solution: Scenario | None = None


@dataclass(frozen=True)
class Lesson:
    """Texts hold placeholders (`app.lessons.words`). `guess` is the word to guess, "shift", or ""
    for a choice only. Without an axis, `asked` are the letters of the sides to guess. `low` and
    `high` bound the axis of the guess, in SI. `minutes` is the time that a class takes, 0 if
    unknown, and `needs` the knowledge that it requires."""

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
    task: Task | None = None
    minutes: int = 0
    needs: str = ""

    def side(self, letter: str) -> LessonSide:
        """The side with a letter."""
        return next(side for side in self.sides if side.letter == letter)
