"""A plan as a table on the terminal, as CSV, and as one HTML page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from html import escape
from typing import Any

from simulator.planning import Plan, Row
from simulator.planning.verdict import duration


def csv_text(plan: Plan) -> str:
    """A row for each candidate, every figure a number in SI units or USD; an interval is two."""
    from app.report.exports import csv_text as text

    rows: list[dict[str, Any]] = []
    for number, row in enumerate(plan.rows, 1):
        flat: dict[str, Any] = {"rank": number}
        for name, value in asdict(row).items():
            if "interval" in name or name == "confidence_s":
                low, high = value or (None, None)
                flat |= {f"{name}_low": low, f"{name}_high": high}
            else:
                flat[name] = value
        rows.append(flat)
    return text(list(rows[0]) if rows else ["rank"], rows)


def cells(plan: Plan, row: Row) -> list[str]:
    """The cells of a row, in the order of `headings`."""
    parts = [row.configuration, _money(row)]
    if plan.kind == "serving":
        parts += [
            _ms(row.per_token_s, row.per_token_interval_s),
            _ms(row.first_token_s, row.first_token_interval_s),
            _rate(row),
        ]
    elif plan.kind == "training":
        span = row.duration_interval_s
        known = "" if row.duration_s is None else duration(row.duration_s)
        parts += [known + (f" ({duration(span[0])} to {duration(span[1])})" if span else "")]
    else:
        parts += [_ms(row.latency_s, row.latency_interval_s), _rate(row)]
    joules = row.joules_per_unit
    parts += ["" if joules is None else f"{joules:.3g}", row.binds, row.status, row.reason]
    return parts


def headings(plan: Plan) -> list[str]:
    """The headings of the columns of `cells`."""
    figures = {
        "serving": ["token, 80%", "first token, 80%", "carries"],
        "training": ["takes, 80%"],
        "inference": ["batch takes, 80%", "carries"],
    }[plan.kind]
    unit = plan.unit.removesuffix("s")
    return ["configuration", "USD", *figures, f"J/{unit}", "bound by", "limits", "why"]


def show(plan: Plan, top: int) -> None:
    """Print the verdict, the ranked table and the assumptions."""
    from rich.text import Text

    from app.report.tables import table
    from app.terminal import Terminal

    console = Terminal(highlight=False)
    wide = max(console.width, 160) if not console.is_terminal else console.width
    console.print()
    console.print(Text(plan.question, "dim"), width=min(wide, 120))
    console.print(Text(plan.verdict, "bold"), width=min(wide, 120))
    console.print()
    shown = table()
    for name in headings(plan):
        shown.add_column(name, no_wrap=name != "why", overflow="fold")
    for row in plan.rows[:top]:
        shown.add_row(*(Text(cell) for cell in cells(plan, row)))
    console.print(shown, width=wide)
    if len(plan.rows) > top:
        console.print(f"{len(plan.rows) - top} more with --top, --csv or --json", style="dim")
    console.print()
    rests = table(f"Assumptions, and their effect on {plan.figure}")
    for name in ("assumption", "value", "from", "low", "high"):
        rests.add_column(name, overflow="fold")
    for each in plan.assumptions:
        ends = [
            f"{text}: {_figure(plan, value)}" if value is not None else ""
            for text, value in ((each.low_value, each.low), (each.high_value, each.high))
        ]
        rests.add_row(*map(Text, (each.name, each.value, each.source, *ends)))
    console.print(rests, width=wide)
    console.print()
    if plan.pruned:
        console.print(
            Text(
                f"{len(plan.pruned)} candidates skipped, such as {_some(plan.pruned.items())}",
                "dim",
            ),
            width=min(wide, 120),
        )


def html_text(plan: Plan) -> str:
    """One HTML page without scripts: verdict, table, assumptions, skipped candidates."""
    rows = "".join(
        f"<tr class='{row.status.replace(' ', '-')}'>"
        + "".join(f"<td>{escape(cell)}</td>" for cell in cells(plan, row))
        + "</tr>\n"
        for row in plan.rows
    )
    head = "".join(f"<th>{escape(name)}</th>" for name in headings(plan))
    rests = "".join(
        f"<tr><td>{escape(a.name)}</td><td>{escape(a.value)}</td><td>{escape(a.source)}</td>"
        f"<td>{escape(a.low_value)} {_figure(plan, a.low)}</td>"
        f"<td>{escape(a.high_value)} {_figure(plan, a.high)}</td></tr>\n"
        for a in plan.assumptions
    )
    pruned = "".join(f"<li>{escape(n)}: {escape(r)}</li>\n" for n, r in plan.pruned.items())
    return f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Ridgepoint: a plan</title>
<style>body{{font:15px/1.5 system-ui;margin:2em auto;max-width:75em;padding:0 1em}}
table{{border-collapse:collapse}}td,th{{padding:.2em .7em;text-align:left}}
th{{border-bottom:1px solid}}.too-slow,.overloaded,.no-memory{{opacity:.6}}
b{{font-size:1.2em}}</style>
<p>{escape(plan.question)}</p><p><b>{escape(plan.verdict)}</b></p>
{front_svg(plan)}
<table><tr>{head}</tr>
{rows}</table>
<h2>Assumptions, and their effect on {escape(plan.figure)}</h2>
<table><tr><th>assumption<th>value<th>from<th>low<th>high</tr>
{rests}</table>
<h2>Skipped candidates</h2><ul>
{pruned}</ul></html>
"""


def front_svg(plan: Plan) -> str:
    """Cost against time of the candidates within all limits, the Pareto front filled, or ""."""
    points = [
        (
            row.per_token_s or row.duration_s or row.latency_s or 0.0,
            row.usd_total or row.usd_per_h,
            row,
        )
        for row in plan.rows
        if row.status in ("fits", "uncertain")
    ]
    known = [(time, cost, row) for time, cost, row in points if cost]
    if not known:
        return ""
    right, high = max(p[0] for p in known), max(p[1] for p in known)
    dots = "".join(
        f'<circle cx="{60 + 600 * time / right:.1f}" cy="{260 - 230 * cost / high:.1f}" r="5" '
        f'fill="{"#2b8a6e" if row.front else "none"}" stroke="#2b8a6e">'
        f"<title>{escape(row.configuration)}: {cost:.3g} USD</title></circle>"
        for time, cost, row in known
    )
    return (
        f'<svg viewBox="0 0 700 300" width="700" role="img"><title>Cost against time</title>'
        f'<path d="M60 20V260H680" fill="none" stroke="gray"/><text x="60" y="14">USD, to '
        f'{high:.3g}</text><text x="400" y="290">{escape(plan.figure)}, to '
        f"{_figure(plan, right)}</text>{dots}</svg>"
    )


def _figure(plan: Plan, value: float | None) -> str:
    if value is None:
        return ""
    return duration(value) if plan.kind == "training" else f"{value * 1e3:.3g} ms"


def _ms(value: float | None, span: tuple[float, float] | None) -> str:
    if value is None:
        return ""
    ends = f" ({span[0] * 1e3:.3g} to {span[1] * 1e3:.3g})" if span and span[0] < span[1] else ""
    return f"{value * 1e3:.3g} ms{ends}"


def _rate(row: Row) -> str:
    return "" if row.largest_rate_per_s is None else f"{row.largest_rate_per_s:.3g}/s"


def _money(row: Row) -> str:
    if row.usd_total is not None:
        return f"{row.usd_total:,.0f}"
    if row.usd_per_h is not None:
        return f"{row.usd_per_h:.2f}/h"
    return "" if row.gpu_hours is None else f"{row.gpu_hours:.3g} GPU-h"


def _some(pairs: Iterable[tuple[str, str]]) -> str:
    return "; ".join(f"{name} ({reason})" for name, reason in list(pairs)[:3])
