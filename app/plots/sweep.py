"""A sweep: time over the axis with its interval, variants dashed, shares below, shifts through
both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from app.plots.lines import Rule
from app.plots.marks import Area, Mark, polygon, rectangle
from app.plots.picture import Picture
from app.plots.shares import stacked
from app.quantities import number, plain, seconds_unit
from app.scenes.ticks import Ticks, choice_ticks, decade_ticks, place, value_ticks
from app.theme import CURVE_WIDTH, SECOND_WIDTH, SUPPORT_PX, Theme
from simulator.prediction import REGIMES

if TYPE_CHECKING:
    from app.answers.swept import Swept
    from simulator.analysis.sweep import Sweep


_NO_SHIFT = "No regime shift in this range"


class SweepPicture(Picture):
    """Step time on top, with logarithmic axes; the first scenario's shares below."""

    def __init__(self, theme: Theme, found: Swept, heading: str) -> None:
        shifts = "; ".join(shift.sentence for shift in found.shifts)
        if found.line.numeric:
            about = f"{shifts or _NO_SHIFT}. Band: 80% interval"
        else:
            about = "Line: 80% interval. Triangle: compute-bound, circle: memory, square: overhead"
        super().__init__(theme, heading, about)
        self.found = found
        self.places = [self._place(i) for i in range(len(found.line.values))]
        times = self._times()
        self.unit_s, unit = seconds_unit(max(times))
        ticks = self._axis_ticks()
        if not found.line.numeric and len(found.names) > 1:
            self._legend()
        self.top = self.plot()
        self.grid.setRowStretchFactor(self.row - 1, 5)
        self._frame(self.top, ticks, times)
        self.axis_title(self.top, "left", f"Step time, {unit}")
        self._curves()
        self.below = self.plot()
        self.grid.setRowStretchFactor(self.row - 1, 3)
        self._shares(ticks)
        self._shifts()

    def _place(self, index: int) -> float:
        value = self.found.line.values[index]
        if self.found.line.numeric and isinstance(value, int | float):
            return place(float(value))
        return float(index)

    def _times(self) -> list[float]:
        """Every time and end of an interval, to be in the picture."""
        columns = [s.columns[name] for s in self.found.sweeps for name in ("low_s", "high_s")]
        return [float(v) for column in columns for v in column if v == v and v > 0]

    def _axis_ticks(self) -> Ticks:
        line = self.found.line
        if line.numeric:
            return value_ticks([float(v) for v in line.values if isinstance(v, int | float)])
        return choice_ticks(line.values)

    def _range(self) -> tuple[float, float]:
        first, last = self.places[0], self.places[-1]
        if self.found.line.numeric and last > first:
            return first - 0.012 * (last - first), last + 0.012 * (last - first)
        return first - 0.6, last + 0.6

    def _frame(self, plot: Any, ticks: Ticks, times: list[float]) -> None:
        low, high = min(times) / self.unit_s, max(times) / self.unit_s
        low, high = (low / 1.5, high * 1.5) if high < 3 * low else (low / 1.15, high * 1.25)
        plot.setXRange(*self._range(), padding=0)
        plot.setYRange(place(low), place(high), padding=0)
        self.ticks(plot, "bottom", ticks)
        self.ticks(plot, "left", decade_ticks(low, high))
        plot.getAxis("bottom").setStyle(showValues=False)

    def _points(self, sweep: Sweep, name: str, refined: bool = False) -> list[tuple[float, float]]:
        """A column as points; `refined` with what was predicted on the way to the shifts."""
        column = sweep.columns[name]
        known = [
            (self.places[i], place(float(column[i]) / self.unit_s))
            for i in range(len(sweep))
            if i not in sweep.refused and column[i] > 0
        ]
        if refined and sweep is self.found.sweeps[0]:
            more = [(place(v), place(f[name] / self.unit_s)) for v, f in self.found.tried]
            known = sorted(dict([*known, *more]).items())
        return known

    def _curves(self) -> None:
        theme, line = self.theme, self.found.line
        for index, (name, sweep) in enumerate(
            zip(self.found.names, self.found.sweeps, strict=True)
        ):
            colour = theme.ink if index == 0 else theme.sides[index]
            points = self._points(sweep, "period_s")
            if line.numeric and len(points) > 1:
                points = self._points(sweep, "period_s", True)
                low, high = (self._points(sweep, n, True) for n in ("low_s", "high_s"))
                band = [*low, *reversed(high)]
                self.top.addItem(Area(theme, colour, polygon(band), strength=0.16))
                width = CURVE_WIDTH if index == 0 else SECOND_WIDTH
                self.top.addItem(self.line(points, colour, width, index > 0))
            else:
                self._whiskers(sweep, index, colour)
            if line.numeric:
                self._dots(sweep, index, colour)
            self._name(name, points, index, colour)

    def _dots(self, sweep: Sweep, index: int, colour: str) -> None:
        """A mark of its regime at each point; hollow where it does not fit."""
        if len(sweep) > 24:
            return
        for row, (x, y) in zip(
            [i for i in range(len(sweep)) if i not in sweep.refused],
            self._points(sweep, "period_s"),
            strict=True,
        ):
            fits = bool(sweep.columns["fits"][row])
            mark = Mark(
                self.theme,
                sweep.regime(row),
                x,
                y,
                4.6 if index == 0 else 3.6,
                "" if index == 0 else colour,
                not fits,
            )
            self.top.addItem(mark)

    def _legend(self) -> None:
        """The variants' names side by side, where there is no curve to write them at."""
        for index, name in enumerate(self.found.names):
            colour = self.theme.ink if index == 0 else self.theme.sides[index]
            self.heading(name, SUPPORT_PX, 600, colour, 2 * index, 2)
            self.row -= 1
        self.row += 1

    def _whiskers(self, sweep: Sweep, index: int, colour: str) -> None:
        count = len(self.found.names)
        low, high = self._points(sweep, "low_s"), self._points(sweep, "high_s")
        rows = [i for i in range(len(sweep)) if i not in sweep.refused]
        for row, (x, y), (_, least), (_, most) in zip(
            rows, self._points(sweep, "period_s"), low, high, strict=True
        ):
            at = x + (index - (count - 1) / 2) * 0.2
            self.top.addItem(self.line([(at, least), (at, most)], colour, 2.0))
            fits = bool(sweep.columns["fits"][row])
            self.top.addItem(Mark(self.theme, sweep.regime(row), at, y, 6.0, colour, not fits))

    def _name(self, name: str, points: list[tuple[float, float]], index: int, colour: str) -> None:
        if len(self.found.names) == 1 or not points or not self.found.line.numeric:
            return
        x, y = points[min(len(points) - 1, 1 + index)] if index else points[len(points) // 8]
        anchor = (0.0, 1.4) if index == 0 else (0.0, -0.5)
        self.pill(self.top, name, x, y, colour, anchor, weight=600, px=SUPPORT_PX)

    def _shares(self, ticks: Ticks) -> None:
        sweep, plot = self.found.sweeps[0], self.below
        rows = [i for i in range(len(sweep)) if i not in sweep.refused]
        known = {self.places[i]: [float(sweep.columns[r][i]) for r in REGIMES] for i in rows}
        known |= {place(v): [f[r] for r in REGIMES] for v, f in self.found.tried}
        xs = sorted(known)
        bars = not self.found.line.numeric or len(rows) < 2
        stacked(self, plot, xs, [known[x] for x in xs], bars)
        if sweep.refused and self.found.line.numeric:
            self._refused(rows)
        plot.setXRange(*self._range(), padding=0)
        plot.setYRange(0, 1, padding=0)
        self.ticks(plot, "bottom", ticks, grid=False)
        self.ticks(plot, "left", [(0.0, "0"), (0.5, "50%"), (1.0, "100%")], grid=False)
        self.axis_title(plot, "bottom", self.found.line.label)
        self.axis_title(plot, "left", "Share of time")

    def _refused(self, rows: list[int]) -> None:
        """The stretch that has no answer, hatched."""
        if rows[-1] < len(self.places) - 1:
            left, right = self.places[rows[-1]], self.places[-1]
            self.below.addItem(Area(self.theme, "refused", rectangle(left, 0, right, 1)))
            self.pill(self.below, "no answer", (left + right) / 2, 0.5, self.theme.ink2)

    def _shifts(self) -> None:
        bottom = self.top.viewRange()[1][0]
        for shift in self.found.shifts:
            if shift.first is None:
                continue
            at = place(shift.first)
            for plot in (self.top, self.below):
                plot.addItem(Rule(at, True, self.theme.ink2, 1.4, True), ignoreBounds=True)
            whole = float(shift.first).is_integer()
            value = plain(shift.first) if whole else number(shift.first)
            right = at < sum(self._range()) / 2
            text = f"{shift.after}-bound from {value}"
            ink = self.theme.regime(shift.after or "compute").ink
            self.pill(self.top, text, at, bottom, ink, (-0.02 if right else 1.02, 1.2), weight=600)
