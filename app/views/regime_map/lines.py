"""The lines of a regime map and their names, in pixels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PySide6.QtCore import QPointF, QRectF

from app.quantities import seconds, trimmed
from app.scenes.field import Floats
from app.scenes.regime_map import Chart
from app.scenes.ticks import place
from app.theme import BODY_PX, CEILING_WIDTH, SUPPORT_PX
from app.widgets.label_layout import Labels
from app.widgets.paint import Paint, pill_box, width
from simulator.prediction import Regime

At = Callable[[float, float], QPointF]
"""Returns the pixel of a position on both axes."""

_LIMIT: dict[Regime, str] = {
    "compute": "limited by arithmetic",
    "memory": "limited by bandwidth",
    "overhead": "limited by host and launches",
}
_ALONG = (0.8, 0.66, 0.5, 0.9, 0.35, 0.2)  # positions of a label on its line


def placed(line: Floats, at: At) -> list[tuple[float, float]]:
    """Return a line of values in pixels."""
    spots = [at(place(x), place(y)) for x, y in line.tolist()]
    return [(spot.x(), spot.y()) for spot in spots]


def boundaries(paint: Paint, chart: Chart, at: At) -> None:
    """Draw the lines where two regimes have equal shares, and where memory is full."""
    assert chart.field is not None
    theme = paint.theme
    for line in chart.limit:
        spots = placed(line, at)
        paint.line(spots, theme.bg0, CEILING_WIDTH + 2.8)
        paint.line(spots, theme.ink, CEILING_WIDTH, dotted=True)
    for boundary in chart.field.mapped.map.boundaries if chart.field.smooth else ():
        for line in boundary.lines:
            spots = placed(line, at)
            paint.line(spots, theme.ink, CEILING_WIDTH, casing=theme.bg0)


def equal_times(paint: Paint, chart: Chart, at: At) -> None:
    """Draw the lines of equal time."""
    for _, lines in chart.times:
        for line in lines:
            paint.line(placed(line, at), paint.theme.ink, 1.0, opacity=0.42)


def time_names(paint: Paint, chart: Chart, at: At, labels: Labels) -> None:
    """Label the lines of equal time where there is room."""
    for level, lines in chart.times:
        longest = max(lines, key=len, default=None)
        if longest is None:
            continue
        spots = np.array(placed(longest, at))
        spots = spots if spots[0, 0] <= spots[-1, 0] else spots[::-1]
        way = np.concatenate(([0.0], np.cumsum(np.hypot(*np.diff(spots, axis=0).T))))
        words = trimmed(seconds(level))
        for share in _ALONG:
            x, y = (float(np.interp(share * way[-1], way, spots[:, i])) for i in (0, 1))
            box = pill_box(x, y, words)
            if labels.free(box):
                labels.take(box.adjusted(-4, -2, 4, 2))
                paint.pill(x, y, words, paint.theme.ink)
                break


def regime_card(
    paint: Paint,
    regime: Regime,
    middle: QPointF,
    labels: Labels,
    belongs: Callable[[QPointF], bool],
) -> None:
    """Label a regime near the middle of its area with its mark, name and limit. `belongs` tells
    whether a pixel lies in the area. Without room, draw the name alone, or nothing."""
    theme = paint.theme
    name, limit = f"{regime.capitalize()}-bound", _LIMIT[regime]
    bold = width(name, BODY_PX, 600)
    for wide, high in ((46 + max(bold, width(limit)), 44.0), (46 + bold, 28.0)):
        box = _room(QRectF(0, 0, wide, high), middle, labels, belongs)
        if box is None:
            continue
        labels.take(box.adjusted(-4, -4, 4, 4))
        paint.box(box, theme.bg1, theme.line, 6)
        paint.mark(regime, box.left() + 19, box.center().y(), 7)
        y = box.top() + 15 if high > 30 else box.center().y()
        paint.text(box.left() + 36, y, name, theme.regime(regime).ink, BODY_PX, 600)
        if high > 30:
            paint.text(box.left() + 36, box.top() + 31, limit, theme.ink2)
        return


def _room(
    box: QRectF, middle: QPointF, labels: Labels, belongs: Callable[[QPointF], bool]
) -> QRectF | None:
    """Return the free box nearest to the middle that lies in the area, or None."""
    steps = [(x, y) for x in range(-240, 241, 40) for y in range(-240, 241, 40)]
    for x, y in sorted(steps, key=lambda step: abs(step[0]) + 1.5 * abs(step[1])):
        box.moveCenter(middle + QPointF(x, y))
        corners = (box.topLeft(), box.topRight(), box.bottomLeft(), box.bottomRight())
        if labels.free(box) and all(map(belongs, corners)):
            return box
    return None


def note(paint: Paint, middle: QPointF, head: str, why: str, labels: Labels) -> None:
    """Label an area that cannot run, or that does not fit in memory."""
    theme = paint.theme
    wide = 20 + max(width(head, SUPPORT_PX, 600), width(why))
    box = QRectF(0, 0, wide, 38)
    box.moveCenter(middle)
    inside = labels.inside
    box.moveLeft(min(max(box.left(), inside.left() + 4), inside.right() - wide - 4))
    box.moveTop(min(max(box.top(), inside.top() + 4), inside.bottom() - 42))
    if not labels.free(box):
        return
    labels.take(box)
    paint.box(box, theme.bg1, theme.line, 6)
    paint.text(box.center().x(), box.top() + 12, head, theme.ink, SUPPORT_PX, 600, 0.5)
    paint.text(box.center().x(), box.top() + 27, why, theme.ink2, align=0.5)
