"""`ridgepoint whatif`: before and after, with each change alone and all together.

Modules of the simulator and of the reports are imported where the command runs: the help needs
none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from app.commands.option_types import SaveScenario, Top
from app.commands.options import Question, Written, expanded
from simulator.errors import InputError

if TYPE_CHECKING:
    from app.answers.subject import Subject
    from simulator.analysis.compare import Waterfall
    from simulator.scenario.scenario import Scenario

FORMAT, VERSION = "ridgepoint-whatif", 1


@expanded
def whatif(
    question: Question, written: Written, save_scenario: SaveScenario = None, top: Top = 8
) -> None:
    """Apply what-ifs: before and after, each change alone and all together."""
    from app import outputs, progress
    from app.answers.subject import relabelled, subject
    from simulator.analysis.compare import waterfall

    written.check(save_scenario=save_scenario)
    before, after, idle = sides_of(question)
    with progress.shown() as step:
        subjects = subject(before, step), subject(after, step)
        fall = waterfall(before, after, progress.counted(step, "changes"))
    fall = relabelled(fall, before, after)
    if written.json:
        from app.report.exports import json_text

        outputs.write("--json", written.json, json_text(document(fall, subjects)))
    if written.csv:
        from app.report.exports import csv_text
        from app.report.sides import STEP_COLUMNS, step_row

        rows = [step_row(fall, i) for i in range(len(fall.steps))]
        outputs.write("--csv", written.csv, csv_text(STEP_COLUMNS, rows))
    if written.png or written.svg:
        from app.answers.figures import title
        from app.charts.waterfall.waterfall import waterfall_page
        from app.widgets.drawing import put

        heading, names = title(fall.a, subjects[0]), ("as asked", "changed")
        put(written, lambda metrics: waterfall_page(fall, heading, names, metrics))
    from app.commands.predict import write_scenario

    write_scenario(save_scenario, after)
    if written.printed and save_scenario != outputs.STDOUT:
        _show(fall, subjects, idle, top)


def sides_of(question: Question) -> tuple[Scenario, Scenario, tuple[str, ...]]:
    """Return the scenario before and after, and the changes that have no effect.

    If the command line has no what-ifs, those of the scenario file are the changes.
    """
    from app.commands.options import changed

    if question.changes:
        before, after, idle = question.base, question.base, list[str]()
        for text in question.changes:
            following = changed(after, (text,))
            if following == after:
                idle.append(text)
            after = following
        return before, after, tuple(idle)
    if question.base.whatifs:
        return question.base.asked, question.base, ()
    raise InputError(
        "no what-ifs: expected some after the network, such as +cuda_graph or +precision=fp16; "
        "`ridgepoint whatifs` lists them"
    )


def document(fall: Waterfall, subjects: tuple[Subject, Subject]) -> dict[str, Any]:
    """The result as a JSON document."""
    from app.report.exports import summary
    from app.report.sides import fall_document
    from app.report.trade import trade_document

    return {
        "format": FORMAT,
        "version": VERSION,
        "before": summary(fall.a, subjects[0]),
        "after": summary(fall.b, subjects[1]),
        **fall_document(fall),
        "trade": trade_document(fall),
    }


def _show(
    fall: Waterfall, subjects: tuple[Subject, Subject], idle: tuple[str, ...], top: int
) -> None:
    from rich.console import Group
    from rich.text import Text

    from app.answers.figures import notes, title
    from app.quantities import seconds
    from app.report.compared import ratio
    from app.report.render import note_list
    from app.report.sides import (
        BETTER,
        WORSE,
        flipped_table,
        moved_table,
        sides,
        steps_table,
    )
    from app.report.trade import trade_text
    from app.terminal import Terminal

    console = Terminal(highlight=False)
    width = min(console.width, 120)
    verdict = Text(f"{title(fall.a, subjects[0])}: ", "bold")
    verdict.append(f"{seconds(fall.a.period_s)} → {seconds(fall.b.period_s)} a step, ")
    speed_up = ratio(fall.a, fall.b)
    verdict.append(speed_up, WORSE if "slower" in speed_up else BETTER)
    console.print()
    console.print(verdict, width=width)
    console.print()
    console.print(Group(steps_table(fall, "as asked", "all together"), Text()), width=width)
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
