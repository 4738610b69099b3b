"""Goal seek: the tried points, the goal as a line, the answer marked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from app.answers.goals import shown_value
from app.plots.lines import Rule
from app.plots.marks import Mark
from app.plots.picture import Picture
from app.plots.shares import stacked
from app.quantities import count_of, data, percent, scaled, seconds, trimmed
from app.scenes.ticks import decade_ticks, factor_ticks, near_ticks, place
from app.theme import BODY_PX, CURVE_WIDTH, LABEL_PX, SUPPORT_PX, Theme
from simulator.prediction import REGIMES, Prediction

if TYPE_CHECKING:
    from app.answers.goals import Search


class SeekPicture(Picture):
    """One plot per goal, below each other."""

    def __init__(
        self, theme: Theme, searches: list[Search], heading: str, base: Prediction
    ) -> None:
        self.SIZE = (900, 90 + sum(250 if len(s.tried) > 1 else 60 for s in searches))
        self.base = base
        super().__init__(theme, heading, "Marks: points predicted during the search")
        for search in searches:
            value = shown_value(search)
            whole = search.sought and not value.endswith("×")
            answer = f"{search.axis} {value}" if whole else value
            self.heading(f"{search.question}: {answer}", BODY_PX, 600, theme.ink)
            if search.sought is None:
                self.heading(search.reason, LABEL_PX, 400, theme.c)
            if len(search.tried) > 1:
                self._search(search)
            elif search.sought is not None:
                self.heading(search.sought.sentence, LABEL_PX, 400, theme.ink3)

    def _search(self, search: Search) -> None:
        plot = self.plot()
        xs = [place(value) for value, _ in search.tried]
        span = max(xs[-1] - xs[0], 1e-9)
        plot.setXRange(xs[0] - 0.02 * span, xs[-1] + 0.02 * span, padding=0)
        low, high = search.tried[0][0], search.tried[-1][0]
        if high / low < 8:
            ticks = near_ticks(low, high)
        else:
            few = high / low < 100
            ticks = factor_ticks(low, high, 12) if few else decade_ticks(low, high, 10)
        if search.axis in ("batch", "seq"):  # whole samples only
            ticks = [(at, text) for at, text in ticks if abs(2.0**at % 1 - 0.5) > 0.499]
        self.ticks(plot, "bottom", ticks)
        self.axis_title(plot, "bottom", search.axis.replace("_", " "))
        if search.kind in ("overhead", "flip"):
            shares = [[f[r] for r in REGIMES] for _, f in search.tried]
            stacked(self, plot, xs, shares)
            plot.setYRange(0, 1, padding=0)
            self.ticks(plot, "left", [(v, percent(v)) for v in (0.0, 0.5, 1.0)], grid=False)
            self.axis_title(plot, "left", "Share of time")
        else:
            self._values(plot, search, xs)
        if search.sought is not None:
            at = place(search.sought.value)
            plot.addItem(Rule(at, True, self.theme.b, 1.8), ignoreBounds=True)

    def _values(self, plot: Any, search: Search, xs: list[float]) -> None:
        """Memory, latency or throughput of the tried points, and the goal as a line."""
        title, values, goal, text = _quantity(search, self.base)
        known = [v for v in (*values, goal) if v > 0]
        low, high = place(min(known)) - 0.4, place(max(known)) + 0.6
        plot.setYRange(low, high, padding=0)
        ticks = factor_ticks if search.kind == "fits" else decade_ticks
        marks = ticks(2.0**low, 2.0**high, 5)
        self.ticks(plot, "left", [(at, _named(search, 2.0**at)) for at, _ in marks])
        self.axis_title(plot, "left", title)
        points = list(zip(xs, map(place, values), strict=True))
        plot.addItem(self.line(points, self.theme.ink, CURVE_WIDTH))
        for (x, y), (_, f) in zip(points, search.tried, strict=True):
            plot.addItem(Mark(self.theme, f.regime, x, y, 4.0, "", not f.fits))
        plot.addItem(Rule(place(goal), False, self.theme.c, 1.8, True), ignoreBounds=True)
        self.pill(plot, text, xs[0], place(goal), self.theme.c, (0.0, 1.1), 600, SUPPORT_PX)


def _quantity(search: Search, base: Prediction) -> tuple[str, list[float], float, str]:
    """The quantity of a search: title, values, goal and the goal's text."""
    found = [f for _, f in search.tried]
    goal = search.wanted or 1.0
    if search.kind == "latency":
        return "Step alone", [f["latency_s"] for f in found], goal, seconds(goal)
    if search.kind == "throughput":
        rates = [f["samples_per_s"] for f in found]
        return "Throughput", rates, goal, count_of(goal, "samples/s")
    room = float(base.gpu.memory_bytes)
    needs = [f["peak_memory_bytes"] + base.workspace_bytes for f in found]
    return "Memory", needs, room, f"{base.gpu.name}: {trimmed(data(room))}"


def _named(search: Search, value: float) -> str:
    if search.kind == "latency":
        return trimmed(seconds(value))
    return trimmed(scaled(value, "/s") if search.kind == "throughput" else data(value))
