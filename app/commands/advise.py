"""`ridgepoint advise`: every what-if that applies, ranked by what it saves end to end.

Modules of the simulator and of the reports are imported where the command runs: the help needs
none.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.commands.option_types import Top
from app.commands.options import Question, Written, expanded
from simulator.errors import InputError

if TYPE_CHECKING:
    from simulator.analysis.advice import Advice, Advised
    from simulator.scenario.scenario import Scenario

FORMAT, VERSION = "ridgepoint-advice", 1


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
        help="Price of a GPU in USD per hour; without GPU=, of the scenario's.",
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
    from app import outputs, progress
    from app.answers.subject import subject
    from simulator.analysis.advice import advise as run

    written.check()
    scenario = question.scenario
    prices = prices_of(price or [], scenario)
    with progress.shown() as step:
        traced = subject(scenario, step)
        advised = run(scenario, by.value, progress.counted(step, "what-ifs"), prices=prices)
    from app.answers.figures import title

    heading = title(advised.baseline, traced)
    if written.json:
        from app.report.exports import json_text, summary

        body = document(advised) | {"baseline": summary(advised.baseline, traced)}
        outputs.write("--json", written.json, json_text(body))
    if written.csv:
        from app.report.exports import csv_text

        rows = [entry(advice) for advice in advised.advice]
        outputs.write("--csv", written.csv, csv_text(COLUMNS, rows))
    if written.png or written.svg:
        from app.charts.advice import advice_page
        from app.widgets.drawing import put

        put(written, lambda metrics: advice_page(advised, heading, top, metrics))
    if written.printed:
        _show(advised, heading, top, refused)


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


COLUMNS = (
    "whatif", "gain", "period_s", "low_s", "high_s", "sample_s", "local_gain", "memory_gain",
    "money_gain", "usd_per_million", "fits", "changes", "cause", "warning", "command",
)  # fmt: skip


def entry(advice: Advice) -> dict[str, Any]:
    """One piece of advice as a flat row."""
    low, high = advice.interval_s
    interval = {"low_s": low, "high_s": high}
    return {n: interval[n] if n in interval else getattr(advice, n) for n in COLUMNS}


def document(advised: Advised) -> dict[str, Any]:
    """The advice as a JSON document."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "by": advised.by,
        "advice": [entry(a) for a in advised.advice],
        "hidden": [entry(a) for a in advised.hidden],
        "refused": dict(advised.refused),
    }


def _show(advised: Advised, heading: str, top: int, refused: bool) -> None:
    from rich.text import Text

    from app.quantities import between, percent, seconds
    from app.report.tables import COLOURS
    from app.terminal import Terminal

    base = advised.baseline
    console = Terminal(highlight=False)
    width = min(console.width, 120)
    verdict = Text(
        f"{heading}: {seconds(base.period_s)} a step (80%: "
        f"{between(*base.interval_s, base.period_s)}), {base.regime}-bound",
        "bold",
    )
    verdict.highlight_words([f"{base.regime}-bound"], COLOURS[base.regime])
    console.print()
    console.print(verdict, width=width)
    console.print()
    if not advised.advice:
        console.print("no what-if saves 0.5% or more", style="yellow")
    for what in ("code", "what is computed", "machine"):
        chosen = [a for a in advised.advice[:top] if a.changes == what]
        if chosen:
            console.print(_table(advised, chosen, what), width=width)
            console.print()
    if len(advised.advice) > top:
        console.print(f"{len(advised.advice) - top} more with --top", style="dim")
    if advised.hidden:
        console.print(Text("Local gains that do not shorten the step", "bold"))
        for advice in advised.hidden:
            line = Text(f"  {advice.whatif}: {percent(advice.gain)}. ")
            console.print(line.append(advice.warning, "yellow"), width=width)
        console.print()
    if advised.refused and refused:
        console.print(Text("Does not apply", "bold"))
        for text, reason in advised.refused.items():
            console.print(Text(f"  {text}: {reason}", "dim"), width=width)
        console.print()
    elif advised.refused:
        console.print(f"{len(advised.refused)} do not apply (--refused lists them)", style="dim")
    if advised.advice:
        console.print(
            Text("Apply one: ", "dim").append(advised.advice[0].command, "default"), soft_wrap=True
        )


_TITLES = {
    "code": "Code changes, same results", "what is computed": "Numerically different results",
    "machine": "Other hardware",
}  # fmt: skip


def _table(advised: Advised, chosen: list[Advice], what: str) -> Any:
    from rich.text import Text

    from app.answers.subject import to_full_text
    from app.quantities import between, number, percent, seconds
    from app.report.sides import BETTER
    from app.report.tables import numbers, table, words

    shown = table(_TITLES[what])
    words(shown, "what-if, and why")
    usd = advised.by == "money" and chosen[0].usd_per_million is not None
    numbers(shown, "saves", "USD per million\nsamples" if usd else "per sample", "step", "80%")
    why_column = shown.columns[0]  # sentences wrap and are never cut
    why_column.no_wrap, why_column.overflow, why_column.ratio = False, "fold", 1
    for advice in chosen:
        why = Text(f"{' '.join(map(to_full_text, advice.applied))}\n", "bold")
        why.append(advice.cause, "dim")
        if advice.warning:
            why.append(f"\n{advice.warning}", "yellow")
        saves = Text(percent(advice.gain), BETTER if advice.fits else "bold red")
        low, high = advice.interval_s
        million = advice.usd_per_million
        shown.add_row(
            why,
            saves,
            f"${number(million)}" if usd and million else seconds(advice.sample_s),
            seconds(advice.period_s),
            between(low, high, advice.period_s),
        )
    return shown
