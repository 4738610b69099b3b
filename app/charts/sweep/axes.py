"""The axes of a sweep: times and shares vertically, the swept values horizontally."""

from __future__ import annotations

from app.charts.sweep.frame import Frame
from app.drawing import Box, Item, Line, Metrics, Text
from app.quantities import seconds_unit
from app.scenes.pixel_scale import Scale
from app.scenes.sweep.curves import value_words
from app.scenes.ticks import factor_ticks
from app.theme import LABEL_PX

_SHARES = ((0.0, "0"), (0.5, "50%"), (1.0, "100%"))
_VALUE_PX, _TIME_PX = 62.0, 16.0
"""The room for a value below, and for a time at the left."""


def upward(frame: Frame) -> list[Item]:
    """The axis labels: times left of the upper half, shares left of the lower half."""
    top, below, y = frame.top, frame.below, frame.y
    items: list[Item] = []
    unit_s, unit = seconds_unit(y.high / 1.25)
    most = min(6, max(2, int(top.height / _TIME_PX)))
    for value, name in Scale(y.low / unit_s, y.high / unit_s, 0, 1, True).ticks(most):
        at = y.at(value * unit_s)
        if not top.top - 1 <= at <= top.bottom + 1:
            continue
        items.append(Line(((top.left, at), (top.right, at)), "grid"))
        if at > top.top + 6:
            items.append(Text(top.left - 8, at, name, "ink3", anchor="end"))
    if frame.titled:
        for words, area in ((f"Step time, {unit}", top), ("Share of time", below)):
            place = frame.box.left + 8, area.centre[1]
            items.append(Text(*place, words, "ink3", anchor="middle", turn=-90))
    else:
        items.append(Text(top.left - 8, top.top - 6, unit, "ink3", anchor="end"))
    for share, name in _SHARES:
        if share != 0.5 or below.height >= 34:
            at = below.bottom - share * below.height
            items.append(Text(below.left - 8, at, name, "ink3", anchor="end"))
    return items


def along(frame: Frame, metrics: Metrics) -> list[Item]:
    """Values below both halves; the value of the first curve's scenario takes precedence."""
    top, x, foot = frame.top, frame.x, frame.below.bottom + 13
    box = frame.box
    items: list[Item] = []

    def inside(middle: float, wide: float) -> float:
        return min(max(middle, box.left + wide / 2 + 2), box.right - wide / 2 - 2)

    taken = Box(0, 0, 0, 0)
    here = frame.scene.curves[0].here
    if here is not None and x.low <= here[0] <= x.high:
        words = value_words(here[0])
        wide = metrics.width(words, LABEL_PX, 600)
        middle = inside(x.at(here[0]), wide)
        items.append(Text(middle, foot, words, "ink", LABEL_PX, 600, "middle"))
        taken = Box(middle - wide / 2 - 8, foot - 6, wide + 16, 12)
    for place, name in factor_ticks(x.low, x.high, max(3, int(top.width / _VALUE_PX))):
        at, wide = x.at(2.0**place), metrics.width(name)
        items.append(Line(((at, top.top), (at, top.bottom)), "grid"))
        if not taken.intersects(Box(at - wide / 2, foot - 6, wide, 12)):
            items.append(Text(inside(at, wide), foot, name, "ink3", anchor="middle"))
    if not frame.flat:
        items.append(Text(top.centre[0], foot + 18, frame.scene.title, "ink3", anchor="middle"))
    return items
