"""Waterfalls inside a box, and as files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.charts.page import below, head, headings
from app.charts.waterfall.bars import RING_PX, RING_WIDTH, change_bar, scenario_bar, whisker
from app.charts.waterfall.frame import End, Frame
from app.drawing import Box, Drawing, Item, Line, Marker, Metrics, Rectangle, Text, fitting
from app.drawing.colours import SIDES
from app.quantities import between, change, plain, seconds, seconds_unit
from app.scenes.ticks import linear_ticks
from app.scenes.waterfall import highest_s
from app.theme import BODY_PX

if TYPE_CHECKING:
    from simulator.analysis.compare import Comparison, Waterfall

_LEAST_PX, _BAR_PX, _HIGH_PX, _EACH_PX = 720.0, 150.0, 600.0, 400.0
_TICK_PX = 40.0
_LETTERS = "ABCD"
_ADDED = "Each change is predicted on top of those to its left, so the changes add up"


def waterfall(
    frame: Frame, ends: tuple[End, End], metrics: Metrics, over: int | None = None
) -> list[Item]:
    """The bars of the first and the last scenario, divided by their shares, and one bar per change
    between them. The bar `over` is outlined."""
    fall, area, y = frame.fall, frame.plot, frame.y
    scale, unit = seconds_unit(highest_s(fall))
    items, legend_left = _legend(frame, metrics)
    title = fitting(metrics, legend_left - frame.box.left - 8, f"Step time, {unit}", unit)
    items.append(Text(frame.box.left, area.top - 18, title, "ink3"))
    for value in linear_ticks(0.0, y.high / scale, max(2, int(area.height / _TICK_PX))):
        at = y.at(value * scale)
        items.append(Line(((area.left, at), (area.right, at)), "grid"))
        items.append(Text(area.left - 8, at, plain(value), "ink3", anchor="end"))
    bars = [
        scenario_bar(frame, ends[0], 0, metrics),
        *(change_bar(frame, step, i + 1, metrics) for i, step in enumerate(fall.steps)),
        scenario_bar(frame, ends[1], frame.count - 1, metrics),
    ]
    for place, bar in enumerate(bars):
        items += bar
        if place == over:
            boxes = [item.box for item in bar if isinstance(item, Rectangle) and item.edge]
            outline = boxes[0].grown(3)
            items.append(Rectangle(outline, edge="ink", edge_width=1.6, radius=4))
    return items


def _legend(frame: Frame, metrics: Metrics) -> tuple[list[Item], float]:
    """The legend of whiskers and rings, from right to left, and its left end."""
    right, y = frame.plot.right, frame.plot.top - 18
    words = "80% interval of the step"
    items: list[Item] = [Text(right, y, words, "ink3", anchor="end")]
    left = right - metrics.width(words)
    items += whisker(left - 9, y - 5, y + 5)
    if len(frame.fall.steps) > 1:
        words, right = "this change alone", left - 28
        items.append(Text(right, y, words, "ink3", anchor="end"))
        left = right - metrics.width(words)
        items.append(Marker(left - 10, y, None, RING_PX, "ink", True, edge_width=RING_WIDTH))
    return items, left - 18


def waterfall_page(
    fall: Waterfall, heading: str, names: tuple[str, str], metrics: Metrics
) -> Drawing:
    """A waterfall as a file."""
    interval = between(*fall.b.interval_s, fall.b.period_s)
    _, unit = seconds_unit(fall.b.period_s, 2)
    about = f"{_ADDED}. 80% interval after: {interval} {unit}"
    width = max(_LEAST_PX, 190 + _BAR_PX * (len(fall.steps) + 2))
    items, top = head(heading, about, width, metrics)
    ends = End(names[0], "a"), End(names[1], "b")
    items += waterfall(Frame(below(top + 8, width, _HIGH_PX), fall), ends, metrics)
    return Drawing(width, _HIGH_PX, tuple(items), title=heading)


def comparison_page(comparison: Comparison, names: tuple[str, ...], metrics: Metrics) -> Drawing:
    """A waterfall from A to each other scenario, one below another."""
    first, *others = comparison.predictions
    steps = max(len(fall.steps) for fall in comparison.waterfalls)
    width = max(_LEAST_PX + 40, 190 + _BAR_PX * (steps + 2))
    height = 130 + _EACH_PX * len(comparison.waterfalls)
    heading = f"A  {names[0]}: {seconds(first.period_s)} per step, {first.regime}-bound"
    items, top = head(heading, _ADDED, width, metrics)
    each = (below(top, width, height).height) / len(comparison.waterfalls)
    for index, (fall, p) in enumerate(zip(comparison.waterfalls, others, strict=True)):
        letter, name, colour = _LETTERS[index + 1], names[index + 1], SIDES[index + 1]
        words = f"{letter}  {name}: {seconds(p.period_s)} per step, "
        words += f"{change(first.period_s, p.period_s)}, {p.regime}-bound"
        lines, under = headings([(words, BODY_PX, 600, colour)], top + 8, width, metrics)
        box = below(under + 4, width, 0)
        box = Box.between(box.left, box.top, box.right, top + each)
        ends = End(names[0], "a", "A"), End(name, colour, letter)
        items += [*lines, *waterfall(Frame(box, fall), ends, metrics)]
        top += each
    return Drawing(width, height, tuple(items), title=heading)
