"""`ridgepoint seek`: the batch, the rate or the fusion level at which a scenario meets a goal.

Modules of the simulator and of the reports are imported when the command runs: the help does not
need them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from app.commands.option_types import SaveScenario
from app.commands.options import Question, expanded
from app.commands.predict import write_scenario
from app.commands.written import Written
from simulator.errors import InputError

if TYPE_CHECKING:
    from app.drawing import Drawing, Metrics


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
            metavar="TIME", help="Find the largest batch whose step takes at most this time: 20ms."
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
    from app.answers.subject import subject
    from app.answers.sweeps.goals import run, searches_of
    from app.report.sweeps import seek as report
    from simulator.scenario.scenario import predict

    written.check(save_scenario=save_scenario)
    scenario = question.scenario
    searches = searches_of(scenario, fits, out_of_overhead, latency, throughput, flip, down, fusion)
    if save_scenario and len(searches) != 1:
        raise InputError(
            f"--save-scenario with {len(searches)} goals: expected one goal, whose answer is "
            "saved; name it"
        )
    with progress.shown() as step:
        traced = subject(scenario, step)
        base = predict(scenario)
        for search in searches:
            run(search, step)
    if len(searches) == 1 and searches[0].sought is None:
        raise InputError(searches[0].reason)
    heading = title(base, traced)

    def page(metrics: Metrics) -> Drawing:
        from app.charts.seek import seek_page  # imported only to draw a picture

        return seek_page(searches, heading, base, metrics)

    written.write(lambda: report.document(searches, heading), lambda: report.as_csv(searches), page)
    if searches[0].sought:
        write_scenario(save_scenario, searches[0].sought.scenario)
    if written.printed and save_scenario != outputs.STDOUT:
        report.show(searches, heading)
