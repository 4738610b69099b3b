"""Stacked shares of time along an axis, and lines at the regime shifts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from app.charts.sweep.frame import Frame, pairs
from app.drawing import (
    Box,
    Item,
    Line,
    Metrics,
    Path,
    Pattern,
    pill,
    polygon,
    regime_ink,
)
from app.drawing.colours import STACK
from app.scenes.pixel_scale import Floats
from app.scenes.sweep.curves import value_words
from app.theme import LABEL_PX
from simulator.prediction import Regime

_LEAST_PX = 20.0
_EDGE_PX = 38.0


def stacked_shares(
    area: Box, xs: Floats, shares: Mapping[str, Floats], lines: list[float], metrics: Metrics
) -> list[Item]:
    """The regimes' stacked shares at the pixels `xs`, with names where no vertical line crosses
    them; `lines` are the pixels of these lines."""
    items: list[Item] = []
    floor = np.zeros(xs.size)
    for regime in STACK:
        band = shares[regime]
        top = floor + band
        low_y, high_y = (area.bottom - area.height * v for v in (floor, top))
        if band.max() > 0:
            outline = polygon([*pairs(xs, low_y), *reversed(pairs(xs, high_y))])
            items += (Path(outline, Pattern(regime)), Line(pairs(xs, high_y), "bg1"))
        thick = band * area.height
        inner = (xs > area.left + _EDGE_PX) & (xs < area.right - _EDGE_PX)
        for line in lines:
            inner &= np.abs(xs - line) > 0.5 * metrics.width(regime, LABEL_PX, 600) + 8
        if inner.any():
            at = int(np.argmax(np.where(inner, thick, -1.0)))
            if thick[at] >= _LEAST_PX:
                middle = float(xs[at]), float(low_y[at] + high_y[at]) / 2
                items.append(pill(metrics, *middle, regime, regime_ink(regime), weight=600))
        floor = top
    return items


def shares(frame: Frame, metrics: Metrics) -> list[Item]:
    """The first curve's shares."""
    first = frame.scene.curves[0]
    lines = frame.shifts + ([frame.x.at(first.here[0])] if first.here else [])
    return stacked_shares(frame.below, frame.x.many(first.values), first.columns, lines, metrics)


def shift_lines(frame: Frame) -> list[Item]:
    """Dashed lines at the shifts through both halves, in the colour of the regime that begins."""
    items: list[Item] = []
    for at, _, after in _known(frame):
        line = ((at, frame.top.top), (at, frame.below.bottom))
        items += (Line(line, "bg1", 3.4), Line(line, regime_ink(after), 1.6, "dashed"))
    return items


def shift_names(frame: Frame, metrics: Metrics) -> list[Item]:
    """The regime that begins at each shift, and its first value."""
    top, middle = frame.top, (frame.top.bottom + frame.below.top) / 2
    taken: list[Box] = []
    items: list[Item] = []
    for at, first, after in _known(frame):
        value = f"about {value_words(first)}" if frame.scene.about else value_words(first)
        for words in (f"{after}-bound from {value}", value):
            half = pill(metrics, 0, 0, words, weight=600).box.width / 2
            x = min(max(at, top.left + half), top.right - half)
            name = pill(metrics, x, middle, words, regime_ink(after), weight=600)
            if not any(name.box.intersects(box) for box in taken):
                taken.append(name.box)
                items.append(name)
                break
    return items


def _known(frame: Frame) -> Iterator[tuple[float, float, Regime]]:
    for shift in frame.scene.shifts:
        if shift.first is not None and shift.after is not None:
            yield frame.x.at(shift.first), shift.first, shift.after
