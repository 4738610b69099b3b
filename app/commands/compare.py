"""`ridgepoint compare`: two to four scenarios side by side, and what leads from A to each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.commands.options import (
    Batch,
    DataSizes,
    Driven,
    Gpu,
    Host,
    OptimizerName,
    Options,
    Precision,
    Seq,
    Sizes,
    Top,
    Train,
    With,
    Written,
    changed,
    expanded,
    options,
    whatif_words,
)
from simulator.errors import InputError

if TYPE_CHECKING:
    from app.answers.subject import Subject
    from simulator.analysis.compare import Comparison
    from simulator.scenario.scenario import Scenario

FORMAT, VERSION = "ridgepoint-comparison", 1

Sides = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SCENARIO|+WHAT-IF",
        help="Scenario files (*.toml) or networks, each with the what-ifs that follow it; options "
        "count for all of them.",
    ),
]


@dataclass(frozen=True)
class NamedScenario:
    """One scenario to compare, with its name."""

    name: str
    scenario: Scenario


@expanded
def compare(
    written: Written,
    scenarios: Sides = None,
    variant: With = None,
    gpu: Gpu = None,
    host: Host = None,
    batch: Batch = None,
    seq: Seq = None,
    dtype: Precision = None,
    train: Train = None,
    optimizer: OptimizerName = None,
    mode: Driven = None,
    size: Sizes = None,
    data_size: DataSizes = None,
    top: Top = 8,
) -> None:
    """Up to four scenarios: what each change does, what moved, which regimes flipped."""
    from app import outputs, progress
    from app.answers.subject import relabelled, subject
    from simulator.analysis.compare import compare as run

    written.check()
    given = options(gpu, host, batch, seq, dtype, train, optimizer, mode, size, data_size)
    sides = sides_of(scenarios or [], variant or [], given)
    with progress.shown() as step:
        subjects = [subject(side.scenario, step) for side in sides]
        found = run([side.scenario for side in sides], progress.counted(step, "scenarios"))
    asked = [side.scenario for side in sides]
    falls = tuple(relabelled(fall, *asked) for fall in found.waterfalls)
    found = replace(found, waterfalls=falls)
    if written.json:
        from app.report.exports import json_text

        outputs.write("--json", written.json, json_text(document(found, sides, subjects)))
    if written.csv:
        from app.report.exports import csv_text
        from app.report.sides import STEP_COLUMNS

        columns = ("to", *STEP_COLUMNS)
        outputs.write("--csv", written.csv, csv_text(columns, rows_of(found)))
    if written.png or written.svg:
        from app.plots.compare import ComparePicture
        from app.widgets.drawing import draw

        names = tuple(side.name for side in sides)
        draw(
            written.png,
            written.svg,
            written.theme,
            lambda theme: ComparePicture(theme, found, names),
        )
    if written.printed:
        _show(found, sides, subjects, top)


def sides_of(words: list[str], variants: list[str], given: Options) -> tuple[NamedScenario, ...]:
    """The scenarios that a command line names. InputError for fewer than two or over four."""
    from simulator.analysis.compare import MOST

    found: list[NamedScenario] = []
    for word in words:
        if not word.startswith("+"):
            from_file = word.lower().endswith(".toml")
            found.append(NamedScenario(word, given.applied(word) if from_file else given.of(word)))
        elif not found:
            raise InputError(f"{word} stands first: expected a scenario before it; name one")
        else:
            last = found.pop()
            found.append(NamedScenario(f"{last.name} {word}", changed(last.scenario, (word,))))
    if variants and not found:
        raise InputError("--with without a scenario: expected one to vary; name a network or file")
    for text in variants:
        words_of = whatif_words(text)
        found.append(NamedScenario(" ".join(words_of), changed(found[0].scenario, words_of)))
    if not 2 <= len(found) <= MOST:
        count = f"{len(found)} scenario{'' if len(found) == 1 else 's'}"
        raise InputError(
            f'{count}: expected 2 to {MOST}: files, networks, or --with "+cuda_graph"; '
            f"{'add' if len(found) < 2 else 'remove'} some"
        )
    return tuple(found)


def document(
    found: Comparison, sides: tuple[NamedScenario, ...], subjects: list[Subject]
) -> dict[str, Any]:
    """The comparison as data; waterfalls lead from A to B, C and D."""
    from app.report.exports import summary
    from app.report.sides import LETTERS, fall_document

    return {
        "format": FORMAT,
        "version": VERSION,
        "scenarios": [
            {"letter": letter, "name": side.name, **summary(p, subject), "retraced": why or None}
            for letter, side, p, subject, why in zip(
                LETTERS, sides, found.predictions, subjects, found.retraced, strict=False
            )
        ],
        "waterfalls": [
            {"from": "A", "to": letter, **fall_document(fall)}
            for letter, fall in zip(LETTERS[1:], found.waterfalls, strict=False)
        ],
    }


def rows_of(found: Comparison) -> list[dict[str, Any]]:
    """A row for each step of each waterfall."""
    from app.report.sides import LETTERS, step_row

    return [
        {"to": letter, **step_row(fall, i)}
        for letter, fall in zip(LETTERS[1:], found.waterfalls, strict=False)
        for i in range(len(fall.steps))
    ]


def retraced(found: Comparison, letters: str) -> str:
    """Which scenarios took a trace of their own, where a family of traces answers others."""
    why = {letter: reason for letter, reason in zip(letters, found.retraced, strict=True) if reason}
    if not why or len(why) == len(letters):
        return ""
    return f"{' and '.join(why)} retraced: {'; '.join(dict.fromkeys(why.values()))}"


def _show(
    found: Comparison, sides: tuple[NamedScenario, ...], subjects: list[Subject], top: int
) -> None:
    from rich.console import Group
    from rich.text import Text

    from app.answers.figures import title
    from app.report import sides as shown
    from app.report.compared import ratio
    from app.terminal import Terminal

    console = Terminal(highlight=False)
    width = min(console.width, 120)
    letters = shown.LETTERS[: len(sides)]
    console.print()
    for letter, side, p, subject in zip(letters, sides, found.predictions, subjects, strict=True):
        line = Text(f"{letter}  ", "bold").append(f"{side.name}: {title(p, subject)}", "default")
        console.print(line, width=width)
    console.print()
    two = len(sides) == 2
    console.print(Group(shown.sides(tuple(letters), found.predictions, two), Text()), width=width)
    if line := retraced(found, letters):
        console.print(Text(line, "dim"), width=width)
        console.print()
    for letter, fall in zip(letters[1:], found.waterfalls, strict=True):
        names = ("A", letter)
        console.print(Text(f"From A to {letter}: {ratio(fall.a, fall.b)}", "bold"))
        if not fall.steps:
            console.print(Text("they ask the same", "dim"))
            continue
        console.print(Group(shown.steps_table(fall, "A", letter), Text()), width=width)
        if fall.flipped:
            console.print(Group(shown.flipped_table(fall.flipped, names, top), Text()))
        if fall.moved:
            console.print(Group(shown.moved_table(fall.moved, names, top), Text()), width=width)
