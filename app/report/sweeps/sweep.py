"""A sweep along one axis: tables on the terminal, a document, rows."""

from __future__ import annotations

from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from app.answers.sweeps.sweep import Swept, retraced, retraced_at
from app.quantities import between, count_of, data, plain, seconds
from app.report.exports import csv_text
from app.report.tables import COLOURS, legend, numbers, regime_text, shares_bar, table, words
from app.terminal import Terminal
from simulator.prediction import REGIMES, Shares

FORMAT, VERSION = "ridgepoint-sweep", 1


_BAR = 6, 11  # minimum and maximum cells of a bar of shares


_LABEL = 12  # characters of an axis value beside the longest bar


def _rows(swept_axis: Swept, index: int) -> list[dict[str, Any]]:
    """The points of one variant as flat rows."""
    name = swept_axis.names[index]
    rows = swept_axis.sweeps[index].rows()
    for row in rows:
        row["fits"] = None if row["refused"] else bool(row["fits"])
    return [{"variant": name, **row} for row in rows]


def document(swept_axis: Swept, heading: str) -> dict[str, Any]:
    """The sweep as a JSON document."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "title": heading,
        "axis": swept_axis.line.name,
        "unit": swept_axis.line.unit,
        "values": list(swept_axis.line.values),
        "variants": {name: _rows(swept_axis, i) for i, name in enumerate(swept_axis.names)},
        "shifts": [
            {
                "last": s.last,
                "before": s.before,
                "first": s.first,
                "after": s.after,
                "sentence": s.sentence,
                "retraced": retraced_at(s.axis, s.retraced) or None,
            }
            for s in swept_axis.shifts
        ],
    }


def as_csv(swept_axis: Swept) -> str:
    """One row per variant and point."""
    rows = [row for i in range(len(swept_axis.names)) for row in _rows(swept_axis, i)]
    return csv_text(list(rows[0]), rows)


def show(swept_axis: Swept, heading: str) -> None:
    """Print a table for each variant, then the regime shifts."""
    console = Terminal(highlight=False)
    width = min(console.width, 120)
    console.print()
    console.print(Text(f"{heading}, over {swept_axis.line.name}", "bold"), width=width)
    console.print()
    for index, name in enumerate(swept_axis.names):
        if len(swept_axis.names) > 1:
            console.print(Text(name, "bold"))
        console.print(Group(_table(swept_axis, index), Text()), width=width)
    console.print(legend(), Text())
    for shift in swept_axis.shifts:
        line = Text(shift.sentence)
        for regime in REGIMES:
            line.highlight_words([f"{regime}-bound"], COLOURS[regime])
        if note := retraced_at(shift.axis, shift.retraced):
            line.append(f" ({note})", "dim")
        console.print(line, width=width)
    if swept_axis.line.numeric and not swept_axis.shifts:
        console.print(Text("no regime shift in this range", "dim"))


def _table(swept_axis: Swept, index: int) -> Table:
    sweep = swept_axis.sweeps[index]
    shown = table()
    widest = max(len(str(value)) for value in swept_axis.line.values)
    bar = max(_BAR[0], _BAR[1] - max(0, widest - _LABEL))
    numbers(shown, swept_axis.line.name) if swept_axis.line.numeric else words(
        shown, swept_axis.line.name
    )
    numbers(shown, "step", "80%", "samples/s", "memory")
    words(shown, "bound by", "shares")
    for value, row in zip(swept_axis.line.values, sweep.rows(), strict=True):
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
    over = [i for i, row in enumerate(sweep.rows()) if not row["refused"] and not row["fits"]]
    notes = ["points that do not fit in memory: the time is an estimate"] if over else []
    notes += list(dict.fromkeys(f"no answer: {reason}" for reason in sweep.refused.values()))[:3]
    notes += [text] if (text := retraced(sweep)) else []
    shown.caption = "\n".join(notes) or None
    return shown
