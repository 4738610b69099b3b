"""`ridgepoint sweep`: time, throughput and shares along one axis, and where the regime shifts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.commands.options import Question, With, Written, changed, expanded, whatif_words
from simulator.errors import InputError

if TYPE_CHECKING:
    from app.answers.axes import Line
    from app.progress import Step
    from simulator.analysis.along import Figures, Watch
    from simulator.analysis.regimes import Shift
    from simulator.analysis.sweep import Sweep
    from simulator.scenario.scenario import Scenario

FORMAT, VERSION = "ridgepoint-sweep", 1
MOST_VARIANTS = 3
_BAR = 6, 16  # cells of a bar of shares, at least and at most
_LABEL = 12  # letters of an axis's value beside the longest bar
_NAMED = 6  # values that are named one by one
_WHERE = re.compile(r"^batch \d+(, seq \d+)?(:| is) ")

Over = Annotated[
    str,
    typer.Option(
        metavar="AXIS[=VALUES]",
        help="batch, batch=1:512, seq=128:4096:6, gpu=h100,h200, or any what-if or size.",
    ),
]


@dataclass(frozen=True)
class Swept:
    """A scenario along an axis, and its variants; `shifts` are the first one's, and `tried` the
    figures that were seen on the way to them."""

    line: Line
    names: tuple[str, ...]
    sweeps: tuple[Sweep, ...]
    shifts: tuple[Shift, ...]
    tried: tuple[tuple[float, Figures], ...] = ()


@expanded
def sweep(asked: Question, written: Written, over: Over = "batch", variant: With = None) -> None:
    """Time, throughput and shares against batch, sequence or any axis."""
    from app import outputs, progress
    from app.answers.axes import line
    from app.answers.subject import heading_of, subject

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

        draw(written, lambda theme: SweepPicture(theme, found, heading))
    if written.printed:
        _show(found, heading)


def swept(variants: dict[str, Scenario], axis: Line, step: Step = lambda text: None) -> Swept:
    """Predict it all. InputError where no point has an answer."""
    from simulator.analysis.sweep import sweep as run

    total = len(axis.values) * len(variants)

    def all_of(number: int, scenario: Scenario) -> Sweep:
        before = number * len(axis.values)
        return run(
            scenario, {axis.name: axis.values},
            counted=lambda done: step(f"predicting {before + done:,} of {total:,} points"),
        )  # fmt: skip

    found = tuple(all_of(number, s) for number, s in enumerate(variants.values()))
    for each in found:
        if len(each.refused) == len(each):
            raise InputError(f"no point of {axis.name} has an answer: {each.refused[0]}")
    first = next(iter(variants.values()))
    changes = shifts(first, axis, found[0], lambda tried: step("looking for the shifts"))
    tried = {value: figures for shift in changes for value, figures in shift.tried.items()}
    return Swept(axis, tuple(variants), found, changes, tuple(sorted(tried.items())))


def shifts(scenario: Scenario, axis: Line, found: Sweep, watch: Watch) -> tuple[Shift, ...]:
    """Where the regime changes between neighbouring points; `watch` is told what was tried."""
    from simulator.analysis.regimes import next_shift

    if not axis.numeric:
        return ()
    places = [i for i in range(len(found)) if i not in found.refused]
    rows: list[Shift] = []
    for left, right in pairwise(places):
        if found.regime(left) != found.regime(right):
            ends = [
                v for v in (axis.values[left], axis.values[right]) if isinstance(v, int | float)
            ]
            shift = next_shift(scenario, axis.name, start=ends[0], limit=ends[1], watch=watch)
            if shift.after is not None:
                rows.append(shift)
    return tuple(rows)


def rows_of(found: Swept, index: int) -> list[dict[str, Any]]:
    """The points of one variant, flat."""
    name = found.names[index]
    rows = found.sweeps[index].rows()
    for row in rows:
        row["fits"] = None if row["refused"] else bool(row["fits"])
    return [{"variant": name, **row} for row in rows]


def document(found: Swept, heading: str) -> dict[str, Any]:
    """The sweep as data."""
    return {
        "format": FORMAT, "version": VERSION, "title": heading, "axis": found.line.name,
        "unit": found.line.unit, "values": list(found.line.values),
        "variants": {name: rows_of(found, i) for i, name in enumerate(found.names)},
        "shifts": [
            {"last": s.last, "before": s.before, "first": s.first, "after": s.after,
             "sentence": s.sentence, "retraced": retraced_at(s.axis, s.retraced) or None}
            for s in found.shifts
        ],
    }  # fmt: skip


def _show(found: Swept, heading: str) -> None:
    from rich.console import Group
    from rich.text import Text

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
            label, seconds(row["period_s"]),
            between(row["low_s"], row["high_s"], row["period_s"]),
            count_of(row["samples_per_s"], ""), memory, regime_text(row["regime"]),
            shares_bar(shares, bar),
        )  # fmt: skip
    over = [i for i, row in enumerate(each.rows()) if not row["refused"] and not row["fits"]]
    said = ["what does not fit in the GPU's memory is an estimate of its time"] if over else []
    said += list(dict.fromkeys(f"no answer: {reason}" for reason in each.refused.values()))[:3]
    said += [text] if (text := retraced(each)) else []
    shown.caption = "\n".join(said) or None
    return shown


def retraced(found: Sweep) -> str:
    """How many points took a trace of their own, and why; "" where none did."""
    if not found.retraced:
        return ""
    why = "; ".join(list(dict.fromkeys(found.retraced.values()))[:2])
    return f"{len(found.retraced)} of {len(found)} points traced one by one: {why}"


def retraced_at(axis: str, why: Mapping[float, str]) -> str:
    """ "retraced at batch 1 and 24: the family ...": where a search took traces of its own, and
    why; "" where it took none."""
    if not why:
        return ""
    from app.quantities import plain

    values = [plain(value) for value in sorted(why)]
    if len(values) > _NAMED:
        values = [*values[: _NAMED - 1], f"{len(values) - _NAMED + 1} more"]
    named = f"{', '.join(values[:-1])} and {values[-1]}" if len(values) > 1 else values[0]
    reasons = dict.fromkeys(_WHERE.sub("", reason) for reason in why.values())
    return f"retraced at {axis} {named}: {'; '.join(list(reasons)[:2])}"
