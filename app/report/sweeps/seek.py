"""Goals and their answers: a table on the terminal, a document, rows."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from app.answers.sweeps.goals import Search, shown_value
from app.quantities import between, seconds
from app.report.exports import csv_text
from app.report.tables import numbers, regime_text, table, words
from app.terminal import Terminal
from simulator.scenario.text.command import as_command

FORMAT, VERSION = "ridgepoint-seek", 1


def entry(search: Search) -> dict[str, Any]:
    """A goal and its answer as a flat row."""
    result = search.sought
    p = result.prediction if result else None
    low, high = p.interval_s if p else (None, None)
    return {
        "goal": search.kind,
        "question": search.question,
        "axis": search.axis,
        "wanted": search.target,
        "value": result and result.value,
        "beyond": result and result.beyond,
        "sentence": result.sentence if result else None,
        "period_s": p and p.period_s,
        "low_s": low,
        "high_s": high,
        "latency_s": p and p.latency_s,
        "regime": p and p.regime,
        "memory_bytes": p and p.peak_memory_bytes + p.workspace_bytes,
        "fits": p and p.fits,
        "reason": search.reason or None,
        "retraced": search.retraced or None,
        "retraced_at": sorted(result.traced) if result else [],
    }


def document(searches: list[Search], heading: str) -> dict[str, Any]:
    """The answers as a JSON document, each with the command that predicts it."""
    rows: list[dict[str, Any]] = []
    for search in searches:
        applied = as_command(search.sought.scenario, "whatif") if search.sought else None
        rows.append({**entry(search), "command": applied})
    return {"format": FORMAT, "version": VERSION, "title": heading, "answers": rows}


def as_csv(searches: list[Search]) -> str:
    """One row per goal."""
    rows = [entry(search) for search in searches]
    return csv_text(list(rows[0]), rows)


def show(searches: list[Search], heading: str) -> None:
    """Print a table of goals and answers, then each answer as a sentence."""
    console = Terminal(highlight=False)
    width = min(console.width, 120)
    console.print()
    console.print(Text(heading, "bold"), width=width)
    console.print()
    shown = table()
    words(shown, "goal")
    numbers(shown, "answer", "step time", "80%")
    words(shown, "bound by")
    for search in searches:
        if search.sought is None:
            shown.add_row(search.question, Text("none", "yellow"), "", "", "")
            continue
        p = search.sought.prediction
        shown.add_row(
            search.question,
            Text(shown_value(search), "bold"),
            seconds(p.period_s),
            between(*p.interval_s, p.period_s),
            regime_text(p.regime),
        )
    console.print(shown, width=width)
    console.print()
    for search in searches:
        if search.sought:
            line = f"{search.question}: {search.sought.sentence}"
            if search.retraced:
                line += f"; {search.retraced}"
            console.print(Text(line, "dim"), width=width)
        else:
            line = Text(f"{search.question}: ").append(search.reason, "yellow")
            console.print(line, width=width)
    if any(search.sought for search in searches):
        console.print("every answer is verified by a prediction at that point", style="dim")
