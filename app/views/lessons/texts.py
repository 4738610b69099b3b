"""Sentences of a lesson's page that depend on the attempt."""

from __future__ import annotations

from app.lessons.outcome import Outcome
from app.scenes.lessons.attempt import Attempt
from app.views.lessons.labels import spanned


def hint(attempt: Attempt | None) -> str:
    """The instruction for predicting, or an empty string if there are no markers to drag."""
    if attempt is None or attempt.locked or not attempt.keys:
        return ""
    if attempt.keys == ("shift",):
        return "Drag the line to where you expect the change."
    return (
        "Drag the markers to draw your curve."
        if attempt.lesson.line
        else (
            "Drag the markers to the values you expect."
            if len(attempt.keys) > 1
            else "Drag the marker to the value you expect."
        )
    )


def verdict(attempt: Attempt | None, outcome: Outcome | None) -> str:
    """Return a sentence with the guess, the answer and the answer's interval."""
    key = attempt.farthest if attempt else None
    if attempt is None or not attempt.locked:
        return ""
    if outcome is None or key is None:
        return "Prediction locked"
    prefix = f"{attempt.named(key)}: you said" if len(attempt.keys) > 1 else "You said"
    if key == "shift":
        figure = outcome.filled("{shift}")
    else:
        word, bounds = outcome.word, outcome.interval(key)
        figure = word.text(attempt.answer(outcome, key) or 0.0)
        figure += f" ({spanned(word, bounds)})" if bounds else ""
    relative = attempt.relative_to_guess(outcome, key)
    return f"{prefix} {attempt.written(key)}. Simulated: {figure}, {relative}"


def figure_words(attempt: Attempt) -> str:
    """Return the figure of the vertical axis, and the logarithmic axes."""
    word, lesson = attempt.known.word, attempt.lesson
    scale = "" if word.share else ", both axes logarithmic" if lesson.line else ", logarithmic"
    says = word.says if word.says[1:2].isupper() else f"{word.says[:1].lower()}{word.says[1:]}"
    return says + scale
