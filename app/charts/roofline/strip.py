"""The strip beside the roofline: the overhead of a step, by kind."""

from __future__ import annotations

from app.drawing import Box, Item, Line, Pattern, Rectangle, Text
from app.quantities import seconds
from app.scenes.roofline import overhead_parts
from app.theme import SUPPORT_PX
from simulator.prediction import Prediction

_APART_PX, _END_PX, _EDGED_PX = 30.0, 12.0, 5.0
_PUSHES = 12


def overhead_strip(bar: Box, p: Prediction) -> list[Item]:
    """The step as a bar: its kernels, and the hatched parts of its overhead. A low bar names only
    the largest parts."""
    parts = overhead_parts(p)
    total = sum(s for _, s in parts)
    left = bar.left - 4
    items: list[Item] = [
        Text(left, bar.top - 30, "Overhead", "overhead_ink", SUPPORT_PX, 600),
        Text(left, bar.top - 14, seconds(total), "ink3"),
        Rectangle(bar, "bg3", radius=2),
    ]
    whole = max(p.period_s, total, 1e-12)
    floor, named = bar.top, list[tuple[str, str, float]]()
    for name, value in parts:
        if value <= 0:
            continue
        high = bar.height * value / whole
        box = Box(bar.left, floor, bar.width, max(high - 1, 1.0))
        edge = "overhead" if high > _EDGED_PX else None
        items.append(Rectangle(box, Pattern("overhead"), edge, 1.4, radius=2))
        named.append((name, seconds(value), floor + high / 2))
        floor += high
    rest = max(0.0, whole - total)
    named.append(("kernels", seconds(rest), (floor + bar.bottom) / 2))
    sizes = [*(value for _, value in parts if value > 0), rest]
    fitting = 1 + int(max(0.0, bar.height - 2 * _END_PX) / _APART_PX)
    largest = sorted(range(len(named)), key=lambda i: -sizes[i])[:fitting]
    return [*items, *_beside([named[i] for i in sorted(largest)], bar)]


def _beside(named: list[tuple[str, str, float]], bar: Box) -> list[Item]:
    """Names and figures to the right of a bar, pushed apart where they would overlap."""
    places = [y for _, _, y in named]
    for _ in range(_PUSHES):
        for i in range(1, len(places)):
            near = _APART_PX - (places[i] - places[i - 1])
            if near > 0:
                places[i - 1] -= near / 2
                places[i] += near / 2
        places = [min(max(y, bar.top + _END_PX), bar.bottom - _END_PX) for y in places]
    for i in range(1, len(places)):
        places[i] = max(places[i], places[i - 1] + _APART_PX)
    for i in range(len(places) - 1, -1, -1):
        below = places[i + 1] - _APART_PX if i + 1 < len(places) else bar.bottom - _END_PX
        places[i] = min(places[i], below)
    items: list[Item] = []
    for (name, value, at), y in zip(named, places, strict=True):
        items += (
            Line(((bar.right + 1, at), (bar.right + 7, y)), "line2"),
            Text(bar.right + 10, y - 7, name, "ink", weight=600),
            Text(bar.right + 10, y + 7, value, "ink3"),
        )
    return items
