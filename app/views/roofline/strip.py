"""The strip beside the roofline: the overhead of a step, by kind."""

from __future__ import annotations

from PySide6.QtCore import QRectF

from app.quantities import seconds
from app.scenes.roofline import overhead_parts
from app.theme import LABEL_PX, SUPPORT_PX
from app.widgets.paint import Paint
from simulator.prediction import Prediction


def overhead_strip(paint: Paint, bar: QRectF, p: Prediction) -> None:
    """Draw the step as a bar: its overhead hatched, by part; the kernels take the rest."""
    theme = paint.theme
    parts = overhead_parts(p)
    total = sum(s for _, s in parts)
    left = bar.left() - 4
    paint.text(left, bar.top() - 30, "Overhead", theme.overhead.ink, SUPPORT_PX, 600)
    paint.text(left, bar.top() - 14, seconds(total), theme.ink3)
    paint.area(bar, theme.bg3, radius=2)
    whole = max(p.period_s, total, 1e-12)
    floor, spots = bar.top(), list[tuple[str, str, float]]()
    for name, value in parts:
        if value <= 0:
            continue
        high = bar.height() * value / whole
        box = QRectF(bar.left(), floor, bar.width(), max(high - 1, 1.0))
        paint.area(box, "overhead", edge=theme.overhead.fill if high > 5 else "", radius=2)
        spots.append((name, seconds(value), floor + high / 2))
        floor += high
    rest = max(0.0, whole - total)
    spots.append(("kernels", seconds(rest), (floor + bar.bottom()) / 2))
    _beside(paint, spots, bar)


def _beside(paint: Paint, spots: list[tuple[str, str, float]], bar: QRectF) -> None:
    """Draw names and figures right of a bar, pushed apart where they would overlap."""
    theme, high = paint.theme, 30.0
    places = [y for _, _, y in spots]
    for _ in range(12):
        for i in range(1, len(places)):
            near = high - (places[i] - places[i - 1])
            if near > 0:
                places[i - 1] -= near / 2
                places[i] += near / 2
        places = [min(max(y, bar.top() + 12), bar.bottom() - 12) for y in places]
    for (name, value, at), y in zip(spots, places, strict=True):
        paint.line([(bar.right() + 1, at), (bar.right() + 7, y)], theme.line2)
        paint.text(bar.right() + 10, y - 7, name, theme.ink, LABEL_PX, 600)
        paint.text(bar.right() + 10, y + 7, value, theme.ink3)
