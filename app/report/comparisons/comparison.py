"""Two to four scenarios side by side: tables on the terminal, a document, rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Group
from rich.text import Text

from app.answers.figures import title
from app.answers.subject import Subject
from app.report.comparisons.ratios import ratio
from app.report.comparisons.sides import (
    LETTERS,
    STEP_COLUMNS,
    fall_document,
    flipped_table,
    moved_table,
    sides,
    step_row,
    steps_table,
)
from app.report.exports import csv_text, summary
from app.terminal import Terminal
from simulator.analysis.compare import Comparison

FORMAT, VERSION = "ridgepoint-comparison", 1


def document(
    comparison: Comparison, names: Sequence[str], subjects: Sequence[Subject]
) -> dict[str, Any]:
    """The comparison as a JSON document; waterfalls lead from A to B, C and D."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "scenarios": [
            {"letter": letter, "name": name, **summary(p, subject), "retraced": why or None}
            for letter, name, p, subject, why in zip(
                LETTERS, names, comparison.predictions, subjects, comparison.retraced, strict=False
            )
        ],
        "waterfalls": [
            {"from": "A", "to": letter, **fall_document(fall)}
            for letter, fall in zip(LETTERS[1:], comparison.waterfalls, strict=False)
        ],
    }


def as_csv(comparison: Comparison) -> str:
    """One row per step of each waterfall."""
    rows = [
        {"to": letter, **step_row(fall, i)}
        for letter, fall in zip(LETTERS[1:], comparison.waterfalls, strict=False)
        for i in range(len(fall.steps))
    ]
    return csv_text(("to", *STEP_COLUMNS), rows)


def retraced(comparison: Comparison, letters: str) -> str:
    """The scenarios that were traced separately because no family of traces covers them, as
    text."""
    why = {
        letter: reason
        for letter, reason in zip(letters, comparison.retraced, strict=True)
        if reason
    }
    if not why or len(why) == len(letters):
        return ""
    return f"{' and '.join(why)} retraced: {'; '.join(dict.fromkeys(why.values()))}"


def show(
    comparison: Comparison, names: Sequence[str], subjects: Sequence[Subject], top: int
) -> None:
    """Print the scenarios side by side, then the changes from the first to each."""
    console = Terminal(highlight=False)
    width = min(console.width, 120)
    letters = LETTERS[: len(names)]
    console.print()
    for letter, name, p, subject in zip(
        letters, names, comparison.predictions, subjects, strict=True
    ):
        line = Text(f"{letter}  ", "bold").append(f"{name}: {title(p, subject)}", "default")
        console.print(line, width=width)
    console.print()
    two = len(names) == 2
    console.print(Group(sides(tuple(letters), comparison.predictions, two), Text()), width=width)
    if line := retraced(comparison, letters):
        console.print(Text(line, "dim"), width=width)
        console.print()
    for letter, fall in zip(letters[1:], comparison.waterfalls, strict=True):
        both = ("A", letter)
        console.print(Text(f"From A to {letter}: {ratio(fall.a, fall.b)}", "bold"))
        if not fall.steps:
            console.print(Text("the scenarios are identical", "dim"))
            continue
        console.print(Group(steps_table(fall, "A", letter), Text()), width=width)
        if fall.flipped:
            console.print(Group(flipped_table(fall.flipped, both, top), Text()))
        if fall.moved:
            console.print(Group(moved_table(fall.moved, both, top), Text()), width=width)
