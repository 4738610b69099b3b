"""Shares of time stacked along an axis, each regime with its pattern."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.drawing.colours import STACK
from app.plots.marks import Area, polygon, rectangle
from app.plots.picture import Picture
from simulator.prediction import REGIMES


def stacked(
    picture: Picture,
    plot: object,
    xs: Sequence[float],
    shares: Sequence[Sequence[float]],
    bars: bool = False,
) -> None:
    """Areas over positions; `shares` gives for each position those of REGIMES. With `bars`, one
    bar a position."""
    order = [REGIMES.index(name) for name in STACK]  # pyright: ignore[reportArgumentType]
    floor = [0.0] * len(xs)
    for name, index in zip(STACK, order, strict=True):
        top = [low + each[index] for low, each in zip(floor, shares, strict=True)]
        if bars:
            for x, low, high in zip(xs, floor, top, strict=True):
                if high > low:
                    path = rectangle(x - 0.34, low, x + 0.34, high)
                    plot.addItem(Area(picture.theme, name, path))  # pyright: ignore
        elif max(t - f for t, f in zip(top, floor, strict=True)) > 0:
            ring = [*zip(xs, floor, strict=True), *reversed(list(zip(xs, top, strict=True)))]
            plot.addItem(Area(picture.theme, name, polygon(ring)))  # pyright: ignore
        floor = top
    if bars:
        return
    for name, index in zip(STACK, order, strict=True):
        _label(picture, plot, name, xs, shares, index, order)


def _label(
    picture: Picture,
    plot: object,
    name: str,
    xs: Sequence[float],
    shares: Sequence[Sequence[float]],
    index: int,
    order: Sequence[int],
) -> None:
    """The regime's name in the middle of its band, if that is wide enough there."""
    across = np.array(xs)
    band = np.array([each[index] for each in shares])
    below = np.array([sum(each[o] for o in order[: order.index(index)]) for each in shares])
    area = np.trapezoid(band, across)
    if area <= 0:
        return
    span = xs[-1] - xs[0]
    middle = float(np.trapezoid(band * across, across) / area)
    at = min(max(middle, xs[0] + 0.06 * span), xs[-1] - 0.06 * span)
    thick = float(np.interp(at, across, band))
    if thick < 0.2:
        at = float(across[int(np.argmax(band))])
        at = min(max(at, xs[0] + 0.06 * span), xs[-1] - 0.06 * span)
        thick = float(np.interp(at, across, band))
    if thick >= 0.2:
        y = float(np.interp(at, across, below)) + thick / 2
        ink = picture.theme.regime(name).ink
        picture.pill(plot, name, at, y, ink, weight=600)  # pyright: ignore
