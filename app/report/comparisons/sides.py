"""Tables of scenarios side by side, and of the changes between two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from app.answers.figures import causes
from app.quantities import (
    between,
    change,
    count_of,
    cut,
    data,
    percent,
    scaled,
    seconds,
    signed_seconds,
)
from app.report.comparisons.power_rows import power_rows
from app.report.comparisons.ratios import dram_bytes, per_sample, sample_s
from app.report.tables import COLOURS, numbers, regime_text, table, words
from simulator.analysis.compare import Moved, Part, Waterfall
from simulator.prediction import REGIMES, Prediction

BETTER, WORSE = "green", "bold red"
LETTERS = "ABCD"
_ROOMY = 3  # the largest number of scenarios whose figures have room for units


def moved_text(before: float, after: float) -> Text:
    """A relative change, coloured: less is better."""
    text = change(before, after)
    style = "dim" if text == "0%" else BETTER if after < before else WORSE
    return Text(text, style)


def sides(names: Sequence[str], predictions: Sequence[Prediction], changes: bool) -> Table:
    """One row per figure, one column per scenario; for two scenarios also the change."""
    shown = table()
    words(shown, "")
    numbers(shown, *names)
    last = changes and len(predictions) == 2
    if last:
        numbers(shown, "change")
    for label, cells, values in _figures(predictions):
        row: list[Any] = [label, *cells]
        if last:
            row.append(moved_text(*values) if values else "")
        shown.add_row(*row)
    return shown


def _figures(
    predictions: Sequence[Prediction],
) -> list[tuple[str, list[Any], tuple[float, float] | None]]:
    """Rows of (label, cells, and the first and last value if a larger value is worse)."""
    rows: list[tuple[str, list[Any], tuple[float, float] | None]] = []

    def add(label: str, cells: list[Any], values: list[float] | None = None) -> None:
        pair = (values[0], values[-1]) if values else None
        rows.append((label, cells, pair))

    period = [p.period_s for p in predictions]
    add("step", [Text(seconds(v), "bold") for v in period], period)
    add("80% interval", [between(*p.interval_s, p.period_s) for p in predictions])
    if per_sample(predictions):
        each = [sample_s(p) for p in predictions]
        add("per sample", [Text(seconds(v), "bold") for v in each], each)
    add("bound by", [regime_text(p.regime) for p in predictions])
    for regime in REGIMES:
        cells = [Text(percent(p.shares[regime]), COLOURS[regime]) for p in predictions]
        add(f"  {regime}", cells)
    rates = [p.trace.samples / p.period_s if p.period_s else 0.0 for p in predictions]
    if len(predictions) > _ROOMY:  # the unit would be cut
        add("samples/s", [count_of(v, "") for v in rates])
    else:
        add("throughput", [count_of(v, "samples/s") for v in rates])
    alone = [p.latency_s for p in predictions]
    add("step, alone", [seconds(v) for v in alone], alone)
    busy = [p.gpu_busy_s for p in predictions]
    add("GPU busy", [seconds(v) for v in busy], busy)
    idle = [sum(v for _, v in causes(p)) for p in predictions]
    add("GPU idle", [seconds(v) for v in idle], idle)
    host = [p.host_s for p in predictions]
    add("host work", [seconds(v) for v in host], host)
    count = [float(p.kernel_count) for p in predictions]
    add("kernels", [f"{p.kernel_count:,}" for p in predictions], count)
    flops = [float(p.flops) for p in predictions]
    add("FLOPs", [scaled(v, "FLOP") for v in flops], flops)
    moved = [dram_bytes(p) for p in predictions]
    add("bytes moved", [data(v) for v in moved], moved)
    for row in power_rows(predictions, len(predictions) <= _ROOMY):
        add(*row)
    need = [float(p.peak_memory_bytes + p.workspace_bytes) for p in predictions]
    add("memory at peak", [data(v) for v in need], need)
    add("fits", [Text("yes", BETTER) if p.fits else Text("no", WORSE) for p in predictions])
    if any(p.unmodelled for p in predictions):
        missing = [sum(p.unmodelled.values()) for p in predictions]
        add("ops not modelled", [Text(f"{n:,}", WORSE if n else "") for n in missing])
    return rows


def steps_table(fall: Waterfall, before: str, after: str) -> Table:
    """The changes from one scenario to another: each alone, and after the changes above it."""
    shown = table()
    words(shown, "change")
    numbers(shown, "alone", "", "after those above", "", "step time")
    total = fall.a.period_s
    shown.add_row(before, "", "", "", "", Text(seconds(total), "bold"))
    for step in fall.steps:
        alone, alone_share = Text("–", "dim"), Text()
        if step.alone_s is not None:
            alone = Text(signed_seconds(step.alone_s))
            alone_share = moved_text(total, total + step.alone_s)
        before_s = step.period_s - step.change_s
        shown.add_row(
            cut(step.label, 34),
            alone,
            alone_share,
            signed_seconds(step.change_s),
            moved_text(before_s, step.period_s),
            seconds(step.period_s),
        )
    shown.add_row(
        Text(after, "bold"),
        "",
        "",
        Text(signed_seconds(fall.total_s), "bold"),
        moved_text(total, fall.b.period_s),
        Text(seconds(fall.b.period_s), "bold"),
    )
    alone = [s.alone_s for s in fall.steps]
    if len(alone) > 1 and None not in alone:
        interaction_s = fall.a.period_s + sum(a for a in alone if a is not None) - fall.b.period_s
        if abs(interaction_s) > 0.01 * fall.a.period_s:
            fewer = "less" if interaction_s < 0 else "more"
            shown.caption = (
                f"the changes interact: together they save "
                f"{seconds(abs(interaction_s))} {fewer} than one by one"
            )
    return shown


def moved_table(rows: Sequence[Moved], names: tuple[str, str], top: int) -> Table:
    """Kernels whose time changed most, by op and family."""
    shown = table("Kernels whose time changed")
    words(shown, "op", "family")
    numbers(shown, "count", f"in {names[0]}", f"in {names[1]}", "change")
    for each in rows[:top]:
        was, now = each.count
        count = f"{was:,}" if was == now else f"{was:,} → {now:,}"
        style = BETTER if each.change_s < 0 else WORSE
        shown.add_row(
            cut(each.op.removesuffix(".default"), 30),
            each.family,
            count,
            seconds(each.seconds[0]) if was else "–",
            seconds(each.seconds[1]) if now else "–",
            Text(signed_seconds(each.change_s), style),
        )
    if len(rows) > top:
        rest = sum(m.change_s for m in rows[top:])
        shown.add_row(f"{len(rows) - top} more", "", "", "", "", signed_seconds(rest), style="dim")
    return shown


def flipped_table(rows: Sequence[Part], names: tuple[str, str], top: int) -> Table:
    """Parts whose regime changed."""
    shown = table("Regimes that flipped")
    words(shown, "part", f"in {names[0]}", "", f"in {names[1]}")
    for each in rows[:top]:
        shown.add_row(each.part, regime_text(each.before), "→", regime_text(each.after))
    if len(rows) > top:
        shown.add_row(f"{len(rows) - top} more", "", "", "", style="dim")
    return shown


def fall_document(fall: Waterfall) -> dict[str, Any]:
    """A waterfall as data. The steps' `change_s` add up to `total_s`."""
    return {
        "total_s": fall.total_s,
        "steps": [step_row(fall, i) for i in range(len(fall.steps))],
        "moved": [
            {
                "op": m.op,
                "family": m.family,
                "count_before": m.count[0],
                "count_after": m.count[1],
                "before_s": m.seconds[0],
                "after_s": m.seconds[1],
            }
            for m in fall.moved
        ],
        "flipped": [{"part": f.part, "before": f.before, "after": f.after} for f in fall.flipped],
    }


STEP_COLUMNS = (
    "change",
    "period_before_s",
    "period_s",
    "change_s",
    "alone_s",
    "low_s",
    "high_s",
)


def step_row(fall: Waterfall, index: int) -> dict[str, Any]:
    """One step of a waterfall, flat."""
    step = fall.steps[index]
    return {
        "change": step.label,
        "period_before_s": step.period_s - step.change_s,
        "period_s": step.period_s,
        "change_s": step.change_s,
        "alone_s": step.alone_s,
        "low_s": step.interval_s[0],
        "high_s": step.interval_s[1],
    }
