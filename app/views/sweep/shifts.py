"""Regime shifts along a sweep: vertical lines through both halves, and their labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from PySide6.QtCore import QRectF

from app.scenes.pixel_scale import Scale
from app.scenes.sweep_curves import value_words
from app.views.sweep.axes import Halves
from app.widgets.paint import Paint, pill_box
from simulator.analysis.regimes import Shift
from simulator.prediction import Regime


def lines(paint: Paint, halves: Halves, x: Scale, shifts: Iterable[Shift]) -> None:
    """Draw dashed lines through both halves in the colour of the regime that begins."""
    top, below = halves
    for first, after in _known(shifts):
        line = [(x.at(first), top.top()), (x.at(first), below.bottom())]
        paint.line(line, paint.theme.bg1, 3.4)
        paint.line(line, paint.theme.regime(after).ink, 1.6, dashed=True)


def places(x: Scale, shifts: Iterable[Shift]) -> list[float]:
    """Pixels of the lines along the axis."""
    return [x.at(first) for first, _ in _known(shifts)]


def names(paint: Paint, halves: Halves, x: Scale, shifts: Iterable[Shift], about: bool) -> None:
    """Label each shift with the regime that begins and its first value, approximate if `about`."""
    top, below = halves
    middle = (top.bottom() + below.top()) / 2
    taken: list[QRectF] = []
    for first, after in _known(shifts):
        value = f"about {value_words(first)}" if about else value_words(first)
        for words in (f"{after}-bound from {value}", value):
            wide = pill_box(0, 0, words, weight=600).width()
            centre = min(max(x.at(first), top.left() + wide / 2), top.right() - wide / 2)
            box = pill_box(centre, middle, words, weight=600)
            if not any(box.intersects(t) for t in taken):
                taken.append(box)
                paint.pill(centre, middle, words, paint.theme.regime(after).ink, weight=600)
                break


def _known(shifts: Iterable[Shift]) -> Iterator[tuple[float, Regime]]:
    for shift in shifts:
        if shift.first is not None and shift.after is not None:
            yield shift.first, shift.after
