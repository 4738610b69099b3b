"""Labels of a lesson's plot: values beside points, and the strip of regimes below."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from PySide6.QtCore import QRectF

from app.drawing.geometry import Box
from app.drawing.labels import Labels
from app.lessons.outcome import Curve, Outcome
from app.lessons.words import Word
from app.scenes.pixel_scale import Scale
from app.theme import SUPPORT_PX
from app.widgets.drawn import rect
from app.widgets.paint import Paint, pill_box, width
from simulator.prediction import Regime

STRIP = 12.0


def regime_strip(paint: Paint, outcome: Outcome, curve: Curve, area: QRectF, along: Scale) -> None:
    """Draw the strip below the plot that shows the regime along the axis."""
    top = area.bottom() + 5
    spans: list[tuple[float, float, Regime]] = []
    for (last, first), (before, after) in zip(
        pairwise(curve.values.tolist()), pairwise(curve.regimes), strict=True
    ):
        middle = along.at((last * first) ** 0.5)
        shift = outcome.change
        if shift and shift.before == before and before != after:
            middle = along.at(shift.at)
        if not spans:
            spans.append((area.left(), area.left(), before))
        start, _, regime = spans[-1]
        spans[-1] = (start, middle if before != after else along.at(first), regime)
        if before != after:
            spans.append((middle, along.at(first), after))
    for left, right, regime in spans:
        box = QRectF(left, top, right - left, STRIP)
        paint.area(box, regime)
        words = f"{regime}-bound"
        if width(words, weight=600) + 14 < box.width():
            paint.pill(
                box.center().x(),
                box.center().y(),
                words,
                paint.theme.regime(regime).ink,
                weight=600,
            )


def label(
    paint: Paint,
    labels: Labels,
    x: float,
    y: float,
    lines: list[str],
    ink: str,
    ground: str,
    edge: str = "",
) -> None:
    """Draw one or two lines on a background at a free spot near a point."""
    boxes = [pill_box(0, 0, words, SUPPORT_PX, 600) for words in lines]
    wide, high = max(b.width() for b in boxes) + 6, 17.0 * len(lines) + 5
    room = next(filter(labels.free, _candidates(x, y, wide, high)), None)
    if room is None:
        if len(lines) > 1:
            label(paint, labels, x, y, lines[:1], ink, ground, edge)
        return
    labels.take(room)
    paint.box(rect(room), ground, edge, 4)
    for index, words in enumerate(lines):
        paint.text(
            room.left + 8,
            room.top + 11 + 17 * index,
            words,
            ink,
            SUPPORT_PX,
            600 if index == 0 else 400,
        )


def spanned(word: Word, bounds: tuple[float, float]) -> str:
    """Return an interval, with the unit once if both ends share it: "225 to 275 µs"."""
    low, high = (word.text(bound) for bound in bounds)
    figure, _, unit = low.partition(" ")
    return f"{figure if high.endswith(' ' + unit) else low} to {high}"


def _candidates(x: float, y: float, wide: float, high: float) -> Iterator[Box]:
    """Yield boxes beside a point, the preferred box first."""
    for gap in (11.0, 18.0):
        for rise in (0.5, 0.85, 0.15):
            yield Box(x + gap, y - rise * high, wide, high)
            yield Box(x - gap - wide, y - rise * high, wide, high)
    for lean in (0.5, 0.2, 0.8, 0.0, 1.0):
        yield Box(x - lean * wide, y - 12 - high, wide, high)
        yield Box(x - lean * wide, y + 12, wide, high)
