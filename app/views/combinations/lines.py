"""The lines of combinations as painted: all of them faint, and above them those that are kept."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QLineF, QSize, Qt
from PySide6.QtGui import QPainter, QPen, QPixmap

from app.scenes.pixel_scale import Floats
from app.theme import Theme, mixed
from app.widgets.paint import Paint, faint
from simulator.prediction import REGIMES

_DASHED, _MANY = 250, 2000
_DASHES: dict[str, list[float]] = {"memory": [2, 3], "overhead": [7, 3]}
"""A regime is told by its line too; compute's is whole. More dashes than `_DASHED` lines have
would run together into blocks."""
_PACK = 1 << 20  # above every pixel: two ends of a line are one number


class Lines:
    """Of one table, whose rows are in `regimes` (places in REGIMES). What was painted is kept: a
    brush that moves has only the kept lines painted anew."""

    def __init__(self, regimes: NDArray[np.int64]) -> None:
        self.regimes = regimes
        self._below: tuple[Hashable, QPixmap] | None = None
        self._above: tuple[Hashable, QPixmap] | None = None

    def draw(
        self,
        paint: Paint,
        size: QSize,
        xs: list[float],
        ys: Floats,
        kept: NDArray[np.bool_],
        brushes: Hashable,
    ) -> None:
        """Rows of heights `ys` at the axes `xs`; `brushes` are what `kept` follows from."""
        theme, painter = paint.theme, paint.painter
        some = not kept.all()
        if paint.vector:
            if some:
                _faint(painter, theme, xs, ys)
            self._kept(painter, theme, xs, ys, kept)
            return
        key = theme.name, size.width(), size.height(), paint.ratio
        smooth = len(ys) < _MANY
        if some:
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
                _painted(size, paint.ratio, smooth, lambda p: self._kept(p, theme, xs, ys, kept)),
            )
        painter.drawPixmap(0, 0, self._above[1])

    def _kept(
        self, painter: QPainter, theme: Theme, xs: list[float], ys: Floats, kept: NDArray[np.bool_]
    ) -> None:
        """Regime by regime."""
        for number, regime in enumerate(REGIMES):
            found = segments(xs, ys[kept & (self.regimes == number)])
            strength = float(np.clip(400 / max(1, len(found)), 0.16, 0.7))
            pen = QPen(faint(theme.regime(regime).fill, strength), 1.0)
            if regime in _DASHES and len(found) < _DASHED:
                pen.setDashPattern(_DASHES[regime])
            painter.setPen(pen)
            painter.drawLines(found)


def segments(xs: list[float], ys: Floats) -> list[QLineF]:
    """The lines of rows from axis to axis, those that run together once: to three pixels where
    there are many."""
    grain = 1.0 if len(ys) < _MANY else 3.0
    places = np.round(ys / grain).astype(np.int64) + _PACK // 2
    found: list[QLineF] = []
    for at in range(len(xs) - 1) if len(ys) else ():
        both = np.unique(places[:, at] * _PACK + places[:, at + 1])
        ends = (np.stack([both // _PACK, both % _PACK], axis=1) - _PACK // 2) * grain
        found += [QLineF(xs[at], a, xs[at + 1], b) for a, b in ends.tolist()]
    return found


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
