"""`ridgepoint sweep`: time, throughput and shares along one axis, and where the regime shifts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.commands.options import Question, With, Written, changed, expanded, whatif_words
from simulator.errors import InputError

if TYPE_CHECKING:
    from app.answers.swept import Swept

FORMAT, VERSION = "ridgepoint-sweep", 1
MOST_VARIANTS = 3
_BAR = 6, 11  # cells of a bar of shares, at least and at most
_LABEL = 12  # letters of an axis's value beside the longest bar

Over = Annotated[
    str,
    typer.Option(
        metavar="AXIS[=VALUES]",
        help="batch, batch=1:512, seq=128:4096:6, gpu=h100,h200, or any what-if or size.",
    ),
]


@expanded
def sweep(asked: Question, written: Written, over: Over = "batch", variant: With = None) -> None:
    """Time, throughput and shares against batch, sequence or any axis."""
    from app import outputs, progress
    from app.answers.axes import line
    from app.answers.subject import heading_of, subject
    from app.answers.swept import swept

    written.check()
    scenario = asked.scenario
    variants = {"as asked": scenario}
    for text in variant or []:
        variants[" ".join(whatif_words(text))] = changed(scenario, whatif_words(text))
    if len(variants) > 1 + MOST_VARIANTS:
        raise InputError(f"{len(variants) - 1} variants: expected {MOST_VARIANTS} --with at most")
    with progress.shown() as step:
        axis = line(scenario, over)
        heading = heading_of(subject(scenario, step), scenario, (axis.name,))
        found = swept(variants, axis, step)
    if written.json:
        from app.report.exports import json_text

        outputs.write("--json", written.json, json_text(document(found, heading)))
    if written.csv:
        from app.report.exports import csv_text

        rows = [row for i in range(len(found.names)) for row in rows_of(found, i)]
        columns = list(rows[0])
        outputs.write("--csv", written.csv, csv_text(columns, rows))
    if written.png or written.svg:
        from app.plots.sweep import SweepPicture
        from app.widgets.drawing import draw

        draw(
            written.png,
            written.svg,
            written.theme,
            lambda theme: SweepPicture(theme, found, heading),
        )
    if written.printed:
        _show(found, heading)


def rows_of(found: Swept, index: int) -> list[dict[str, Any]]:
    """The points of one variant, flat."""
    name = found.names[index]
    rows = found.sweeps[index].rows()
    for row in rows:
        row["fits"] = None if row["refused"] else bool(row["fits"])
    return [{"variant": name, **row} for row in rows]


def document(found: Swept, heading: str) -> dict[str, Any]:
    """The sweep as data."""
    from app.answers.swept import retraced_at

    return {
        "format": FORMAT,
        "version": VERSION,
        "title": heading,
        "axis": found.line.name,
        "unit": found.line.unit,
        "values": list(found.line.values),
        "variants": {name: rows_of(found, i) for i, name in enumerate(found.names)},
        "shifts": [
            {
                "last": s.last,
                "before": s.before,
                "first": s.first,
                "after": s.after,
                "sentence": s.sentence,
                "retraced": retraced_at(s.axis, s.retraced) or None,
            }
            for s in found.shifts
        ],
    }


def _show(found: Swept, heading: str) -> None:
    from rich.console import Group
    from rich.text import Text

    from app.answers.swept import retraced_at
    from app.report.tables import COLOURS, legend
    from app.terminal import Terminal
    from simulator.prediction import REGIMES

    console = Terminal(highlight=False)
    width = min(console.width, 120)
    console.print()
    console.print(Text(f"{heading}, over {found.line.name}", "bold"), width=width)
    console.print()
    for index, name in enumerate(found.names):
        if len(found.names) > 1:
            console.print(Text(name, "bold"))
        console.print(Group(_table(found, index), Text()), width=width)
    console.print(legend(), Text())
    for shift in found.shifts:
        line = Text(shift.sentence)
        for regime in REGIMES:
            line.highlight_words([f"{regime}-bound"], COLOURS[regime])
        if said := retraced_at(shift.axis, shift.retraced):
            line.append(f" ({said})", "dim")
        console.print(line, width=width)
    if found.line.numeric and not found.shifts:
        console.print(Text("no regime shift in this range", "dim"))


def _table(found: Swept, index: int) -> Any:
    from rich.text import Text

    from app.answers.swept import retraced
    from app.quantities import between, count_of, data, plain, seconds
    from app.report.tables import numbers, regime_text, shares_bar, table, words
    from simulator.prediction import REGIMES, Shares

    each = found.sweeps[index]
    shown = table()
    widest = max(len(str(value)) for value in found.line.values)
    bar = max(_BAR[0], _BAR[1] - max(0, widest - _LABEL))
    numbers(shown, found.line.name) if found.line.numeric else words(shown, found.line.name)
    numbers(shown, "step", "80%", "samples/s", "memory")
    words(shown, "bound by", "shares")
    for value, row in zip(found.line.values, each.rows(), strict=True):
        label = plain(value) if isinstance(value, int | float) else str(value)
        if row["refused"]:
            shown.add_row(label, Text("–", "dim"), "", "", "", Text("no answer", "yellow"), "")
            continue
        memory = Text(data(row["memory_bytes"]))
        if not row["fits"]:
            memory = Text(f"{memory}, does not fit", "bold red")
        shares: Shares = {regime: row[regime] for regime in REGIMES}
        shown.add_row(
            label,
            seconds(row["period_s"]),
            between(row["low_s"], row["high_s"], row["period_s"]),
            count_of(row["samples_per_s"], ""),
            memory,
            regime_text(row["regime"]),
            shares_bar(shares, bar),
        )
    over = [i for i, row in enumerate(each.rows()) if not row["refused"] and not row["fits"]]
    said = ["what does not fit in the GPU's memory is an estimate of its time"] if over else []
    said += list(dict.fromkeys(f"no answer: {reason}" for reason in each.refused.values()))[:3]
    said += [text] if (text := retraced(each)) else []
    shown.caption = "\n".join(said) or None
    return shown
