"""`ridgepoint sweep`: time, throughput and shares along one axis, and where the regime shifts.

Modules of the simulator and of the reports are imported where the command runs: the help needs
none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from app.commands.option_types import With
from app.commands.options import Question, changed, expanded, whatif_words
from app.commands.written import Written
from simulator.errors import InputError

if TYPE_CHECKING:
    from app.drawing import Drawing, Metrics

MOST_VARIANTS = 3

Over = Annotated[
    str,
    typer.Option(
        metavar="AXIS[=VALUES]",
        help="The axis: batch, batch=1:512, seq=128:4096:6, gpu=h100,h200, any what-if or size.",
    ),
]


@expanded
def sweep(question: Question, written: Written, over: Over = "batch", variant: With = None) -> None:
    """Sweep one axis: time, throughput and shares along batch, sequence length or any other."""
    from app import progress
    from app.answers.axes import line
    from app.answers.subject import heading_of, subject
    from app.answers.swept import swept
    from app.report import sweep as report

    written.check()
    scenario = question.scenario
    variants = {"as asked": scenario}
    for text in variant or []:
        variants[" ".join(whatif_words(text))] = changed(scenario, whatif_words(text))
    if len(variants) > 1 + MOST_VARIANTS:
        raise InputError(f"{len(variants) - 1} variants: expected {MOST_VARIANTS} --with at most")
    with progress.shown() as step:
        axis = line(scenario, over)
        heading = heading_of(subject(scenario, step), scenario, (axis.name,))
        result = swept(variants, axis, step)

    def page(metrics: Metrics) -> Drawing:
        from app.charts.sweep.page import sweep_page  # only where a picture is drawn

        return sweep_page(result, heading, metrics)

    written.write(lambda: report.document(result, heading), lambda: report.as_csv(result), page)
    if written.printed:
        report.show(result, heading)
