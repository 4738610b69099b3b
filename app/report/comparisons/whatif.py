"""A scenario before and after its what-ifs: tables on the terminal, a document, rows."""

from __future__ import annotations

from typing import Any

from rich.console import Group
from rich.text import Text

from app.answers.figures import notes, title
from app.answers.subject import Subject
from app.quantities import seconds
from app.report.comparisons.ratios import ratio
from app.report.comparisons.sides import (
    BETTER,
    STEP_COLUMNS,
    WORSE,
    fall_document,
    flipped_table,
    moved_table,
    sides,
    step_row,
    steps_table,
)
from app.report.comparisons.trade import trade_document, trade_text
from app.report.exports import csv_text, summary
from app.report.render import note_list
from app.terminal import Terminal
from simulator.analysis.compare import Waterfall

FORMAT, VERSION = "ridgepoint-whatif", 1


def document(fall: Waterfall, subjects: tuple[Subject, Subject]) -> dict[str, Any]:
    """The result as a JSON document."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "before": summary(fall.a, subjects[0]),
        "after": summary(fall.b, subjects[1]),
        **fall_document(fall),
        "trade": trade_document(fall),
    }


def as_csv(fall: Waterfall) -> str:
    """One row per change."""
    return csv_text(STEP_COLUMNS, [step_row(fall, i) for i in range(len(fall.steps))])


def show(
    fall: Waterfall, subjects: tuple[Subject, Subject], idle: tuple[str, ...], top: int
) -> None:
    """Print the changes, each alone and all together; `idle` are the changes without effect."""
    console = Terminal(highlight=False)
    width = min(console.width, 120)
    verdict = Text(f"{title(fall.a, subjects[0])}: ", "bold")
    verdict.append(f"{seconds(fall.a.period_s)} → {seconds(fall.b.period_s)} a step, ")
    speed_up = ratio(fall.a, fall.b)
    verdict.append(speed_up, WORSE if "slower" in speed_up else BETTER)
    console.print()
    console.print(verdict, width=width)
    console.print()
    console.print(Group(steps_table(fall, "baseline", "all together"), Text()), width=width)
    for text in idle:
        console.print(Text(f"{text} has no effect here", "yellow"), width=width)
    console.print(Group(sides(("before", "after"), (fall.a, fall.b), True), Text()), width=width)
    if text := trade_text(fall):
        console.print(Group(Text(text), Text()), width=width)
    names = ("before", "after")
    if fall.flipped:
        console.print(Group(flipped_table(fall.flipped, names, top), Text()), width=width)
    if fall.moved:
        console.print(Group(moved_table(fall.moved, names, top), Text()), width=width)
    known = set(notes(fall.a))
    if new := [note for note in notes(fall.b) if note not in known]:
        console.print(note_list("Notes on the changes", new, "bold"), width=width)
