"""The axes of the roofline."""

from __future__ import annotations

from app.charts.roofline.frame import Frame
from app.drawing import Item, Line, Text
from app.quantities import scaled
from app.scenes.ticks import decade_ticks


def axes(frame: Frame) -> list[Item]:
    """Grid lines with their labels, and the titles of the axes."""
    area, x, y = frame.plot, frame.x, frame.y
    items: list[Item] = []
    for value, name in decade_ticks(x.low, x.high, 6):
        at = x.at(2.0**value)
        items.append(Line(((at, area.top), (at, area.bottom)), "grid"))
        if not frame.gutter or at >= frame.left + 26:
            items.append(Text(at, area.bottom + 11, _short(name), "ink3", anchor="middle"))
    for value, _ in decade_ticks(y.low, y.high, 6):
        at = y.at(2.0**value)
        items.append(Line(((area.left, at), (area.right, at)), "grid"))
        items.append(Text(area.left - 7, at, scaled(2.0**value, "", 1), "ink3", anchor="end"))
    if frame.gutter:
        items.append(Line(((frame.left, area.top), (frame.left, area.bottom)), "line"))
        items.append(Text(area.left - 4, area.bottom + 11, "no FLOPs", "ink3"))
    if not frame.flat:
        middle = (frame.left + area.right) / 2
        words = "Arithmetic intensity (FLOP/byte)"
        items.append(Text(middle, area.bottom + 28, words, "ink3", anchor="middle"))
    items.append(Text(area.left - 7, area.top - 12, "FLOP/s", "ink3", anchor="end"))
    return items


def _short(name: str) -> str:
    return name.replace(",000,000", "M").replace(",000", "k")
