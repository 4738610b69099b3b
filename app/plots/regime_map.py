"""A regime map: the largest share by colour and pattern, boundaries, equal times, memory limit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyqtgraph as pg  # pyright: ignore[reportMissingTypeStubs]
from numpy.typing import NDArray
from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter, QPainterPath

from app.plots.lines import Stroke, polyline
from app.plots.marks import Area, Mark, fill_pattern
from app.plots.picture import Picture
from app.quantities import data, seconds, trimmed
from app.scenes.field import MapAxis, across, middle
from app.scenes.map_field import map_field
from app.scenes.ticks import Ticks, choice_ticks, decade_ticks, place, value_ticks
from app.theme import BODY_PX, CASING_WIDTH, CEILING_WIDTH, LABEL_PX, Theme
from simulator.prediction import REGIMES, Regime
from simulator.scenario.resolve import resolve

if TYPE_CHECKING:
    from app.answers.mapped import Mapped

_DEEPEST = 0.85  # the lead that is drawn deepest
_DEPTH = "Colour is the largest share, depth is how far it leads. "
_LINES = "Thick: regime boundary. Thin: equal step time"


class MapPicture(Picture):
    """One plot over two axes."""

    SIZE = (1000, 720)

    def __init__(self, theme: Theme, mapped: Mapped, heading: str) -> None:
        smooth = across(mapped.x).smooth and across(mapped.y).smooth
        super().__init__(theme, heading, _DEPTH + (_LINES if smooth else "Figures: step time"))
        self.mapped, self.field = mapped, map_field(mapped)
        self.along, self.up = self.field.along, self.field.up
        self.chart = self.plot()
        self.chart.setXRange(self.along.low, self.along.high, padding=0)
        self.chart.setYRange(self.up.low, self.up.high, padding=0)
        self.ticks(self.chart, "bottom", self._ticks(self.along), grid=False)
        self.ticks(self.chart, "left", self._ticks(self.up), grid=False)
        self.axis_title(self.chart, "bottom", mapped.x.label)
        self.axis_title(self.chart, "left", mapped.y.label)
        self._ground()
        if smooth:
            self._equal_times()
            self._boundaries()
        else:
            self._figures()
        self._unanswered()
        self._names()

    def _ticks(self, axis: MapAxis) -> Ticks:
        if axis.smooth:
            values = [float(v) for v in axis.line.values if isinstance(v, int | float)]
            few = len(values) <= 11
            return value_ticks(values, 11) if few else decade_ticks(values[0], values[-1], 12)
        return choice_ticks(axis.line.values)

    def _region(self, inside: NDArray[np.bool_]) -> QPainterPath:
        """The fine cells of a region as one path, by runs along the rows."""
        path = QPainterPath()
        for row in range(inside.shape[0]):
            changes = np.flatnonzero(np.diff(np.concatenate(([0], inside[row].view(np.int8), [0]))))
            low, high = self.up.edges[row], self.up.edges[row + 1]
            for begin, end in changes.reshape(-1, 2).tolist():
                left, right = self.along.edges[begin], self.along.edges[end]
                path.addRect(QRectF(left, low, right - left, high - low))
        return path.simplified() if path.elementCount() < 4000 else path

    def _ground(self) -> None:
        """Each cell in its regime's colour, the deeper the further it leads; patterns above."""
        item = pg.ImageItem(self.field.colours(self.theme), axisOrder="row-major", levels=(0, 255))
        item.setRect(
            QRectF(
                self.along.low,
                self.up.low,
                self.along.high - self.along.low,
                self.up.high - self.up.low,
            )
        )
        self.chart.addItem(item)
        for regime in REGIMES:
            inside = self.field.inside(regime)
            if regime != "compute" and inside.any():
                self.chart.addItem(Pattern(self.theme, regime, self._region(inside)))

    def _equal_times(self) -> None:
        for level, lines in self.field.equal_times():
            for line in lines:
                self.chart.addItem(Stroke(self._placed(line), self.theme.ink3, 1.0))
            longest = max(lines, key=len, default=None)
            if longest is not None:
                at = self._inner(longest)
                if not self.field.is_over(*at):
                    self.pill(self.chart, trimmed(seconds(level)), *at, self.theme.ink2)

    def _inner(self, line: NDArray[np.float64]) -> tuple[float, float]:
        """A point of a line near its right end, kept off the borders."""
        at = np.log2(line if line[0, 0] <= line[-1, 0] else line[::-1])
        wide, high = self.along.high - self.along.low, self.up.high - self.up.low
        steps = np.hypot(np.diff(at[:, 0]) / wide, np.diff(at[:, 1]) / high)
        way = np.concatenate(([0.0], np.cumsum(steps)))
        x, y = (float(np.interp(0.8 * way[-1], way, at[:, i])) for i in range(2))
        return (
            min(max(x, self.along.low + 0.05 * wide), self.along.high - 0.05 * wide),
            min(max(y, self.up.low + 0.03 * high), self.up.high - 0.03 * high),
        )

    def _placed(self, line: NDArray[np.float64]) -> QPainterPath:
        return polyline([(place(x), place(y)) for x, y in line.tolist()])

    def _boundaries(self) -> None:
        for boundary in self.mapped.map.boundaries:
            for line in boundary.lines:
                stroke = Stroke(
                    self._placed(line), self.theme.ink, CEILING_WIDTH, casing=self.theme.bg0
                )
                stroke.setZValue(10)
                self.chart.addItem(stroke)

    def _figures(self) -> None:
        """The time in each cell, where an axis has no values between its points."""
        rows, columns = self.mapped.map.period_s.shape
        for row in self._some(self.up, rows, 16):
            for column in self._some(self.along, columns, 9):
                period = self.mapped.map.period_s[row, column]
                if np.isfinite(period):
                    x, y = self._at(self.along, column), self._at(self.up, row)
                    self.pill(self.chart, seconds(float(period), 2), x, y, self.theme.ink)

    @staticmethod
    def _some(axis: MapAxis, count: int, most: int) -> range:
        """Every n-th value; those at the ends of a smooth axis have no room."""
        step = -(-count // most)
        return range(step if axis.smooth else 0, count - 1 if axis.smooth else count, step)

    @staticmethod
    def _at(axis: MapAxis, index: int) -> float:
        value = axis.line.values[index]
        smooth = axis.smooth and isinstance(value, int | float)
        return place(float(value)) if smooth else float(index)  # pyright: ignore

    def _unanswered(self) -> None:
        """What has no answer, and what does not fit, hatched."""
        known, over = self.field.known, self.field.over
        if (~known).any():
            self.chart.addItem(Area(self.theme, "refused", self._region(~known)))
            self._name_area(~known, "No answer", self.mapped.map.refused[0])
        if over.any():
            self.chart.addItem(Area(self.theme, "refused", self._region(over)))
            self._limit()
            cards = {resolve(s).gpu.memory_bytes for s in self.mapped.sweep.scenarios[:1]}
            why = (
                f"more than {data(next(iter(cards)))}"
                if "gpu" not in (self.mapped.x.name, self.mapped.y.name)
                else "more than the GPU has"
            )
            self._name_area(over, "Does not fit", why)

    def _limit(self) -> None:
        """The line along which memory is full, dotted."""
        for line in self.field.limit():
            path = self._placed(line)
            self.chart.addItem(Stroke(path, self.theme.bg0, CASING_WIDTH))
            self.chart.addItem(Stroke(path, self.theme.ink, CEILING_WIDTH, True))

    def _name_area(self, inside: NDArray[np.bool_], text: str, why: str) -> None:
        at = middle(inside, self.along, self.up)
        if at:
            short = why if len(why) <= 34 else why[:33] + "…"
            self.pill(self.chart, f"{text}\n{short}", *at, self.theme.ink)

    def _names(self) -> None:
        """The name of each regime with its mark, where it has most room."""
        if not self.field.smooth:
            self._legend()
            return
        places = self.field.places()
        for regime, at in places.items():
            self.chart.addItem(Mark(self.theme, regime, at[0], at[1], 8.0))
            ink = self.theme.regime(regime).ink
            left = at[0] > self.along.low + 0.75 * (self.along.high - self.along.low)
            anchor = (1.16 if left else -0.16, 0.5)
            self.pill(self.chart, f"{regime.capitalize()}-bound", *at, ink, anchor, 600, BODY_PX)
        fits = self.field.known & ~self.field.over
        if any((self.field.inside(r) & fits).any() for r in REGIMES if r not in places):
            self._legend()

    def _legend(self) -> None:
        words = {"compute": "▲ compute", "memory": "● memory", "overhead": "■ overhead"}
        seen = [r for r in REGIMES if self.field.inside(r).any()]
        self.row += 1
        for column, regime in enumerate(seen):
            self.row -= 1
            self.heading(words[regime], LABEL_PX, 600, self.theme.regime(regime).ink, column, 1)


class Pattern(Area):
    """A regime's pattern alone, faint, above the colour of its region."""

    def __init__(self, theme: Theme, regime: Regime, path: QPainterPath) -> None:
        super().__init__(theme, regime, path)
        self.setOpacity(0.35)

    def paint(self, painter: QPainter, option: Any = None, widget: Any = None) -> None:
        outline = painter.transform().map(self.path)
        painter.save()
        painter.resetTransform()
        fill_pattern(painter, outline, self.theme, self.kind, 0.55, ground=False)
        painter.restore()
