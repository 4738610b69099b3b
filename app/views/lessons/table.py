"""The table of an attempt: its guesses beside the simulated figures."""

from __future__ import annotations

from app.lessons.outcome import Outcome
from app.scenes.lessons.attempt import Attempt, Key
from app.views.lessons.labels import spanned


def attempt_rows(attempt: Attempt | None, outcome: Outcome | None) -> list[list[str]]:
    """The guesses, beside the answers once they are simulated; empty if there is no attempt."""
    if attempt is None:
        return []
    rows = [["What", "Predicted", "Simulated", "80% interval", "The answer is"]]
    for key in attempt.keys:
        row = [attempt.named(key), attempt.written(key), "", "", ""]
        rows.append(row if outcome is None else row[:2] + _compared(attempt, outcome, key))
    if outcome is None:
        return rows
    for side in outcome.lesson.sides:
        if side.letter not in attempt.keys:
            p = outcome.sides[side.letter]
            bounds = _bounds(outcome, outcome.word.interval(p))
            rows.append([side.label, "", outcome.word.text(outcome.word.of(p)), bounds, ""])
    if outcome.lesson.choose:
        words = outcome.filled(outcome.lesson.choice) or "What limits the step?"
        rows.append([words, attempt.choice, outcome.right, "", ""])
    rows.append([outcome.filled(outcome.lesson.explain), "", "", "", ""])
    return rows


def _compared(attempt: Attempt, outcome: Outcome, key: Key) -> list[str]:
    """The answer to a guess, its interval, and the difference from the guess."""
    guess = attempt.relative_to_guess(outcome, key)
    if key == "shift":
        return [outcome.filled("{shift}"), "", guess]
    answer = attempt.answer(outcome, key) or 0.0
    return [outcome.word.text(answer), _bounds(outcome, outcome.interval(key)), guess]


def _bounds(outcome: Outcome, bounds: tuple[float, float] | None) -> str:
    return spanned(outcome.word, bounds) if bounds else ""
