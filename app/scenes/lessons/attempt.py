"""A learner's attempt at a lesson: the guesses, and how close they are. No widget."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite, log10
from typing import Literal

from app.lessons.lesson import Lesson
from app.lessons.outcome import Outcome
from app.quantities import number, plain
from app.scenes.lessons.votes import ClassVotes, Key

Step = Literal["predict", "reveal", "explain", "try"]
STEPS: dict[Step, str] = {
    "predict": "Predict",
    "reveal": "Reveal",
    "explain": "Explain",
    "try": "Try it",
}
NEAR = 2.0
NEAR_SHARE = 0.1
"""A guess is good within a factor of two; a guessed share, within ten percentage points."""


@dataclass
class Attempt:
    """`known` is the outcome that the question shows: the first side. `guesses` are in SI units;
    `moved` are the keys that the learner has set; `votes` are the answers of a class."""

    lesson: Lesson
    known: Outcome
    guesses: dict[Key, float] = field(default_factory=dict[Key, float])
    moved: set[Key] = field(default_factory=set[Key])
    choice: str = ""
    step: Step = "predict"
    votes: ClassVotes = field(default_factory=ClassVotes)

    def __post_init__(self) -> None:
        for key in self.keys:
            self.guesses.setdefault(key, self._beginning(key))

    @property
    def keys(self) -> tuple[Key, ...]:
        """The keys of the guesses, in order."""
        lesson = self.lesson
        if not lesson.guess:
            return ()
        if lesson.guess == "shift":
            return ("shift",)
        return lesson.line.markers if lesson.line else lesson.asked

    @property
    def locked(self) -> bool:
        return self.step != "predict"

    @property
    def lacking(self) -> str:
        """The instruction to the learner before the guess can be locked, or an empty string."""
        if self.keys and not self.moved:
            return "Drag a marker first, or move it with the arrow keys"
        if self.lesson.choose and not self.choice:
            return "Choose an answer first"
        return ""

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest possible guess."""
        lesson = self.lesson
        if lesson.guess == "shift" and lesson.line:
            return float(lesson.line.values[0]), float(lesson.line.values[-1])
        if self.known.word.share:
            return lesson.low or 0.0, lesson.high or 1.0
        decade = 10.0 ** int(log10(self._at_hand) // 1)
        return lesson.low or decade / 10, lesson.high or 1000 * decade

    @property
    def _at_hand(self) -> float:
        figure = self.known.figure("a")
        return figure if figure > 0 and isfinite(figure) else 1.0

    def _beginning(self, key: Key) -> float:
        low, high = self.range
        if self.known.word.share and key != "shift":
            return (low + high) / 2
        if key == "shift" or key == "a":
            return (max(low, 1e-30) * high) ** 0.5
        return min(max(self._at_hand, low), high)

    def put(self, key: Key, value: float) -> None:
        """Set a guess, clipped to the range; do nothing once the attempt is locked."""
        if self.locked:
            return
        low, high = self.range
        value = min(max(value, low), high)
        self.guesses[key] = float(round(value)) if key == "shift" else value
        self.moved.add(key)

    def vote(self) -> None:
        """Count the guesses and the choice as the answer of another pupil."""
        if not self.locked and not self.lacking:
            self.votes.add(self.guesses, self.choice)

    def written(self, key: Key) -> str:
        """The text of a guess."""
        value = self.guesses[key]
        return plain(round(value)) if key == "shift" else self.known.word.text(value)

    def answer(self, result: Outcome, key: Key) -> float | None:
        """The simulated figure of a guess; None if the regime never changes."""
        if key == "shift":
            return result.change.at if result.change else None
        return result.at(key) if isinstance(key, int) else result.figure(key)

    def near(self, outcome: Outcome, key: Key) -> bool:
        """Whether a guess is good."""
        answer, guess = self.answer(outcome, key), self.guesses[key]
        if answer is None:
            return False
        if key != "shift" and outcome.word.share:
            return abs(guess - answer) <= NEAR_SHARE
        low, high = answer, answer
        if key == "shift" and outcome.change:
            low, high = outcome.change.last, outcome.change.first
        return low / NEAR <= guess <= high * NEAR

    def hits(self, outcome: Outcome) -> list[bool]:
        """Whether each guess is good or, without guesses, whether the choice is right."""
        if not self.keys:
            return [self.choice == outcome.right]
        return [self.near(outcome, key) for key in self.keys]

    def named(self, key: Key) -> str:
        """The name of a guess."""
        lesson = self.lesson
        if key == "shift":
            return "where the regime changes"
        if isinstance(key, int):
            return f"{lesson.line.name if lesson.line else ''} {key}"
        return lesson.side(key).label

    @property
    def farthest(self) -> Key | None:
        """The key of the last guess, which the picture explains."""
        return self.keys[-1] if self.keys else None

    def relative_to_guess(self, outcome: Outcome, key: Key) -> str:
        """The result relative to a guess: "13 times faster", "25 points less", "as predicted"."""
        answer, guess = self.answer(outcome, key), self.guesses[key]
        if answer is None:
            return "it never changes here"
        if key != "shift" and outcome.word.share:
            points = 100 * (answer - guess)
            if abs(points) < 1:
                return "as you predicted"
            return f"{abs(points):.0f} points {'more' if points > 0 else 'less'}"
        if (
            key == "shift"
            and outcome.change
            and outcome.change.last <= guess <= outcome.change.first
        ):
            return "as you predicted"
        ratio = answer / guess if guess else 1.0
        more, less = (
            ("slower", "faster")
            if key != "shift" and outcome.word.follows == 1
            else (("later", "earlier") if key == "shift" else ("more", "less"))
        )
        if abs(ratio - 1) < 0.03:
            return "as you predicted"
        if 1 / 1.5 < ratio < 1.5:
            return f"{100 * abs(ratio - 1):.0f}% {more if ratio > 1 else less}"
        return f"{number(max(ratio, 1 / ratio), 2)} times {more if ratio > 1 else less}"
