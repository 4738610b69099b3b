"""The outcome of a lesson: its sides predicted, its axis swept, its texts filled in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from app.answers.cluster.choice import ClusterQuestion
from app.lessons.cluster_words import Cancelled, Figures, OnCluster, predicted_here
from app.lessons.lesson import Lesson, LessonAxis, LessonSide
from app.lessons.placeholders import PLACE, SHIFT, place
from app.lessons.words import NAMES, WORDS, Word
from app.quantities import faster, number, plain, trimmed
from simulator.analysis.regimes import next_shift
from simulator.analysis.sweep import axis, sweep
from simulator.errors import InputError
from simulator.parallel.prediction import PARALLEL_REGIMES, ParallelRegime
from simulator.prediction import REGIMES, Regime
from simulator.scenario.scenario import Scenario, predict

Floats = NDArray[np.float64]
_SWEPT = {
    "period": "period_s",
    "throughput": "samples_per_s",
    "host": "host_s",
    "gpu_busy": "gpu_busy_s",
    "compute": "compute",
    "bytes_share": "memory",
    "overhead": "overhead",
}
"""The column of a sweep that contains the figure, by word. Other words need a full prediction at
each value."""


@dataclass(frozen=True)
class RegimeChange:
    """A regime change: the regime is `before` up to `last`, and `after` at `first` and beyond."""

    last: float
    first: float
    before: Regime
    after: Regime

    @property
    def at(self) -> float:
        """The geometric mean of `last` and `first`."""
        return float(np.sqrt(self.last * self.first))

    @property
    def exact(self) -> bool:
        """Whether `last` and `first` are adjacent whole numbers."""
        return self.first - self.last <= 1


@dataclass(frozen=True)
class Curve:
    """The figure that a word stands for, along an axis, one row per value of the axis; `low` and
    `high` are its 80% interval."""

    values: Floats
    figures: Floats
    low: Floats
    high: Floats
    regimes: tuple[Regime, ...]


@dataclass(frozen=True)
class Outcome:
    """The predicted sides by letter, and the curve along the axis if there is one."""

    lesson: Lesson
    sides: Mapping[str, Figures]
    curve: Curve | None = None
    change: RegimeChange | None = None

    @property
    def word(self) -> Word:
        """The word whose figure is drawn: the guessed word, FLOP/s if a shift is guessed, else the
        time."""
        return drawn(self.lesson)

    @property
    def whole(self) -> bool:
        """Whether everything is predicted, not only the first side."""
        return len(self.sides) == len(self.lesson.sides) and (
            self.curve is not None or self.lesson.line is None
        )

    @property
    def right(self) -> str:
        """The right choice: a regime, or the letter of the fastest side."""
        if self.lesson.choose == "fastest":
            return min(self.sides, key=lambda letter: self.sides[letter].period_s)
        return self.sides[self.lesson.chosen_of].regime

    def figure(self, letter: str) -> float:
        """The drawn figure of a side."""
        return self.word.of(self.sides[letter])

    def at(self, value: int) -> float:
        """The drawn figure at a value of the axis."""
        assert self.curve is not None
        return float(self.curve.figures[int(np.flatnonzero(self.curve.values == value)[0])])

    def interval(self, place: int | str) -> tuple[float, float] | None:
        """The 80% interval of the drawn figure, at a value of the axis or of a side; None if the
        figure has no interval."""
        if isinstance(place, str):
            return self.word.interval(self.sides[place])
        assert self.curve is not None
        row = int(np.flatnonzero(self.curve.values == place)[0])
        low, high = float(self.curve.low[row]), float(self.curve.high[row])
        return (low, high) if low < high else None

    def regime(self, name: str) -> ParallelRegime | None:
        """A card's regime: `name` itself, or the regime of the side with this letter; else None."""
        if name in self.sides:
            return self.sides[name].regime
        return next((regime for regime in PARALLEL_REGIMES if regime == name), None)

    def filled(self, text: str) -> str:
        """Fill in the placeholders of a text; figures not predicted yet become a dash."""
        return PLACE.sub(lambda match: self._written(match[1]), text)

    def _written(self, written: str) -> str:
        placeholder = place(written)
        if placeholder is None:
            return written
        if placeholder.word in SHIFT:
            return self._of_change(placeholder.word)
        p, first = self.sides.get(placeholder.side), self.sides.get("a")
        if p is None or first is None:
            return "–"
        if placeholder.word in NAMES:
            return NAMES[placeholder.word](p)
        word = WORDS[placeholder.word]
        if placeholder.compared == "faster":
            return faster(word.of(first), word.of(p))
        if placeholder.compared == "times":
            before = word.of(first)
            return trimmed(number(word.of(p) / before)) if before else "–"
        return word.text(word.of(p))

    def _of_change(self, word: str) -> str:
        change = self.change
        if change is None:
            return "no value" if word == "shift" else "–"
        if word == "shift":
            if change.exact:
                return plain(change.last)
            return f"{plain(change.last)} to {plain(change.first)}"
        return f"{change.before if word == 'shift_before' else change.after}-bound"


def drawn(lesson: Lesson) -> Word:
    """The word whose figure a lesson's picture draws."""
    usual = "achieved" if lesson.guess == "shift" else "period"
    return WORDS.get(lesson.guess, WORDS[usual])


def first_outcome(
    lesson: Lesson, cancelled: Cancelled = lambda: False, on_cluster: OnCluster = predicted_here
) -> Outcome:
    """Predict the first side, which the question needs. Raises UntracedError if untraced."""
    return Outcome(lesson, {"a": _figures(lesson.sides[0], cancelled, on_cluster)})


def _figures(side: LessonSide, cancelled: Cancelled, on_cluster: OnCluster) -> Figures:
    if side.cluster is None:
        return predict(side.scenario)
    return on_cluster(ClusterQuestion(side.scenario, side.cluster), cancelled)


def compute_outcome(
    lesson: Lesson, cancelled: Cancelled = lambda: False, on_cluster: OnCluster = predicted_here
) -> Outcome | None:
    """Predict everything; None if cancelled."""
    sides: dict[str, Figures] = {}
    for side in lesson.sides:
        if cancelled():
            return None
        sides[side.letter] = _figures(side, cancelled, on_cluster)
    if lesson.line is None:
        return Outcome(lesson, sides)
    curve = _curve(lesson.sides[0].scenario, lesson.line, drawn(lesson), cancelled)
    if curve is None:
        return None
    return Outcome(lesson, sides, curve, _change(lesson.sides[0].scenario, lesson.line, curve))


def _curve(scenario: Scenario, line: LessonAxis, word: Word, cancelled: Cancelled) -> Curve | None:
    values = np.array(line.values, np.float64)
    if word.name in _SWEPT:
        swept = sweep(scenario, {line.name: line.values})
        if swept.refused:
            raise InputError(next(iter(swept.refused.values())))
        figures, c = swept.columns[_SWEPT[word.name]], swept.columns
        low, high = figures, figures
        if word.follows:
            ends = [c[name] / c["period_s"] for name in ("low_s", "high_s")]
            bounds = [figures * e if word.follows > 0 else figures / e for e in ends]
            low, high = np.minimum(*bounds), np.maximum(*bounds)
        return Curve(values, figures, low, high, tuple(REGIMES[int(n)] for n in c["regime"]))
    rows: list[tuple[float, float, float]] = []
    bound: list[Regime] = []
    along = axis(scenario, line.name)
    for value in line.values:
        if cancelled():
            return None
        p = predict(along.at(scenario, value))
        figure = word.of(p)
        rows.append((figure, *(word.interval(p) or (figure, figure))))
        bound.append(p.regime)
    figures, low, high = np.array(rows).T
    return Curve(values, figures, low, high, tuple(bound))


def _change(scenario: Scenario, line: LessonAxis, curve: Curve) -> RegimeChange | None:
    """The first change of regime along the axis: exact along batch and sequence, where families of
    traces cover every value; along other axes between two of the lesson's values."""
    pairs = zip(pairwise(curve.values.tolist()), pairwise(curve.regimes), strict=True)
    for (last, first), (before, after) in pairs:
        if before == after:
            continue
        if line.name in ("batch", "seq"):
            shift = next_shift(scenario, line.name, start=last, limit=first)
            if shift.first is not None and shift.after is not None:
                return RegimeChange(shift.last, shift.first, shift.before, shift.after)
        return RegimeChange(last, first, before, after)
    return None
