"""Advice as tables on the terminal, as a document and as rows."""

from __future__ import annotations

from typing import Any

from rich.table import Table
from rich.text import Text

from app.answers.subject import Subject, to_full_text
from app.quantities import between, number, percent, seconds
from app.report.comparisons.sides import BETTER
from app.report.exports import csv_text, summary
from app.report.tables import COLOURS, numbers, table, words
from app.terminal import Terminal
from simulator.analysis.advice import Advice, Advised

FORMAT, VERSION = "ridgepoint-advice", 1


COLUMNS = (
    "whatif", "gain", "period_s", "low_s", "high_s", "sample_s", "local_gain", "memory_gain",
    "money_gain", "usd_per_million", "fits", "changes", "cause", "warning", "caution", "command",
)  # fmt: skip


def entry(advice: Advice) -> dict[str, Any]:
    """One piece of advice as a flat row."""
    low, high = advice.interval_s
    interval = {"low_s": low, "high_s": high}
    return {n: interval[n] if n in interval else getattr(advice, n) for n in COLUMNS}


def document(advised: Advised, subject: Subject) -> dict[str, Any]:
    """The advice as a JSON document, with the prediction that it applies to."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "by": advised.by,
        "advice": [entry(a) for a in advised.advice],
        "hidden": [entry(a) for a in advised.hidden],
        "refused": dict(advised.refused),
        "baseline": summary(advised.baseline, subject),
    }


def as_csv(advised: Advised) -> str:
    """One row per piece of advice."""
    return csv_text(COLUMNS, [entry(advice) for advice in advised.advice])


def show(advised: Advised, heading: str, top: int, refused: bool) -> None:
    """Print the best `top` pieces of advice in groups; `refused` also lists the what-ifs that do
    not apply."""
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
    "code": "Code changes, same results",
    "what is computed": "Numerically different results",
    "machine": "Other hardware",
}


def _table(advised: Advised, chosen: list[Advice], changed: str) -> Table:
    shown = table(_TITLES[changed])
    words(shown, "what-if, and why")
    usd = advised.by == "money" and chosen[0].usd_per_million is not None
    numbers(shown, "saves", "USD per million\nsamples" if usd else "per sample", "step", "80%")
    why_column = shown.columns[0]  # sentences wrap and are never cut
    why_column.no_wrap, why_column.overflow, why_column.ratio = False, "fold", 1
    for advice in chosen:
        why = Text(f"{' '.join(map(to_full_text, advice.applied))}\n", "bold")
        why.append(advice.cause, "dim")
        for doubt in filter(None, (advice.warning, advice.caution)):
            why.append(f"\n{doubt}", "yellow")
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
