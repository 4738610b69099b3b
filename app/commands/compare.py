"""`ridgepoint compare`: two to four scenarios side by side, and the changes from A to each.

Modules of the simulator and of the reports are imported where the command runs: the help needs
none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.commands.option_types import (
    Batch,
    DataSizes,
    Gpu,
    Host,
    HostMode,
    OptimizerName,
    Precision,
    Seq,
    Sizes,
    StatedCosts,
    Top,
    Train,
    With,
)
from app.commands.options import Options, Written, changed, expanded, options, whatif_words
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
        help="Scenario files (*.toml) or networks, each followed by its what-ifs; options apply to "
        "all of them.",
    ),
]


@dataclass(frozen=True)
class NamedScenario:
    """A scenario with the name under which it is compared."""

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
    mode: HostMode = None,
    size: Sizes = None,
    data_size: DataSizes = None,
    op: StatedCosts = None,
    top: Top = 8,
) -> None:
    """Compare up to four scenarios: each change's effect, what moved, which regimes flipped."""
    from app import outputs, progress
    from app.answers.subject import relabelled, subject
    from simulator.analysis.compare import compare as run

    written.check()
    fields = options(gpu, host, batch, seq, dtype, train, optimizer, mode, size, data_size, op)
    sides = sides_of(scenarios or [], variant or [], fields)
    with progress.shown() as step:
        subjects = [subject(side.scenario, step) for side in sides]
        comparison = run([side.scenario for side in sides], progress.counted(step, "scenarios"))
    compared = [side.scenario for side in sides]
    falls = tuple(relabelled(fall, *compared) for fall in comparison.waterfalls)
    comparison = replace(comparison, waterfalls=falls)
    if written.json:
        from app.report.exports import json_text

        outputs.write("--json", written.json, json_text(document(comparison, sides, subjects)))
    if written.csv:
        from app.report.exports import csv_text
        from app.report.sides import STEP_COLUMNS

        columns = ("to", *STEP_COLUMNS)
        outputs.write("--csv", written.csv, csv_text(columns, rows_of(comparison)))
    if written.png or written.svg:
        from app.charts.waterfall.waterfall import comparison_page
        from app.widgets.drawing import put

        names = tuple(side.name for side in sides)
        put(written, lambda metrics: comparison_page(comparison, names, metrics))
    if written.printed:
        _show(comparison, sides, subjects, top)


def sides_of(words: list[str], variants: list[str], fields: Options) -> tuple[NamedScenario, ...]:
    """Collect the scenarios of a command line. Raises InputError unless there are 2 to 4."""
    from simulator.analysis.compare import MOST

    sides: list[NamedScenario] = []
    for word in words:
        if not word.startswith("+"):
            from_file = word.lower().endswith(".toml")
            sides.append(
                NamedScenario(word, fields.override(word) if from_file else fields.scenario(word))
            )
        elif not sides:
            raise InputError(
                f"{word} comes first: expected a network or a scenario file before it; add one"
            )
        else:
            last = sides.pop()
            sides.append(NamedScenario(f"{last.name} {word}", changed(last.scenario, (word,))))
    if variants and not sides:
        raise InputError(
            "--with without a scenario: expected one to vary; name a network or a file"
        )
    for text in variants:
        words_of = whatif_words(text)
        sides.append(NamedScenario(" ".join(words_of), changed(sides[0].scenario, words_of)))
    if not 2 <= len(sides) <= MOST:
        count = f"{len(sides)} scenario{'' if len(sides) == 1 else 's'}"
        raise InputError(
            f'{count}: expected 2 to {MOST}: files, networks, or --with "+cuda_graph"; '
            f"{'add' if len(sides) < 2 else 'remove'} some"
        )
    return tuple(sides)


def document(
    comparison: Comparison, sides: tuple[NamedScenario, ...], subjects: list[Subject]
) -> dict[str, Any]:
    """The comparison as a JSON document; waterfalls lead from A to B, C and D."""
    from app.report.exports import summary
    from app.report.sides import LETTERS, fall_document

    return {
        "format": FORMAT,
        "version": VERSION,
        "scenarios": [
            {"letter": letter, "name": side.name, **summary(p, subject), "retraced": why or None}
            for letter, side, p, subject, why in zip(
                LETTERS, sides, comparison.predictions, subjects, comparison.retraced, strict=False
            )
        ],
        "waterfalls": [
            {"from": "A", "to": letter, **fall_document(fall)}
            for letter, fall in zip(LETTERS[1:], comparison.waterfalls, strict=False)
        ],
    }


def rows_of(comparison: Comparison) -> list[dict[str, Any]]:
    """One row per step of each waterfall."""
    from app.report.sides import LETTERS, step_row

    return [
        {"to": letter, **step_row(fall, i)}
        for letter, fall in zip(LETTERS[1:], comparison.waterfalls, strict=False)
        for i in range(len(fall.steps))
    ]


def retraced(comparison: Comparison, letters: str) -> str:
    """Which scenarios were traced separately because no family of traces covers them."""
    why = {
        letter: reason
        for letter, reason in zip(letters, comparison.retraced, strict=True)
        if reason
    }
    if not why or len(why) == len(letters):
        return ""
    return f"{' and '.join(why)} retraced: {'; '.join(dict.fromkeys(why.values()))}"


def _show(
    comparison: Comparison, sides: tuple[NamedScenario, ...], subjects: list[Subject], top: int
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
    for letter, side, p, subject in zip(
        letters, sides, comparison.predictions, subjects, strict=True
    ):
        line = Text(f"{letter}  ", "bold").append(f"{side.name}: {title(p, subject)}", "default")
        console.print(line, width=width)
    console.print()
    two = len(sides) == 2
    console.print(
        Group(shown.sides(tuple(letters), comparison.predictions, two), Text()), width=width
    )
    if line := retraced(comparison, letters):
        console.print(Text(line, "dim"), width=width)
        console.print()
    for letter, fall in zip(letters[1:], comparison.waterfalls, strict=True):
        names = ("A", letter)
        console.print(Text(f"From A to {letter}: {ratio(fall.a, fall.b)}", "bold"))
        if not fall.steps:
            console.print(Text("the scenarios are identical", "dim"))
            continue
        console.print(Group(shown.steps_table(fall, "A", letter), Text()), width=width)
        if fall.flipped:
            console.print(Group(shown.flipped_table(fall.flipped, names, top), Text()))
        if fall.moved:
            console.print(Group(shown.moved_table(fall.moved, names, top), Text()), width=width)
