"""A regime map: colour and pattern of the largest share, boundaries, equal times, what does not
fit."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, Any

import numpy as np
import pyqtgraph as pg  # pyright: ignore[reportMissingTypeStubs]
from numpy.typing import NDArray
from PySide6.QtCore import QRectF
from PySide6.QtGui import QPainter, QPainterPath

from app.plots.field import Across, across, fine, middle
from app.plots.lines import Stroke, polyline
from app.plots.marks import Area, Mark, fill_pattern
from app.plots.picture import Picture
from app.plots.scale import Ticks, choice_ticks, decade_ticks, place, value_ticks
from app.quantities import data, seconds, trimmed
from app.theme import BODY_PX, CASING_WIDTH, CEILING_WIDTH, LABEL_PX, Theme, rgb
from simulator.prediction import REGIMES, Regime
from simulator.whatif.contours import contour
from simulator.whatif.setting import setting

if TYPE_CHECKING:
    from app.commands.regime_map import Mapped

_DEEPEST = 0.85  # a lead of this share is drawn as deep as can be
_DEPTH = "Colour is the largest share, depth is how far it leads. "
_LINES = "Thick: two regimes are equal. Thin: equal time a step"


class MapPicture(Picture):
    """One plot over two axes."""

    SIZE = (1000, 720)

    def __init__(self, theme: Theme, mapped: Mapped, heading: str) -> None:
        smooth = across(mapped.x).smooth and across(mapped.y).smooth
        super().__init__(theme, heading, _DEPTH + (_LINES if smooth else "Figures: time a step"))
        self.mapped = mapped
        self.along, self.up = across(mapped.x), across(mapped.y)
        self.chart = self.plot()
        self.chart.setXRange(self.along.low, self.along.high, padding=0)
        self.chart.setYRange(self.up.low, self.up.high, padding=0)
        self.ticks(self.chart, "bottom", self._ticks(self.along), grid=False)
        self.ticks(self.chart, "left", self._ticks(self.up), grid=False)
        self.axis_title(self.chart, "bottom", mapped.x.label)
        self.axis_title(self.chart, "left", mapped.y.label)
        shares = [fine(mapped.map.shares[:, :, i], self.along, self.up) for i in range(3)]
        self.shares = np.stack(shares, axis=-1)
        self._ground()
        self.over = np.asarray(fine(self._over(), self.along, self.up) > 0, np.bool_)
        if smooth:
            self._equal_times()
            self._boundaries()
        else:
            self._figures()
        self._unanswered()
        self._names()

    def _ticks(self, axis: Across) -> Ticks:
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
        ordered = np.sort(self.shares, axis=-1)
        lead = np.clip((ordered[:, :, 2] - ordered[:, :, 1]) / _DEEPEST, 0, 1)
        largest = np.argmax(np.nan_to_num(self.shares, nan=-1), axis=-1)
        known = np.asarray(np.isfinite(self.shares).all(axis=-1), np.bool_)
        colours = np.array([rgb(self.theme.regime(r).fill) for r in REGIMES])[largest]
        ground = np.array(rgb(self.theme.bg1))
        depth = (0.22 + 0.48 * lead)[:, :, None]
        image = np.where(known[:, :, None], colours * depth + ground * (1 - depth), ground)
        item = pg.ImageItem((255 * image).astype(np.uint8), axisOrder="row-major",
                            levels=(0, 255))  # fmt: skip
        item.setRect(QRectF(self.along.low, self.up.low, self.along.high - self.along.low,
                            self.up.high - self.up.low))  # fmt: skip
        self.chart.addItem(item)
        for index, regime in enumerate(REGIMES):
            inside = known & (largest == index)
            if regime != "compute" and inside.any():
                self.chart.addItem(Pattern(self.theme, regime, self._region(inside)))
        self.largest, self.known = largest, known

    def _equal_times(self) -> None:
        period = self.mapped.map.period_s
        seen = period[np.isfinite(period)]
        if not seen.size:
            return
        xs, ys = (np.array(axis.line.values, float) for axis in (self.along, self.up))
        for level in _levels(float(seen.min()), float(seen.max())):
            with np.errstate(divide="ignore"):
                field = np.log(period) - log(level)
            lines = contour(field, np.ones_like(field), xs, ys)
            for line in lines:
                self.chart.addItem(Stroke(self._placed(line), self.theme.ink3, 1.0))
            longest = max(lines, key=len, default=None)
            if longest is not None:
                text = trimmed(seconds(level))
                at = self._inner(longest)
                if not self._is_over(*at):
                    self.pill(self.chart, text, *at, self.theme.ink2)

    def _is_over(self, x: float, y: float) -> bool:
        """Does what stands at a point not fit?"""
        column, row = (int(np.clip(np.searchsorted(axis.edges, v) - 1, 0, len(axis.edges) - 2))
                       for axis, v in ((self.along, x), (self.up, y)))  # fmt: skip
        return bool(self.over[row, column])

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
                stroke = Stroke(self._placed(line), self.theme.ink, CEILING_WIDTH,
                                casing=self.theme.bg0)  # fmt: skip
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
    def _some(axis: Across, count: int, most: int) -> range:
        """Every n-th value; those at the ends of a smooth axis have no room."""
        step = -(-count // most)
        return range(step if axis.smooth else 0, count - 1 if axis.smooth else count, step)

    @staticmethod
    def _at(axis: Across, index: int) -> float:
        value = axis.line.values[index]
        smooth = axis.smooth and isinstance(value, int | float)
        return place(float(value)) if smooth else float(index)  # pyright: ignore

    def _unanswered(self) -> None:
        """What has no answer, and what does not fit, hatched."""
        if (~self.known).any():
            self.chart.addItem(Area(self.theme, "refused", self._region(~self.known)))
            self._name_area(~self.known, "No answer", self.mapped.map.refused[0])
        over = self.over
        if over.any():
            self.chart.addItem(Area(self.theme, "refused", self._region(over)))
            self._limit()
            cards = {setting(s).gpu.memory_bytes for s in self.mapped.sweep.scenarios[:1]}
            why = f"more than {data(next(iter(cards)))}" if "gpu" not in (
                self.mapped.x.name, self.mapped.y.name) else "more than the GPU has"  # fmt: skip
            self._name_area(over, "Does not fit", why)

    def _limit(self) -> None:
        """The line along which memory is full, dotted."""
        if self.along.smooth and self.up.smooth:
            field = self._over()
            xs, ys = (np.array(axis.line.values, float) for axis in (self.along, self.up))
            for line in contour(field, np.ones_like(field), xs, ys):
                path = self._placed(line)
                self.chart.addItem(Stroke(path, self.theme.bg0, CASING_WIDTH))
                self.chart.addItem(Stroke(path, self.theme.ink, CEILING_WIDTH, True))

    def _over(self) -> NDArray[np.float64]:
        """The logarithm of what is needed over what the GPU has, at each point."""
        need = self.mapped.column("peak_memory_bytes")
        rows = self.mapped.sweep.scenarios
        has = np.array([setting(s).gpu.memory_bytes for s in rows], float).reshape(need.shape)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(np.maximum(need, 1) / has)

    def _name_area(self, inside: NDArray[np.bool_], text: str, why: str) -> None:
        at = middle(inside, self.along, self.up)
        if at:
            short = why if len(why) <= 34 else why[:33] + "…"
            self.pill(self.chart, f"{text}\n{short}", *at, self.theme.ink)

    def _names(self) -> None:
        """The name of each regime with its mark, where it has most room."""
        if not (self.along.smooth and self.up.smooth):
            self._legend()
            return
        missing = False
        for index, regime in enumerate(REGIMES):
            inside = self.known & (self.largest == index) & ~self.over
            at = middle(inside, self.along, self.up)
            if at:
                self.chart.addItem(Mark(self.theme, regime, at[0], at[1], 8.0))
                ink = self.theme.regime(regime).ink
                text = f"{regime.capitalize()}-bound"
                left = at[0] > self.along.low + 0.75 * (self.along.high - self.along.low)
                anchor = (1.16 if left else -0.16, 0.5)
                self.pill(self.chart, text, *at, ink, anchor, 600, BODY_PX)
            missing |= bool(inside.any()) and not at
        if missing:
            self._legend()

    def _legend(self) -> None:
        words = {"compute": "▲ compute", "memory": "● memory", "overhead": "■ overhead"}
        seen = [r for i, r in enumerate(REGIMES) if (self.known & (self.largest == i)).any()]
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


def _levels(low: float, high: float) -> list[float]:
    """Round times between two: 1, 2, 5 of each power of ten, or powers alone over a wide range."""
    decades = np.log10(high / low) if low > 0 else 0
    parts = (1, 2, 5) if decades < 3 else (1,)
    powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    return [p * 10.0**e for e in powers for p in parts if low * 1.04 < p * 10.0**e < high / 1.02]
