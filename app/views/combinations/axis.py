"""One axis of the parallel coordinates: its title, its values, its brush."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QRectF

from app.scenes.combinations.table import CombinationColumn
from app.scenes.pixel_scale import Floats, Scale
from app.theme import LABEL_PX, SUPPORT_PX, mixed
from app.widgets.paint import Paint, elided, width

TOP, FOOT = 48.0, 34.0
_BAR_PX, _BAR_HIGH_PX = 44.0, 5.0
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


def draw_axis(
    paint: Paint,
    column: CombinationColumn,
    x: float,
    height: float,
    title_room: float,
    value_room: float,
    low: bool,
    here: bool,
    brush: Brush | None,
) -> None:
    """Draw an axis at pixel `x`. `title_room` and `value_room` are the widths for its title and
    its values, `low` puts the title on the second line, and `here` marks the axis that has the
    keyboard focus."""
    theme, scale, foot = paint.theme, scale_of(column, height), height - FOOT
    paint.line([(x, TOP), (x, foot)], theme.ink if here else theme.line2, 2.0 if here else 1.4)
    ink = theme.ink if column.words else theme.ink2
    paint.text(
        x, TOP - (16 if low else 33), column.name, ink, SUPPORT_PX, 600, 0.5, room=title_room
    )
    values = places(column, scale)
    fit = max(1, int((foot - TOP) / 15))
    for value in values[:: max(1, -(-len(values) // fit))]:
        words, side = column.value_text(value), -7 if column.words else 7
        if width(words) > value_room - 14:
            words = elided(words, value_room - 14)
        align = 1.0 if side < 0 else 0.0
        paint.pill(x + side, scale.at(value), words, theme.ink2, LABEL_PX, 400, align)
    if brush is not None:
        top, bottom = max(TOP, scale.at(brush[1])), min(foot, scale.at(brush[0]))
        box = QRectF(x - 6, top - 3, 12, bottom - top + 6)
        paint.area(box, mixed(theme.b, theme.bg1, 0.35), radius=3)
        paint.box(box, "", theme.b, 3, wide=1.6)


def draw_share(paint: Paint, x: float, height: float, share: float, apart: float) -> None:
    """Draw the share of a figure's spread that the axis at pixel `x` explains, below the axis."""
    theme, y = paint.theme, height - 10
    words = f"{share:.0%}"
    wide = min(_BAR_PX, apart - width("100%", LABEL_PX, 600) - 22)
    if wide < 16:
        paint.text(x, y, words, theme.ink, LABEL_PX, 600, 0.5)
        return
    left = x - (wide + 6 + width(words, LABEL_PX, 600)) / 2
    bar = QRectF(left, y - _BAR_HIGH_PX / 2, wide, _BAR_HIGH_PX)
    paint.area(bar, theme.bg3, radius=2)
    paint.area(QRectF(bar.left(), bar.top(), share * wide, _BAR_HIGH_PX), theme.ink2, radius=2)
    paint.text(left + wide + 6, y, words, theme.ink, LABEL_PX, 600)


def draw_median(paint: Paint, x: float, y: float, colour: str) -> None:
    """Draw the median of a group on the axis at pixel `x`."""
    paint.line([(x - 9, y), (x + 9, y)], colour, 3.0, casing=paint.theme.bg1)


def next_brush(column: CombinationColumn, scale: Scale, brush: Brush | None, step: int) -> Brush:
    """The brush at the next value, or a tenth of a figure's range away; without a brush, the first
    or the last one."""
    if column.words:
        here = brush[0] if brush else (-step / 2 if step > 0 else len(column.words))
        at = min(max(round(here + 0.4) + (step if brush else 0), 0), len(column.words) - 1)
        return at - 0.4, at + 0.4
    ends: Floats = np.linspace(scale.low, scale.high, 11)
    if scale.log:  # between the smallest and largest value: the axis extends beyond both
        positive: Floats = column.values[column.values > 0]
        if positive.size:
            ends = np.geomspace(float(positive.min()), float(positive.max()), 11)
    low = brush[0] if brush else float(ends[0 if step > 0 else 9])
    place = int(np.argmin(np.abs(ends - low)))
    place = min(max(place + (step if brush else 0), 0), 9)
    return float(ends[place]), float(ends[place + 1])


def places(column: CombinationColumn, scale: Scale) -> list[float]:
    """The values that are written beside an axis."""
    if column.words:
        return [float(place) for place in range(len(column.words))]
    if column.share:
        return list(_SHARES)
    return np.geomspace(scale.low * 1.05, scale.high / 1.05, _TICKS).tolist()
