"""`ridgepoint map`: the regime over two axes, as a table, arrays and a picture.

Modules of the simulator and of the reports are imported when the command runs: the help does not
need them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from app.commands.options import Question, expanded
from app.commands.written import Written

if TYPE_CHECKING:
    from app.drawing import Drawing, Metrics

_AXIS = "An axis: batch, seq=16:512, bandwidth=0.5:4, gpu=h100,h200, any what-if or any size."


@expanded
def regime_map(
    question: Question,
    written: Written,
    x: Annotated[str, typer.Option(metavar="AXIS[=VALUES]", help=_AXIS)] = "batch",
    y: Annotated[
        str | None,
        typer.Option(metavar="AXIS[=VALUES]", help=_AXIS, show_default="seq, else host_speed"),
    ] = None,
) -> None:
    """Map the regime over two axes, with the boundaries between regimes."""
    from app import progress
    from app.answers.subject import heading_of, subject
    from app.answers.sweeps.axes import line
    from app.answers.sweeps.regime_map import mapped_over
    from app.report.sweeps import regime_map as report

    written.check()
    scenario = question.scenario
    with progress.shown() as step:
        traced = subject(scenario, step)
        axes = line(scenario, x), line(scenario, y or _usual(traced.seq, x))
        total = len(axes[0].values) * len(axes[1].values)
        mapped = mapped_over(
            scenario, *axes, lambda done: step(f"predicting {done:,} of {total:,} points")
        )
        heading = heading_of(traced, scenario, (axes[0].name, axes[1].name))

    def page(metrics: Metrics) -> Drawing:
        from app.charts.regime_map.regime_map import (
            regime_map_page,
        )  # imported only to draw a picture

        return regime_map_page(mapped, heading, metrics)

    written.write(lambda: report.document(mapped, heading), lambda: report.as_csv(mapped), page)
    if written.printed:
        report.show(mapped, heading)


def _usual(seq: int | None, x: str) -> str:
    name = x.partition("=")[0]
    choices = ("seq", "batch") if seq else ("host_speed", "batch")
    return next(choice for choice in choices if choice != name)
