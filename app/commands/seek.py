"""`ridgepoint seek`: the batch, the rate or the fusion level at which a scenario meets a goal.

Modules of the simulator and of the reports are imported where the command runs: the help needs
none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.commands.option_types import SaveScenario
from app.commands.options import Question, Written, expanded
from simulator.errors import InputError

if TYPE_CHECKING:
    from app.answers.goals import Search

FORMAT, VERSION = "ridgepoint-seek", 1


@expanded
def seek(
    question: Question,
    written: Written,
    fits: Annotated[
        bool, typer.Option("--fits", help="Find the largest batch that fits in memory.")
    ] = False,
    out_of_overhead: Annotated[
        bool,
        typer.Option(
            "--out-of-overhead", help="Find the smallest batch that is not overhead-bound."
        ),
    ] = False,
    latency: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Find the largest batch whose step takes at most this: 20ms, 0.5s."
        ),
    ] = None,
    throughput: Annotated[
        str | None,
        typer.Option(
            metavar="RATE", help="Find the smallest batch that reaches this many samples/s."
        ),
    ] = None,
    fusion: Annotated[
        str | None,
        typer.Option(
            metavar="TIME|FACTORx",
            help="Find the lowest fusion level that reaches this time (5ms) or this speed-up over "
            "no fusion (1.5x).",
        ),
    ] = None,
    flip: Annotated[
        list[str] | None,
        typer.Option(
            metavar="AXIS",
            help="Find where the regime flips along bandwidth, tensor_peak, host_speed, batch …",
        ),
    ] = None,
    down: Annotated[bool, typer.Option("--down", help="Search --flip downwards.")] = False,
    save_scenario: SaveScenario = None,
) -> None:
    """Find the batch that meets a goal, or the rate that flips the regime."""
    from app import outputs, progress
    from app.answers.figures import title
    from app.answers.goals import run, searches_of
    from app.answers.subject import subject
    from simulator.scenario.scenario import predict

    written.check(save_scenario=save_scenario)
    scenario = question.scenario
    searches = searches_of(scenario, fits, out_of_overhead, latency, throughput, flip, down, fusion)
    if save_scenario and len(searches) != 1:
        raise InputError(
            f"--save-scenario with {len(searches)} goals: expected one, whose answer is saved; "
            "name one"
        )
    with progress.shown() as step:
        traced = subject(scenario, step)
        base = predict(scenario)
        for search in searches:
            run(search, step)
    if len(searches) == 1 and searches[0].sought is None:
        raise InputError(searches[0].reason)
    heading = title(base, traced)
    if written.json:
        from app.report.exports import json_text

        outputs.write("--json", written.json, json_text(document(searches, heading)))
    if written.csv:
        from app.report.exports import csv_text

        rows = [entry(search) for search in searches]
        outputs.write("--csv", written.csv, csv_text(list(rows[0]), rows))
    if written.png or written.svg:
        from app.charts.seek import seek_page
        from app.widgets.drawing import put

        put(written, lambda metrics: seek_page(searches, heading, base, metrics))
    if searches[0].sought:
        from app.commands.predict import write_scenario

        write_scenario(save_scenario, searches[0].sought.scenario)
    if written.printed and save_scenario != outputs.STDOUT:
        _show(searches, heading)


def entry(search: Search) -> dict[str, Any]:
    """A goal and its answer as a flat row."""
    result = search.sought
    p = result.prediction if result else None
    low, high = p.interval_s if p else (None, None)
    return {
        "goal": search.kind,
        "question": search.question,
        "axis": search.axis,
        "wanted": search.wanted,
        "value": result and result.value,
        "beyond": result and result.beyond,
        "sentence": result.sentence if result else None,
        "period_s": p and p.period_s,
        "low_s": low,
        "high_s": high,
        "latency_s": p and p.latency_s,
        "regime": p and p.regime,
        "memory_bytes": p and p.peak_memory_bytes + p.workspace_bytes,
        "fits": p and p.fits,
        "reason": search.reason or None,
        "retraced": search.retraced or None,
        "retraced_at": sorted(result.traced) if result else [],
    }


def document(searches: list[Search], heading: str) -> dict[str, Any]:
    """The answers as a JSON document, each with the command that predicts it."""
    from simulator.scenario.as_command import as_command

    rows: list[dict[str, Any]] = []
    for search in searches:
        applied = as_command(search.sought.scenario, "whatif") if search.sought else None
        rows.append({**entry(search), "command": applied})
    return {"format": FORMAT, "version": VERSION, "title": heading, "answers": rows}


def _show(searches: list[Search], heading: str) -> None:
    from rich.text import Text

    from app.answers.goals import shown_value
    from app.quantities import between, seconds
    from app.report.tables import numbers, regime_text, table, words
    from app.terminal import Terminal

    console = Terminal(highlight=False)
    width = min(console.width, 120)
    console.print()
    console.print(Text(heading, "bold"), width=width)
    console.print()
    shown = table()
    words(shown, "goal")
    numbers(shown, "answer", "step there", "80%")
    words(shown, "bound by")
    for search in searches:
        if search.sought is None:
            shown.add_row(search.question, Text("none", "yellow"), "", "", "")
            continue
        p = search.sought.prediction
        shown.add_row(
            search.question,
            Text(shown_value(search), "bold"),
            seconds(p.period_s),
            between(*p.interval_s, p.period_s),
            regime_text(p.regime),
        )
    console.print(shown, width=width)
    console.print()
    for search in searches:
        if search.sought:
            line = f"{search.question}: {search.sought.sentence}"
            if search.retraced:
                line += f"; {search.retraced}"
            console.print(Text(line, "dim"), width=width)
        else:
            line = Text(f"{search.question}: ").append(search.reason, "yellow")
            console.print(line, width=width)
    if any(search.sought for search in searches):
        console.print("every answer is verified by a prediction at that point", style="dim")
