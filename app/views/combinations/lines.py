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
Ints = NDArray[np.int64]


def regime_styles(theme: Theme) -> list[LineStyle]:
    """The styles of the regimes."""
    return [LineStyle(theme.regime(regime).fill, _DASHES.get(regime, ())) for regime in REGIMES]


def ordered_styles(count: int) -> Styles:
    """The styles of `count` values in their order."""
    return lambda theme: [LineStyle(colour) for colour in ordered_colours(theme, count)]


class Lines:
    """The lines of one table; `groups` holds the index of each row's style. Painted pixmaps are
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
        """Draw the matching lines group by group. Where lines of several groups coincide between
        two axes, draw one line in a neutral colour."""
        grain = _grain(int(matching.sum()))
        styles = self.styles(theme)
        each = [
            _ends(ys[matching & (self.groups == number)], grain) for number in range(len(styles))
        ]
        if self.styles is not regime_styles:
            common = [_common(gaps) for gaps in zip(*each, strict=True)]
            _draw(painter, LineStyle(theme.ink3), _lines(xs, common, grain))
            each = [
                [np.setdiff1d(gap, known) for gap, known in zip(gaps, common, strict=True)]
                for gaps in each
            ]
        for style, gaps in zip(styles, each, strict=True):
            _draw(painter, style, _lines(xs, gaps, grain))


def segments(xs: list[float], ys: Floats) -> list[QLineF]:
    """Return the line segments of rows between neighbouring axes, without duplicates. Ends are
    rounded to one pixel, or to three for `_MANY` rows or more."""
    grain = _grain(len(ys))
    return _lines(xs, _ends(ys, grain), grain)


def _grain(rows: int) -> float:
    """The pixels to which ends are rounded."""
    return 1.0 if rows < _MANY else 3.0


def _ends(ys: Floats, grain: float) -> list[Ints]:
    """Both ends of the distinct segments in each gap between axes, packed into one number."""
    places = np.round(ys / grain).astype(np.int64) + _PACK // 2
    gaps = range(ys.shape[1] - 1)
    return [np.unique(places[:, at] * _PACK + places[:, at + 1]) for at in gaps]


def _common(groups: Sequence[Ints]) -> Ints:
    """The segments of one gap that several groups share; no group has a segment twice."""
    values, counts = np.unique(np.concatenate(groups), return_counts=True)
    return values[counts > 1]


def _lines(xs: list[float], gaps: Sequence[Ints], grain: float) -> list[QLineF]:
    """The segments of all gaps as lines."""
    lines: list[QLineF] = []
    for at, both in enumerate(gaps):
        ends = (np.stack([both // _PACK, both % _PACK], axis=1) - _PACK // 2) * grain
        lines += [QLineF(xs[at], a, xs[at + 1], b) for a, b in ends.tolist()]
    return lines


def _draw(painter: QPainter, style: LineStyle, drawn: list[QLineF]) -> None:
    strength = float(np.clip(400 / max(1, len(drawn)), 0.16, 0.7))
    pen = QPen(faint(style.colour, strength), 1.0)
    if style.dashes and len(drawn) < _DASHED:
        pen.setDashPattern(style.dashes)
    painter.setPen(pen)
    painter.drawLines(drawn)


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
