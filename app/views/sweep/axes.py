"""The axes of a sweep: times and shares vertically, the swept values horizontally."""

from __future__ import annotations

from PySide6.QtCore import QRectF

from app.quantities import seconds_unit
from app.scenes.pixel_scale import Scale
from app.scenes.sweep_curves import value_words
from app.scenes.ticks import factor_ticks
from app.theme import LABEL_PX
from app.widgets.paint import Paint, width

Halves = tuple[QRectF, QRectF]
"""The area of times, and the area of shares below it."""


def upward(paint: Paint, halves: Halves, y: Scale) -> None:
    """Draw times left of the upper half and shares left of the lower half."""
    theme = paint.theme
    top, below = halves
    unit_s, unit = seconds_unit(y.high / 1.25)
    most = min(6, max(2, int(top.height() / 16)))
    for value, name in Scale(y.low / unit_s, y.high / unit_s, 0, 1, True).ticks(most):
        at = y.at(value * unit_s)
        if not top.top() - 1 <= at <= top.bottom() + 1:
            continue
        paint.line([(top.left(), at), (top.right(), at)], theme.grid)
        if at > top.top() + 6:
            paint.text(top.left() - 8, at, name, theme.ink3, align=1.0)
    paint.text(top.left() - 8, top.top() - 6, unit, theme.ink3, align=1.0)
    for share, name in ((0.0, "0"), (0.5, "50%"), (1.0, "100%")):
        if share == 0.5 and below.height() < 34:
            continue
        at = below.bottom() - share * below.height()
        paint.text(below.left() - 8, at, name, theme.ink3, align=1.0)


def along(paint: Paint, halves: Halves, x: Scale, here: float, title: str, edge: float) -> None:
    """Draw values below both halves. `here` takes precedence; no text crosses pixel `edge`."""
    theme = paint.theme
    top, below = halves
    foot = below.bottom() + 13

    def inside(middle: float, wide: float) -> float:
        return min(max(middle, wide / 2 + 2), edge - wide / 2 - 2)

    taken = QRectF()
    if x.low <= here <= x.high:
        words = value_words(here)
        taken = paint.text(
            inside(x.at(here), width(words, LABEL_PX, 600)),
            foot,
            words,
            theme.ink,
            LABEL_PX,
            600,
            0.5,
        )
        taken.adjust(-8, 0, 8, 0)
    most = max(3, int(top.width() / 62))
    for place, name in factor_ticks(x.low, x.high, most):
        at = x.at(2.0**place)
        paint.line([(at, top.top()), (at, top.bottom())], theme.grid)
        wide = width(name)
        if not taken.intersects(QRectF(at - wide / 2, foot - 6, wide, 12)):
            paint.text(inside(at, wide), foot, name, theme.ink3, align=0.5)
    paint.text(top.center().x(), foot + 18, title, theme.ink3, align=0.5)
