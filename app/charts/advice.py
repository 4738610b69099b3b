"""Advice as bars: the saving of each what-if end to end, with interval and cause."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.answers.subject import to_full_text
from app.charts.page import LEFT_PX, RIGHT_PX, head
from app.drawing import Box, Drawing, Item, Line, Metrics, Rectangle, Role, Text, elided
from app.quantities import percent, seconds
from app.theme import LABEL_PX, SUPPORT_PX

if TYPE_CHECKING:
    from simulator.analysis.advice import Advice, Advised

WIDE_PX, _ROW_PX, _LINE_PX, _AXIS_PX = 1160.0, 46.0, 15.0, 28.0
_BARS = 0.52  # share of the width; figures and causes are to the right of the bars
_WHAT = {"code": "code", "what is computed": "changes results", "machine": "hardware"}
_SAVED = {"time": "time per sample", "memory": "memory", "money": "money per sample"}


def advice_page(advised: Advised, heading: str, top: int, metrics: Metrics) -> Drawing:
    """The best pieces of advice, the largest gain on top."""
    chosen = advised.advice[:top]
    base = advised.baseline
    about = (
        f"{seconds(base.period_s)} per step, {base.regime}-bound. Bars: share of "
        f"{_SAVED[advised.by]} saved end to end, each what-if alone. Lines: 80% interval of the "
        "new step"
    )
    items, y = head(heading, about, WIDE_PX, metrics)
    y += 8
    bars = Box(LEFT_PX, y, _BARS * (WIDE_PX - LEFT_PX - RIGHT_PX), 0)
    for advice in chosen:
        causes = wrapped(advice.warning or advice.cause, _room(bars), metrics)
        if advice.caution:
            causes += wrapped(advice.caution, _room(bars), metrics)
        items += _row(advice, advised, causes, Box(bars.left, y, bars.width, 10), metrics)
        y += max(_ROW_PX, 26 + _LINE_PX * len(causes))
    if not chosen:
        items.append(Text(bars.centre[0], y + 16, "no what-if saves 0.5% or more", anchor="middle"))
        y += _ROW_PX
    for quarter in range(5):
        words = percent(quarter / 4)
        items.append(
            Text(bars.left + quarter / 4 * bars.width, y + 10, words, "ink3", anchor="middle")
        )
    return Drawing(WIDE_PX, y + _AXIS_PX, tuple(items), title=heading)


def _room(bars: Box) -> float:
    """The width to the right of the bars."""
    return WIDE_PX - RIGHT_PX - bars.right - 16


def _row(
    advice: Advice, advised: Advised, causes: list[str], row: Box, metrics: Metrics
) -> list[Item]:
    """The name above a bar, its figures and its cause to the right."""
    name = " ".join(map(to_full_text, advice.applied))
    label = _WHAT[advice.changes]
    room = row.width - metrics.width(label) - 16
    bar = Box(row.left, row.top + 20, row.width, 11)
    gain = Box(bar.left, bar.top, bar.width * max(0.0, min(1.0, advice.gain)), bar.height)
    colour: Role = "b" if advice.fits else "danger"
    ink: Role = "c" if advice.warning else "ink3"
    short = elided(metrics, name, room, SUPPORT_PX, 600)
    figures = f"−{percent(advice.gain)}   {seconds(advice.period_s)} a step"
    left = row.right + 16
    items: list[Item] = [
        Text(row.left, row.top + 9, short, "ink", SUPPORT_PX, 600),
        Text(row.right, row.top + 9, label, "ink3", anchor="end"),
        Rectangle(bar, "bg3", radius=2),
        Rectangle(gain, colour, radius=2),
        Text(left, row.top + 9, figures, "ink", SUPPORT_PX, 600),
    ]
    for index, words in enumerate(causes):
        items.append(Text(left, row.top + 25 + _LINE_PX * index, words, ink))
    if advised.by == "time":
        low, high = (bar.left + bar.width * at for at in _interval(advice, advised))
        y = bar.centre[1]
        items.append(Line(((low, y), (high, y)), "ink", 1.6, casing="bg1"))
    return items


def _interval(advice: Advice, advised: Advised) -> tuple[float, float]:
    """The gain at both ends of the interval of the new step, within the bar."""
    samples = advice.period_s / advice.sample_s if advice.sample_s else 1.0
    before = advised.baseline.period_s / max(advised.baseline.trace.samples, 1)
    low, high = (
        min(1.0, max(0.0, 1 - end / samples / before)) for end in reversed(advice.interval_s)
    )
    return low, high


def wrapped(text: str, room: float, metrics: Metrics) -> list[str]:
    """A sentence, wrapped into lines of `room` pixels."""
    lines = [""]
    for word in text.split():
        line = f"{lines[-1]} {word}".lstrip()
        if lines[-1] and metrics.width(line, LABEL_PX) > room:
            lines.append(word)
        else:
            lines[-1] = line
    return lines
