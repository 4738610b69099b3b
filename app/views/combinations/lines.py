"""The lines of combinations: all lines faint, the matching lines above them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QLineF, QSize, Qt
from PySide6.QtGui import QPainter, QPen, QPixmap

from app.scenes.pixel_scale import Floats
from app.theme import Theme, mixed, ordered_colours
from app.widgets.paint import Paint, faint
from simulator.prediction import REGIMES

_DASHED, _MANY = 250, 2000
_DASHES: dict[str, tuple[float, ...]] = {"memory": (2, 3), "overhead": (7, 3)}
"""Dash patterns distinguish the regimes without colour; compute is solid. With more than `_DASHED`
lines the dashes would run together, so all are solid."""
_PACK = 1 << 20  # larger than any pixel coordinate: packs both ends of a line into one number


@dataclass(frozen=True)
class LineStyle:
    """The colour of a group of lines, and its dashes unless there are many lines."""

    colour: str
    dashes: tuple[float, ...] = ()


Styles = Callable[[Theme], Sequence[LineStyle]]


def regime_styles(theme: Theme) -> list[LineStyle]:
    """The styles of the regimes."""
    return [LineStyle(theme.regime(regime).fill, _DASHES.get(regime, ())) for regime in REGIMES]


def ordered_styles(count: int) -> Styles:
    """The styles of `count` values in their order."""
    return lambda theme: [LineStyle(colour) for colour in ordered_colours(theme, count)]


class Lines:
    """The lines of one table; `groups` holds an index into the styles per row. Painted pixmaps are
    cached, so that moving a brush repaints the matching lines only."""

    def __init__(self, groups: NDArray[np.int64], styles: Styles = regime_styles) -> None:
        self.groups, self.styles = groups, styles
        self._below: tuple[Hashable, QPixmap] | None = None
        self._above: tuple[Hashable, QPixmap] | None = None

    def draw(
        self,
        paint: Paint,
        size: QSize,
        xs: list[float],
        ys: Floats,
        matching: NDArray[np.bool_],
        brushes: Hashable,
    ) -> None:
        """Draw rows with y coordinates `ys` [rows, axes] at the axes `xs`; `brushes` is the cache
        key of `matching`."""
        theme, painter = paint.theme, paint.painter
        filtered = not matching.all()
        if paint.vector:
            if filtered:
                _faint(painter, theme, xs, ys)
            self._matching(painter, theme, xs, ys, matching)
            return
        key = theme.name, size.width(), size.height(), paint.ratio
        smooth = len(ys) < _MANY
        if filtered:
            if self._below is None or self._below[0] != key:
                self._below = (
                    key,
                    _painted(size, paint.ratio, smooth, lambda p: _faint(p, theme, xs, ys)),
                )
            painter.drawPixmap(0, 0, self._below[1])
        own = key, brushes
        if self._above is None or self._above[0] != own:
            self._above = (
                own,
                _painted(
                    size, paint.ratio, smooth, lambda p: self._matching(p, theme, xs, ys, matching)
                ),
            )
        painter.drawPixmap(0, 0, self._above[1])

    def _matching(
        self,
        painter: QPainter,
        theme: Theme,
        xs: list[float],
        ys: Floats,
        matching: NDArray[np.bool_],
    ) -> None:
        """Draw the matching lines group by group."""
        for number, style in enumerate(self.styles(theme)):
            drawn = segments(xs, ys[matching & (self.groups == number)])
            strength = float(np.clip(400 / max(1, len(drawn)), 0.16, 0.7))
            pen = QPen(faint(style.colour, strength), 1.0)
            if style.dashes and len(drawn) < _DASHED:
                pen.setDashPattern(style.dashes)
            painter.setPen(pen)
            painter.drawLines(drawn)


def segments(xs: list[float], ys: Floats) -> list[QLineF]:
    """Return the line segments of rows between neighbouring axes, without duplicates. Ends are
    rounded to one pixel, or to three for `_MANY` rows or more."""
    grain = 1.0 if len(ys) < _MANY else 3.0
    places = np.round(ys / grain).astype(np.int64) + _PACK // 2
    lines: list[QLineF] = []
    for at in range(len(xs) - 1) if len(ys) else ():
        both = np.unique(places[:, at] * _PACK + places[:, at + 1])
        ends = (np.stack([both // _PACK, both % _PACK], axis=1) - _PACK // 2) * grain
        lines += [QLineF(xs[at], a, xs[at + 1], b) for a, b in ends.tolist()]
    return lines


def _faint(painter: QPainter, theme: Theme, xs: list[float], ys: Floats) -> None:
    painter.setPen(faint(mixed(theme.ink3, theme.bg1, 0.5), 0.35))
    painter.drawLines(segments(xs, ys))


def _painted(size: QSize, ratio: float, smooth: bool, draw: Callable[[QPainter], None]) -> QPixmap:
    drawn = QPixmap(size * ratio)
    drawn.setDevicePixelRatio(ratio)
    drawn.fill(Qt.GlobalColor.transparent)
    painter = QPainter(drawn)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, smooth)
    draw(painter)
    painter.end()
    return drawn
