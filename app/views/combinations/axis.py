"""One axis of the parallel coordinates: its title, its values, its brush."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QRectF

from app.scenes.combinations.table import CombinationColumn
from app.scenes.pixel_scale import Scale
from app.theme import LABEL_PX, SUPPORT_PX, mixed
from app.widgets.paint import Paint, elided, width

TOP, FOOT = 48.0, 18.0
TITLE_GAP = 8.0
_TICKS, _SHARES = 4, (0.0, 0.25, 0.5, 0.75, 1.0)
Brush = tuple[float, float]


def scale_of(column: CombinationColumn, height: float) -> Scale:
    """The vertical scale of a column: choices evenly spaced, shares from 0 to 1, other figures
    logarithmic."""
    foot = height - FOOT
    if column.words:
        return Scale(0, max(1, len(column.words) - 1), foot - 8, TOP + 8)
    if column.share:
        return Scale(-0.02, 1.02, foot, TOP)
    positive = column.values[column.values > 0]
    low, high = (float(positive.min()), float(positive.max())) if positive.size else (1.0, 2.0)
    return Scale(low / 1.05, max(high, 1.001 * low) * 1.05, foot, TOP, True)


def staggered(columns: tuple[CombinationColumn, ...], apart: float) -> bool:
    """Return whether titles on one line would overlap."""
    return any(width(c.name, SUPPORT_PX, 600) + TITLE_GAP > apart for c in columns)


def draw_axis(
    paint: Paint,
    column: CombinationColumn,
    x: float,
    height: float,
    apart: float,
    low: bool,
    here: bool,
    brush: Brush | None,
) -> None:
    """Draw an axis at pixel `x`. `apart` is the distance to the next axis, `low` puts the title on
    the second line, and `here` marks the axis that has the keyboard focus."""
    theme, scale, foot = paint.theme, scale_of(column, height), height - FOOT
    paint.line([(x, TOP), (x, foot)], theme.ink if here else theme.line2, 2.0 if here else 1.4)
    room = (2 if low or staggered((column,), apart) else 1) * apart - TITLE_GAP
    ink = theme.ink if column.words else theme.ink2
    paint.text(x, TOP - (16 if low else 33), column.name, ink, SUPPORT_PX, 600, 0.5, room=room)
    places = _places(column, scale)
    fit = max(1, int((foot - TOP) / 15))
    for value in places[:: max(1, -(-len(places) // fit))]:
        words, side = column.value_text(value), -7 if column.words else 7
        if width(words) > apart - 22:
            words = elided(words, apart - 22)
        align = 1.0 if side < 0 else 0.0
        paint.pill(x + side, scale.at(value), words, theme.ink2, LABEL_PX, 400, align)
    if brush is not None:
        top, bottom = max(TOP, scale.at(brush[1])), min(foot, scale.at(brush[0]))
        box = QRectF(x - 6, top - 3, 12, bottom - top + 6)
        paint.area(box, mixed(theme.b, theme.bg1, 0.35), radius=3)
        paint.box(box, "", theme.b, 3, wide=1.6)


def _places(column: CombinationColumn, scale: Scale) -> list[float]:
    """The values that are written beside an axis."""
    if column.words:
        return [float(place) for place in range(len(column.words))]
    if column.share:
        return list(_SHARES)
    return np.geomspace(scale.low * 1.05, scale.high / 1.05, _TICKS).tolist()
