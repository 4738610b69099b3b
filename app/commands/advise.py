"""`ridgepoint advise`: every what-if that applies, ranked by what it saves end to end.

Modules of the simulator and of the reports are imported when the command runs: the help does not
need them."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from app.commands.option_types import Top
from app.commands.options import Question, expanded
from app.commands.written import Written
from simulator.errors import InputError

if TYPE_CHECKING:
    from app.drawing import Drawing, Metrics
    from simulator.scenario.scenario import Scenario


class By(StrEnum):
    """The quantity to save."""

    time = "time"
    memory = "memory"
    money = "money"


Prices = Annotated[
    list[str] | None,
    typer.Option(
        "--price",
        metavar="[GPU=]USD",
        help="USD per hour of a GPU, such as a100=1.8; a number without a name applies to the "
        "scenario's GPU.",
    ),
]


@expanded
def advise(
    question: Question,
    written: Written,
    by: Annotated[By, typer.Option(help="The quantity to save.")] = By.time,
    top: Top = 12,
    price: Prices = None,
    refused: Annotated[
        bool, typer.Option(help="Also list the what-ifs that do not apply, with reasons.")
    ] = False,
) -> None:
    """Rank the what-ifs by what each saves end to end."""
    from app import progress
    from app.answers.figures import title
    from app.answers.subject import subject
    from app.report import advice as report
    from simulator.analysis.advice import advise as run

    written.check()
    scenario = question.scenario
    prices = prices_of(price or [], scenario)
    with progress.shown() as step:
        traced = subject(scenario, step)
        advised = run(scenario, by.value, progress.counted(step, "what-ifs"), prices=prices)
    heading = title(advised.baseline, traced)

    def page(metrics: Metrics) -> Drawing:
        from app.charts.advice import advice_page  # imported only to draw a picture

        return advice_page(advised, heading, top, metrics)

    written.write(lambda: report.document(advised, traced), lambda: report.as_csv(advised), page)
    if written.printed:
        report.show(advised, heading, top, refused)


def prices_of(texts: list[str], scenario: Scenario) -> dict[str, float]:
    """Parse prices such as "2.5" or "a100=1.8" into USD per hour by GPU id.

    Raises InputError if a text is not a price.
    """
    from simulator.hardware.gpu import gpu
    from simulator.scenario.resolve import resolve

    usd_per_h: dict[str, float] = {}
    for text in texts:
        name, equals, figure = text.rpartition("=")
        try:
            price = float(figure)
        except ValueError:
            price = 0.0
        if not 0 < price < 1e6 or (equals and not name):
            raise InputError(
                f"--price {text!r}: expected USD per hour above 0, such as 2.5 or a100=1.8"
            )
        usd_per_h[gpu(name).id if name else resolve(scenario).gpu.id] = price
    return usd_per_h
