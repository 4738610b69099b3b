"""The regime map over two axes, the sweeps through its cursor, and goal seek beside it."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QPoint, QSignalBlocker
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QVBoxLayout, QWidget

from app.answers.side import Question, Side
from app.formulas.formula import Formula
from app.formulas.points import regime_at
from app.scenes.regime_map import Chart, Exact, Spot, charted, exact
from app.scenes.regime_map_axes import elsewhere, offered, place_on, usual
from app.scenes.regime_map_table import table
from app.scenes.sweep_curves import CancelledError, axis_name, moved, within_words
from app.theme import Theme
from app.views.regime_map.canvas import MapCanvas
from app.views.regime_map.cursor import in_words, spot_words, what_is_bought
from app.views.regime_map.goal_seek import Found, GoalSeek, sought
from app.views.regime_map.through_cursor import ThroughCursor
from app.widgets.strip import Strip
from app.widgets.view import View
from simulator.scenario.scenario import Value

_COLOUR = "colour: the largest share"


class RegimeMap(View):
    """Which regime rules over two axes. The cursor is the scenario: a drag, or arrows and Enter,
    move it; the sweeps beside the map run through it, and a click in them moves it too."""

    title = "Regime map"
    workspace = "Map"

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.side: Side | None = None
        self.names: tuple[str, str] | None = None
        self.offer: list[str] = []
        self.chart: Chart | None = None
        self.exact: Exact | None = None
        self.boundaries = ""
        self.setMinimumSize(560, 240)  # it is better with more, but no window has to grow for it
        self.strip = Strip(theme)
        self.strip.label("Across")
        self.across = self.strip.choice("Axis from left to right", [], lambda _: self._chosen())
        self.strip.label("Up")
        self.up = self.strip.choice("Axis from bottom to top", [], lambda _: self._chosen())
        for menu in (self.across, self.up):
            menu.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
            menu.setMinimumWidth(116)
        self.strip.stretch()
        self.said = self.strip.label()
        self.map = MapCanvas(theme)
        self.map.moved_to.connect(lambda _: self._slice())
        self.map.pressed_on.connect(self._pressed)
        self.through = ThroughCursor(theme)
        self.through.gone.connect(self._go)
        self.seek = GoalSeek(theme)
        self.seek.asked.connect(self.asked)
        self.seek.question_changed.connect(self.question_changed)
        self._stand()

    def _stand(self) -> None:
        """The map at the left, sweeps and goals at the right."""
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(6)
        left, right = QVBoxLayout(), QVBoxLayout()
        for column in (left, right):
            column.setContentsMargins(0, 0, 0, 0)
            column.setSpacing(2)
        left.addWidget(self.strip)
        left.addWidget(self.map, 1)
        right.addWidget(self.through, 1)
        right.addWidget(self.seek)
        row.addLayout(left, 57)
        row.addLayout(right, 43)
        self.setFocusProxy(self.map)

    def draw(self, sides: tuple[Side, ...], current: int) -> None:
        """The map stays while the scenario only moves on it; paler until there is another."""
        side = self.side = sides[current]
        self.offer = offered(side)
        if self.names is None or not set(self.names) <= set(self.offer):
            self.names = usual(self.offer)
        self._fill_menus()
        self.seek.forget(side)
        if self.chart is not None and self._holds(side):
            self.map.put(self.chart.spot(*self._places(side)))
            self._slice()
            return
        self.map.stale = True
        self.map.update()
        self.through.fade()

    def question(self, sides: tuple[Side, ...], current: int) -> Question | None:
        """A coarse map, a fine one, exact shifts, then the goals where they are sought: one after
        the other."""
        side, names, text = sides[current], self.names, self.seek.text
        if names is None:
            return None
        chart = self.chart if self._holds(side) else None
        spot = chart.spot(*self._places(side)) if chart else None
        key = side.scenario.key
        if chart is None or not chart.done:
            within, level = self._within(side), self._level(side)
            return _calmly(lambda cancelled: charted(side, names, level, cancelled, within))
        if chart.field and spot and (self.exact is None or self.exact.key != key):
            return _calmly(lambda cancelled: exact(chart, side.scenario, spot, cancelled))
        if self.seek.sought_after:
            return _calmly(lambda cancelled: sought(side.scenario, text, cancelled))
        return None

    def answer(self, found: Any) -> None:
        side = self.side
        if side is None or self.names is None:
            return
        if isinstance(found, Chart):
            if found.base != elsewhere(side.scenario, *self.names):
                return
            self.chart, self.exact = found, None
            self.map.show_chart(found, found.spot(*self._places(side)) if found.field else None)
            self._describe(found)
        elif isinstance(found, Exact):
            self.exact = found
        elif isinstance(found, Found):
            self.seek.show_found(found)
        else:
            return
        self._slice()
        self.question_changed.emit()

    def restyle(self, theme: Theme) -> None:
        super().restyle(theme)
        for part in (self.strip, self.map, self.through, self.seek):
            part.restyle(theme)

    def subtitle(self) -> str:
        if self.names is None:
            return ""
        x, y = (axis_name(name) for name in self.names)
        points = self.chart.field.mapped.map.period_s.size if self.chart and self.chart.field else 0
        predicted = f", {points:,} points predicted" if points else ""
        return f"{x} by {within_words(y)}{predicted}"

    def rows(self) -> list[list[str]]:
        chart = self.chart
        if chart is None or chart.field is None:
            return []
        rows = table(chart)
        rows += self.seek.rows()
        return [row + [""] * (len(rows[0]) - len(row)) for row in rows]

    # what is known, and of what

    def _places(self, side: Side) -> tuple[Value | None, Value | None]:
        assert self.names is not None
        return place_on(side, self.names[0]), place_on(side, self.names[1])

    def _same_map(self, side: Side) -> bool:
        """Is the map, in few points or many, that of a scenario wherever it is on it?"""
        chart = self.chart
        return (
            chart is not None
            and self.names is not None
            and (chart.x.name, chart.y.name) == self.names
            and chart.base == elsewhere(side.scenario, *self.names)
        )

    def _level(self, side: Side) -> int:
        """The level of the next map: one more than that of this one, the same where the scenario
        has left its points."""
        chart = self.chart
        if chart is None or not self._same_map(side):
            return 0
        return chart.level + (self._holds(side) and not chart.done)

    def _holds(self, side: Side) -> bool:
        """Is the scenario a point of the map?"""
        chart = self.chart
        if chart is None or not self._same_map(side):
            return False
        x, y = self._places(side)
        return not chart.field or chart.spot(x, y) is not None or None in (x, y)

    def _within(self, side: Side) -> dict[str, tuple[float, float]]:
        """The ends that the axes keep while they show the same network."""
        chart = self.chart
        if chart is None or not self._same_map(side):
            return {}
        return {
            line.name: (float(line.values[0]), float(line.values[-1]))  # pyright: ignore
            for line in (chart.x, chart.y)
            if line.numeric
        }

    def formula(self, at: QPoint) -> Formula | None:
        chart, spot = self.chart, self.map.spot
        if chart is None or chart.field is None or spot is None or chart.why(spot):
            return None
        return regime_at(within_words(spot_words(chart, spot)), chart.figures(spot))

    def _describe(self, chart: Chart) -> None:
        boundaries = chart.field.mapped.map.boundaries if chart.field else ()
        words = [
            f"boundary between {one} and {other}"
            for one, other in (boundary.between for boundary in boundaries)
        ]
        self.boundaries = chart.refused or "; ".join(words) or "one regime rules everywhere"
        self.map.setAccessibleDescription(self.boundaries)
        self.said.setText(_COLOUR if chart.done else "more points on their way")

    # what is chosen

    def _fill_menus(self) -> None:
        assert self.names is not None
        for menu, name in zip((self.across, self.up), self.names, strict=True):
            with QSignalBlocker(menu):
                if [menu.itemData(i) for i in range(menu.count())] != self.offer:
                    menu.clear()
                    for each in self.offer:
                        menu.addItem(axis_name(each), each)
                menu.setCurrentIndex(self.offer.index(name))

    def _chosen(self) -> None:
        """Other axes; choosing the one that the other menu has swaps them."""
        assert self.names is not None
        x, y = self.across.currentData(), self.up.currentData()
        if x == y:
            x, y = (x, self.names[0]) if x != self.names[0] else (self.names[1], y)
        self.names = (x, y)
        self._fill_menus()
        self.map.chart, self.map.spot = None, None
        self.chart = None
        self._slice()
        self.map.update()
        self.question_changed.emit()

    def _slice(self) -> None:
        """The sweeps through the cursor, and the cursor in words."""
        side, chart, spot = self.side, self.chart, self.map.spot
        if side is None or chart is None or chart.field is None or spot is None:
            self.through.clear()
            return
        known = self.exact is not None and self.exact.key == side.scenario.key
        found = self.exact.shifts if self.exact and known else None
        home, shifts = self.map.home, (None, None)
        if found and home:  # along an axis they hold wherever on it the cursor is
            shifts = (
                found[0] if spot[1] == home[1] else None,
                found[1] if spot[0] == home[0] else None,
            )
        self.through.show_spot(chart, side, spot, shifts)
        where, said = in_words(chart, spot)
        self.map.setAccessibleDescription(f"{where}: {said}; {self.boundaries}")
        self.said.setToolTip(what_is_bought(chart, spot))

    def _go(self, upright: int, place: int) -> None:
        """To another value of one axis."""
        spot = self.map.spot
        if spot is not None:
            there = (spot[0], place) if upright else (place, spot[1])
            self.map.move_to(there)
            self._pressed(there)

    def _pressed(self, spot: Spot | None) -> None:
        """Ask for the scenario at a point, unless it is there."""
        if spot is None or self.side is None or self.chart is None or spot == self.map.home:
            return
        scenario = self.side.scenario
        for line, at, here in zip(
            (self.chart.x, self.chart.y), spot, self.map.home or (-1, -1), strict=True
        ):
            if at != here:
                scenario = moved(scenario, line.name, line.values[at])
        self.asked.emit(scenario)


def _calmly(work: Question) -> Question:
    """The same, with None where nobody waits any more."""

    def calm(cancelled: Any) -> Any:
        try:
            return work(cancelled)
        except CancelledError:
            return None

    return calm
