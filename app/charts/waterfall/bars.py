"""The bars of a waterfall: both scenarios by their shares, and the changes between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.charts.waterfall.frame import End, Frame
from app.drawing import (
    Box,
    Colour,
    Item,
    Line,
    Marker,
    Metrics,
    Mix,
    Pattern,
    Rectangle,
    Role,
    Text,
    elided,
    pill,
    regime_ink,
)
from app.drawing.colours import STACK
from app.quantities import change, plain, seconds, seconds_unit, signed_seconds
from app.scenes.waterfall import broken, highest_s
from app.theme import BODY_PX, LABEL_PX, SUPPORT_PX

if TYPE_CHECKING:
    from simulator.analysis.compare import Step

RING_PX, RING_WIDTH = 4.6, 1.8
_LINES, _LINE_PX = 3, 15.0
_ASIDE_PX = 9.0  # pixels from a bar's edge to its whisker and to its ring
_CASING: tuple[tuple[Colour, float], ...] = (("bg1", 4.0), ("ink", 1.5))


def scenario_bar(frame: Frame, end: End, place: int, metrics: Metrics) -> list[Item]:
    """A scenario's time by its shares, with its interval, its letter and its name."""
    p, column, y = frame.fall.b if place else frame.fall.a, frame.column(place), frame.y
    middle = column.centre[0]
    items: list[Item] = [_joint(frame, place, p.period_s)] if place else []
    floor = 0.0
    for regime in STACK:
        top = floor + p.shares[regime] * p.period_s
        box = Box.between(column.left, y.at(top), column.right, y.at(floor))
        if box.height > 0.3:
            items.append(Rectangle(box, Pattern(regime)))
        if box.height > 22 and column.width > metrics.width(regime) + 14:
            items.append(pill(metrics, *box.centre, regime, regime_ink(regime)))
        floor = top
    whole = Box.between(column.left, y.at(floor), column.right, column.bottom)
    items.append(Rectangle(whole, edge=end.colour, edge_width=2.0, radius=3))
    items += whisker(column.right - _ASIDE_PX, *map(y.at, p.interval_s))
    top = min(y.at(p.interval_s[1]), whole.top) - 10
    words = seconds(p.period_s)
    with_change = f"{words} ({change(frame.fall.a.period_s, p.period_s)})"
    if place and metrics.width(with_change, BODY_PX, 600) < frame.room:
        words = with_change
    items.append(Text(middle, top, words, "ink", BODY_PX, 600, "middle"))
    items += _name(frame, end, middle, column.bottom, metrics)
    if not end.letter:
        below = column.bottom + 13 + _LINE_PX
        words = f"{p.regime}-bound"
        items.append(Text(middle, below, words, regime_ink(p.regime), anchor="middle"))
    return items


def _name(frame: Frame, end: End, x: float, bottom: float, metrics: Metrics) -> list[Item]:
    """A scenario's letter as a badge, and its name."""
    items: list[Item] = []
    at = bottom + 13
    if end.letter:
        badge = Box(x - 10, bottom + 7, 20, 20)
        items = [
            Rectangle(badge, end.colour, Mix(end.colour, 0.7, "bg0"), radius=6),
            Text(*badge.centre, end.letter, "on_compute", BODY_PX, 600, "middle"),
        ]
        at = badge.bottom + 12
    name = elided(metrics, end.name, frame.room - 6)
    return [*items, Text(x, at, name, "ink2", anchor="middle")]


def whisker(x: float, low: float, high: float) -> list[Item]:
    """An interval, as pixels from top to bottom."""
    lines = (
        ((x, low), (x, high)),
        ((x - 4, low), (x + 4, low)),
        ((x - 4, high), (x + 4, high)),
    )
    return [Line(line, colour, width) for colour, width in _CASING for line in lines]


def change_bar(frame: Frame, step: Step, place: int, metrics: Metrics) -> list[Item]:
    """A change on top of the previous changes, with a ring for the change alone."""
    fall, column, y = frame.fall, frame.column(place), frame.y
    middle = column.centre[0]
    before_s = step.period_s - step.change_s
    before, after = y.at(before_s), y.at(step.period_s)
    worse = step.change_s > 0
    colour: Role = "danger" if worse else "b"
    top = min(before, after)
    box = Box(column.left, top, column.width, max(2.0, abs(after - before)))
    low, high = sorted(map(y.at, step.interval_s))
    items: list[Item] = [
        _joint(frame, place, before_s),
        Rectangle(box, Mix(colour, 0.45), colour, 1.4, radius=3),
        *whisker(column.right - _ASIDE_PX, low, high),
    ]
    if step.alone_s is not None and len(fall.steps) > 1:
        at = column.left + _ASIDE_PX, y.at(fall.a.period_s + step.alone_s)
        items.append(Marker(*at, None, RING_PX, "ink", True, edge_width=RING_WIDTH))
    words, px = _change(frame, step, metrics)
    ink: Role = "danger" if worse else "ink"
    items.append(pill(metrics, middle, min(top, low) - 10, words, ink, px, 600))
    for index, words in enumerate(_lines(step.label, frame.room - 6, metrics)[:_LINES]):
        ink, weight = ("ink", 500) if index == 0 else ("ink3", 400)
        short = elided(metrics, words, frame.room - 6, LABEL_PX, weight)
        at = column.bottom + 13 + _LINE_PX * index
        items.append(Text(middle, at, short, ink, LABEL_PX, weight, "middle"))
    return items


def _joint(frame: Frame, place: int, time_s: float) -> Line:
    """A dashed line from the previous bar to this one."""
    y = frame.y.at(time_s)
    ends = (frame.column(place - 1).right, y), (frame.column(place).left, y)
    return Line(ends, "ink3", dash="dashed")


def _change(frame: Frame, step: Step, metrics: Metrics) -> tuple[str, int]:
    """The text and font size with which a change fits: with its unit, or as a number in the axis's
    unit."""
    scale, _ = seconds_unit(highest_s(frame.fall))
    sign = "+" if step.change_s > 0 else ""
    for digits, px in ((3, SUPPORT_PX), (2, LABEL_PX)):
        words = signed_seconds(step.change_s, digits)
        if metrics.width(words, px, 600) + 12 < frame.room:
            return words, px
    return f"{sign}{plain(round(step.change_s / scale, 2))}", LABEL_PX


def _lines(label: str, room: float, metrics: Metrics) -> list[str]:
    """A change's name as lines, with more breaks until each line fits."""
    text = broken(label)
    for old, new in (("=", "\n"), ("+", ""), ("_", "\n")):
        if all(metrics.width(line, LABEL_PX, 500) <= room for line in text.split("\n")):
            break
        text = text.replace(old, new)
    return text.split("\n")
