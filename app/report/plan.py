"""A plan as a table on the terminal, and as CSV."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.text import Text

from app.quantities import number
from app.report.columns import fitting, least_width
from app.report.exports import csv_text
from app.report.tables import table
from app.terminal import Terminal
from simulator.planning import Plan, Row
from simulator.planning.verdict import gpu_hours
from simulator.planning.wording import Currency, amount, duration, latency

_REASONS = 6  # the largest number to print
_NAMES = 3  # the largest number of skipped candidates to name for each reason


def as_csv(plan: Plan) -> str:
    """A row for each candidate; every figure is a number in SI units or USD, and intervals and
    pools take two columns."""
    rows: list[dict[str, Any]] = []
    for rank, row in enumerate(plan.rows, 1):
        flat: dict[str, Any] = {"rank": rank}
        for name, value in asdict(row).items():
            if "interval" in name or name == "confidence_s":
                low, high = value or (None, None)
                flat |= {f"{name}_low": low, f"{name}_high": high}
            elif name == "pools":
                prefill, decode = value or (None, None)
                flat |= {"prefill_servers": prefill, "decode_servers": decode}
            else:
                flat[name] = value
        rows.append(flat)
    return csv_text(list(rows[0]) if rows else ["rank"], rows)


def cells(plan: Plan, row: Row) -> list[str]:
    """The cells of a row, in the order of `headings`."""
    parts = [row.configuration, _money(row, plan.currency)]
    if plan.kind == "serving":
        parts += [
            _ms(row.per_token_s, row.per_token_interval_s),
            _ms(row.first_token_s, row.first_token_interval_s),
            _rate(row),
        ]
    elif plan.kind == "training":
        ends = row.duration_interval_s or (None, None)
        parts += [_batch(row), "" if row.duration_s is None else duration(row.duration_s, *ends)]
        parts += ["" if row.per_s is None else amount(row.per_s), _memory(row)]
    else:
        parts += [_batch(row), _ms(row.latency_s, row.latency_interval_s), _rate(row)]
    joules = row.joules_per_unit
    parts += ["" if joules is None else number(joules), row.binds, row.status, row.reason]
    return parts


def headings(plan: Plan) -> list[str]:
    """The headings of the columns of `cells`."""
    queued = any(row.largest_batch is not None for row in plan.rows)
    figures = {
        "serving": ["token, 80%", "first token, 80%", "carries at most"],
        "training": ["batch", "takes, 80%", f"{plan.unit}/s", "memory"],
        "inference": [
            "batch",
            "latency, 80%" if queued else "batch takes, 80%",
            "carries at most",
        ],
    }[plan.kind]
    unit = plan.unit.removesuffix("s")
    return ["configuration", "cost", *figures, f"J/{unit}", "bound by", "limits", "why not"]


_WRAPPED = {"configuration": 18, "why not": 18}
"""The minimum widths, in characters, of the columns whose cells may wrap."""
_FIRST = (
    "configuration", "cost", "batch", "token, 80%", "takes, 80%", "batch takes, 80%",
    "latency, 80%", "limits",
    "why not", "first token, 80%",
)  # fmt: skip
"""Columns that a narrow terminal shows before the others."""


def show(plan: Plan, top: int) -> None:
    """Print the verdict, the ranked table and the assumptions. If no candidate carries the load,
    the error message replaces the verdict."""
    console = Terminal(highlight=False)
    wide = console.width
    console.print()
    console.print(Text(plan.question, "dim"), width=min(wide, 120))
    if plan.carried:
        console.print(Text(plan.verdict, "bold"), width=min(wide, 120))
    console.print()
    if plan.rows:
        _show_rows(console, plan, top)
    if plan.assumptions:
        _show_assumptions(console, plan)
    if plan.pruned:
        noun = "candidate" if len(plan.pruned) == 1 else "candidates"
        console.print(Text(f"{len(plan.pruned)} {noun} skipped:", "dim"))
        for text in skipped(plan):
            console.print(Text(text, "dim"), width=min(wide, 120))


def _show_rows(console: Terminal, plan: Plan, top: int) -> None:
    wide = console.width
    columns, dropped = _columns(plan, top, wide)
    shown = table()
    for name, (least, _) in columns.items():
        shown.add_column(name, no_wrap=name not in _WRAPPED, overflow="fold", min_width=least)
    for row in zip(*(texts for _, texts in columns.values()), strict=True):
        shown.add_row(*map(Text, row))
    console.print(shown, width=wide)
    if dropped:
        where = f"in a terminal wider than {wide}, or with --csv or --json"
        console.print(Text(f"{', '.join(dropped)}: shown {where}", "dim"), width=min(wide, 120))
    if len(plan.rows) > top:
        console.print(f"{len(plan.rows) - top} more with --top, --csv or --json", style="dim")
    console.print()


def _show_assumptions(console: Terminal, plan: Plan) -> None:
    rests = table(f"Assumptions, and their effect on {plan.figure}")
    for name in ("assumption", "value", "from", "low", "high"):
        rests.add_column(name, overflow="fold")
    for row in assumption_cells(plan):
        rests.add_row(*map(Text, row))
    console.print(rests, width=console.width)
    console.print()


def _columns(
    plan: Plan, top: int, width: int
) -> tuple[dict[str, tuple[int, list[str]]], list[str]]:
    """The minimum width and the cells of each column that fits, and the names of the other columns.
    If not all fit, intervals take a second line."""
    names, rows = headings(plan), [cells(plan, row) for row in plan.rows[:top]]
    texts = {name: [row[at] for row in rows] for at, name in enumerate(names)}
    if not any(texts["why not"]):
        names.remove("why not")

    def widths() -> dict[str, int]:
        return {name: least_width(name, texts[name], _WRAPPED.get(name)) for name in names}

    if len(fitting(names, widths(), width)) < len(names):
        texts = {name: [cell.replace(" (", "\n(") for cell in texts[name]] for name in names}
    least = widths()
    order = [name for name in _FIRST if name in names]
    order += [name for name in names if name not in order]
    chosen = fitting(order, least, width)
    shown = {name: (least[name], texts[name]) for name in names if name in chosen}
    return shown, [name for name in names if name not in chosen]


def assumption_cells(plan: Plan) -> list[list[str]]:
    """The cells of each assumption: its name, value and source, and the figure at both ends."""
    rows: list[list[str]] = []
    for each in plan.assumptions:
        ends = [
            f"{text}: {_figure(plan, value)}" if value is not None else ""
            for text, value in ((each.low_value, each.low), (each.high_value, each.high))
        ]
        rows.append([each.name, each.value, each.source, *ends])
    return rows


def _figure(plan: Plan, value: float | None) -> str:
    if value is None:
        return ""
    if value != value:
        return "does not run"
    return duration(value) if plan.kind == "training" else latency(value)


def _ms(value: float | None, span: tuple[float, float] | None) -> str:
    return "" if value is None else latency(value, *(span or (None, None)))


def _batch(row: Row) -> str:
    if row.batch is None:
        return ""
    most = row.largest_batch
    return amount(row.batch) + ("" if most is None else f" of {most}")


def _memory(row: Row) -> str:
    return "" if row.memory_share is None else f"{row.memory_share:.0%}"


def _rate(row: Row) -> str:
    return "" if row.largest_rate_per_s is None else f"{amount(row.largest_rate_per_s)}/s"


def _money(row: Row, currency: Currency) -> str:
    if row.usd_total is not None:
        return currency.text(row.usd_total)
    if row.usd_per_h is not None:
        return f"{currency.text(row.usd_per_h)}/h"
    return f"{gpu_hours(row).replace(' an hour', '/h')}, no price"


def skipped(plan: Plan) -> list[str]:
    """A line for each reason to skip candidates, the most frequent reason first, with up to three
    names, or the number of skipped candidates and an example: "4 such as 8 × H100 SXM5 80GB, vllm,
    bf16: fewer GPUs of this kind meet every limit"."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in plan.pruned.items():
        by_reason.setdefault(reason, []).append(name)
    order = sorted(by_reason.items(), key=lambda item: -len(item[1]))
    lines = [
        f"  {'; '.join(names) if len(names) <= _NAMES else f'{len(names)} such as {names[0]}'}: "
        f"{reason}"
        for reason, names in order
    ]
    if len(lines) > _REASONS:
        lines[_REASONS - 1 :] = [f"  {len(lines) - _REASONS + 1} other reasons with --json"]
    return lines
