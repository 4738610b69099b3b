"""The axes of the roofline."""

from __future__ import annotations

from PySide6.QtCore import QRectF

from app.quantities import scaled
from app.scenes.pixel_scale import Scale
from app.scenes.ticks import decade_ticks
from app.widgets.paint import Paint


def axes(paint: Paint, area: QRectF, x: Scale, y: Scale, gutter: float, flat: bool) -> None:
    """Draw the axes of a plot. A `gutter` at its left holds launches without FLOPs; a `flat` plot
    omits the axis title."""
    theme = paint.theme
    for value, name in decade_ticks(x.low, x.high, 6):
        at = x.at(2.0**value)
        paint.line([(at, area.top()), (at, area.bottom())], theme.grid)
        if gutter and at < area.left() + gutter + 26:
            continue
        paint.text(at, area.bottom() + 11, _short(name), theme.ink3, align=0.5)
    for value, _ in decade_ticks(y.low, y.high, 6):
        at = y.at(2.0**value)
        paint.line([(area.left(), at), (area.right(), at)], theme.grid)
        amount, unit = scaled(2.0**value, "", 1).split(" ")
        paint.text(area.left() - 7, at, f"{amount} {unit}", theme.ink3, align=1.0)
    if gutter:
        edge = area.left() + gutter
        paint.line([(edge, area.top()), (edge, area.bottom())], theme.line)
        paint.text(area.left() - 4, area.bottom() + 11, "no FLOPs", theme.ink3)
    middle = (area.left() + gutter + area.right()) / 2
    if not flat:
        words = "Arithmetic intensity (FLOP/byte)"
        paint.text(middle, area.bottom() + 28, words, theme.ink3, align=0.5)
    paint.text(area.left() - 7, area.top() - 12, "FLOP/s", theme.ink3, align=1.0)


def _short(name: str) -> str:
    return name.replace(",000,000", "M").replace(",000", "k")
