"""A plan as a table on the terminal, as CSV, and as one HTML page."""

from __future__ import annotations

from dataclasses import asdict
from html import escape
from typing import Any

from app.quantities import number
from simulator.planning import Plan, Row
from simulator.planning.wording import amount, duration, latency, usd

_REASONS = 6  # to print


def csv_text(plan: Plan) -> str:
    """A row for each candidate, every figure a number in SI units or USD; an interval is two."""
    from app.report.exports import csv_text as text

    rows: list[dict[str, Any]] = []
    for rank, row in enumerate(plan.rows, 1):
        flat: dict[str, Any] = {"rank": rank}
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
        ends = row.duration_interval_s or (None, None)
        parts += ["" if row.duration_s is None else duration(row.duration_s, *ends)]
    else:
        parts += [_ms(row.latency_s, row.latency_interval_s), _rate(row)]
    joules = row.joules_per_unit
    parts += ["" if joules is None else number(joules), row.binds, row.status, row.reason]
    return parts


def headings(plan: Plan) -> list[str]:
    """The headings of the columns of `cells`."""
    figures = {
        "serving": ["token, 80%", "first token, 80%", "carries at most"],
        "training": ["takes, 80%"],
        "inference": ["batch takes, 80%", "carries at most"],
    }[plan.kind]
    unit = plan.unit.removesuffix("s")
    return ["configuration", "cost", *figures, f"J/{unit}", "bound by", "limits", "why not"]


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
        shown.add_column(name, no_wrap=name != "why not", overflow="fold")
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
        console.print(Text(f"{len(plan.pruned)} candidates skipped:", "dim"))
        for text in skipped(plan):
            console.print(Text(text, "dim"), width=min(wide, 120))


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
        f"<title>{escape(row.configuration)}: {usd(cost)}</title></circle>"
        for time, cost, row in known
    )
    return (
        f'<svg viewBox="0 0 700 300" width="700" role="img"><title>Cost against time</title>'
        f'<path d="M60 20V260H680" fill="none" stroke="gray"/><text x="60" y="14">cost, to '
        f'{usd(high)}</text><text x="400" y="290">{escape(plan.figure)}, to '
        f"{_figure(plan, right)}</text>{dots}</svg>"
    )


def _figure(plan: Plan, value: float | None) -> str:
    if value is None:
        return ""
    if value != value:
        return "does not run"
    return duration(value) if plan.kind == "training" else latency(value)


def _ms(value: float | None, span: tuple[float, float] | None) -> str:
    return "" if value is None else latency(value, *(span or (None, None)))


def _rate(row: Row) -> str:
    return "" if row.largest_rate_per_s is None else f"{amount(row.largest_rate_per_s)}/s"


def _money(row: Row) -> str:
    if row.usd_total is not None:
        return usd(row.usd_total)
    if row.usd_per_h is not None:
        return f"{usd(row.usd_per_h)}/h"
    hours = f"{amount(row.gpu_hours)} GPU-hours, " if row.gpu_hours and row.duration_s else ""
    return f"{hours}no price"


def skipped(plan: Plan) -> list[str]:
    """A line for each reason to skip candidates, the most frequent first, with their number and
    one of them: "3 such as 8 × H100 SXM5 80GB, vllm, bf16: fewer of them hold every limit"."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in plan.pruned.items():
        by_reason.setdefault(reason, []).append(name)
    order = sorted(by_reason.items(), key=lambda item: -len(item[1]))
    lines = [
        f"  {names[0] if len(names) == 1 else f'{len(names)} such as {names[0]}'}: {reason}"
        for reason, names in order
    ]
    if len(lines) > _REASONS:
        lines[_REASONS - 1 :] = [f"  {len(lines) - _REASONS + 1} other reasons with --json"]
    return lines
