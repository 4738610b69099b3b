"""From one scenario to another, change by change: bars that add up to the difference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from app.plots.lines import Stroke, polyline
from app.plots.marks import Area, Mark, rectangle
from app.plots.picture import Picture
from app.quantities import between, change, number, plain, seconds, seconds_unit
from app.scenes.ticks import linear_ticks
from app.scenes.waterfall import broken, highest_s
from app.theme import BODY_PX, LABEL_PX, SUPPORT_PX, Theme
from app.widgets.patterns import STACK
from simulator.prediction import Prediction

if TYPE_CHECKING:
    from simulator.analysis.compare import Step, Waterfall

WIDE = 0.4
_ABOUT = "Each change is predicted after those to its left; they add up"


class Falls:
    """A waterfall on a plot: the first scenario's bar by shares, a bar a change, the last's bar.
    `letters` and `names` are written below the ends."""

    def __init__(
        self,
        picture: Picture,
        plot: Any,
        fall: Waterfall,
        names: tuple[str, str],
        colours: tuple[str, str],
    ) -> None:
        self.picture, self.plot, self.fall = picture, plot, fall
        self.theme = picture.theme
        top_s = highest_s(fall)
        self.scale_s, self.unit = seconds_unit(top_s)
        self.high = 1.12 * top_s / self.scale_s
        last = len(fall.steps) + 1
        plot.setXRange(-0.6, last + 0.6, padding=0)
        plot.setYRange(0, self.high, padding=0)
        picture.ticks(plot, "left", [(v, plain(v)) for v in linear_ticks(0, self.high, 8)])
        picture.axis_title(plot, "left", f"Step time, {self.unit}")
        ends = ((0.0, names[0], fall.a), (float(last), names[1], fall.b))
        labels = [(at, f"{name}\n{p.regime}-bound") for at, name, p in ends]
        labels += [(i + 1.0, broken(s.label)) for i, s in enumerate(fall.steps)]
        picture.ticks(plot, "bottom", sorted(labels), grid=False)
        plot.getAxis("bottom").setHeight(38)
        self._end(0, fall.a, colours[0])
        for index, step in enumerate(fall.steps):
            self._step(index + 1, step)
        self._end(last, fall.b, colours[1], fall.a)

    def _end(self, x: int, p: Prediction, edge: str, before: Prediction | None = None) -> None:
        """The bar of a scenario, split by shares, with its interval."""
        floor = 0.0
        for name in STACK:
            top = floor + p.shares[name] * p.period_s / self.scale_s  # pyright: ignore
            if top > floor:
                self.plot.addItem(Area(self.theme, name, rectangle(x - WIDE, floor, x + WIDE, top)))
                if top - floor > 0.11 * self.high:
                    ink = self.theme.regime(name).ink
                    self.picture.pill(self.plot, name, x, (floor + top) / 2, ink)
            floor = top
        whole = rectangle(x - WIDE, 0, x + WIDE, floor)
        self.plot.addItem(Stroke(whole, edge, 1.8))
        low, high = (v / self.scale_s for v in p.interval_s)
        self._whisker(x + WIDE - 0.07, low, high)
        text = seconds(p.period_s)
        if before is not None:
            text += f"  ({change(before.period_s, p.period_s)})"
        self.picture.pill(
            self.plot, text, x, high, anchor=(0.5, 1.3), weight=600, px=BODY_PX, ground=False
        )

    def _whisker(self, x: float, low: float, high: float) -> None:
        path = polyline([(x, low), (x, high)])
        for y in (low, high):
            path.moveTo(x - 0.05, y)
            path.lineTo(x + 0.05, y)
        self.plot.addItem(Stroke(path, self.theme.ink, 1.4, casing=self.theme.bg1))

    def _step(self, x: int, step: Step) -> None:
        """The bar of a change after the previous ones, and a ring for the change alone."""
        after = step.period_s / self.scale_s
        before = (step.period_s - step.change_s) / self.scale_s
        worse = step.change_s > 0
        colour = self.theme.danger if worse else self.theme.b
        least = 0.004 * self.high  # a change of 0 is drawn as a line
        low, high = min(before, after), max(before, after, min(before, after) + least)
        bar = rectangle(x - WIDE, low, x + WIDE, high)
        self.plot.addItem(Area(self.theme, colour, bar, colour, 0.55))
        joint = Stroke(
            polyline([(x - 1 + WIDE, before), (x - WIDE, before)]), self.theme.ink3, 1.0, True
        )
        self.plot.addItem(joint)
        if x == len(self.fall.steps):
            self.plot.addItem(
                Stroke(
                    polyline([(x + WIDE, after), (x + 1 - WIDE, after)]), self.theme.ink3, 1.0, True
                )
            )
        sign = "+" if worse else ""
        text = f"{sign}{number(step.change_s / self.scale_s, 2)} {self.unit}"
        ink = self.theme.danger if worse else self.theme.ink
        self.picture.pill(self.plot, text, x, high, ink, (0.5, 1.15), 600, SUPPORT_PX, False)
        if step.alone_s is not None and len(self.fall.steps) > 1:
            alone = (self.fall.a.period_s + step.alone_s) / self.scale_s
            aside = x + WIDE - 0.07  # the change's own label stands in the middle
            ring = Mark(self.theme, None, aside, alone, 4.5, self.theme.ink, True)
            self.plot.addItem(ring)


class WaterfallPicture(Picture):
    """One waterfall, before and after."""

    def __init__(self, theme: Theme, fall: Waterfall, heading: str, names: tuple[str, str]) -> None:
        interval = between(*fall.b.interval_s, fall.b.period_s)
        _, unit = seconds_unit(fall.b.period_s, 2)
        ring = ". Ring: the change alone" if len(fall.steps) > 1 else ""
        about = f"{_ABOUT}{ring}. 80% interval after: {interval} {unit}"
        super().__init__(theme, heading, about)
        self.SIZE = (max(720, 190 + 150 * (len(fall.steps) + 2)), 600)
        self.falls = Falls(self, self.plot(), fall, names, (theme.a, theme.b))


__all__ = ["LABEL_PX", "Falls", "WaterfallPicture"]
