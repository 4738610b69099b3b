"""The regime map over two axes, the sweeps through its cursor, and goal seek beside it."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QVBoxLayout, QWidget

from app.answers.side import Question, Side
from app.formulas.formula import Formula
from app.formulas.points import regime_at
from app.scenes.regime_map.axes import elsewhere, offered, place_on, usual
from app.scenes.regime_map.scene import Chart, ExactShifts, Spot, charted, exact
from app.scenes.regime_map.table import plain_table, table
from app.scenes.sweep.curves import axis_name, moved, or_none, within_words
from app.theme import Theme
from app.views.regime_map.canvas import MapCanvas
from app.views.regime_map.cursor import boundary_words, in_words, share_explanation, spot_words
from app.views.regime_map.goal_seek import GoalResults, GoalSeek, seek_goals
from app.views.regime_map.menus import offer_axes, spot_entries
from app.views.regime_map.through_cursor import ThroughCursor
from app.widgets.canvas import Canvas
from app.widgets.context_menu import Entry
from app.widgets.strip import Strip
from app.widgets.view import View
from simulator.scenario.scenario import Scenario, Value


class RegimeMap(View):
    """The dominant regime over two axes. The cursor marks the scenario: a drag, or arrow keys and
    Enter, change it. The sweeps beside the map run through the cursor; a click in them moves it."""

    title = "Regime map"
    workspace = "Map"

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.side: Side | None = None
        self.names: tuple[str, str] | None = None
        self.offer: list[str] = []
        self.chart: Chart | None = None
        self.exact: ExactShifts | None = None
        self.boundaries = ""
        self.setMinimumSize(560, 240)  # usable size, so that small windows need not grow
        self.strip = Strip(theme)
        self.strip.label("Across")
        self.across = self.strip.choice("Axis from left to right", [], lambda _: self._chosen())
        self.strip.label("Up")
        self.up = self.strip.choice("Axis from bottom to top", [], lambda _: self._chosen())
        for menu in (self.across, self.up):
            menu.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
            menu.setMinimumWidth(116)
        self.status = self.strip.hint()
        self.map = MapCanvas(theme)
        self.map.moved_to.connect(lambda: self._slice())
        self.map.pressed_on.connect(self._pressed)
        self.through = ThroughCursor(theme)
        self.through.pressed_on.connect(self._go)
        self.seek = GoalSeek(theme)
        self.seek.scenario_requested.connect(self.scenario_requested)
        self.seek.question_changed.connect(self.question_changed)
        self._lay_out()

    def _lay_out(self) -> None:
        """Put the map at the left, sweeps and goals at the right."""
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
        """Keep the map while the scenario moves on it, else fade it until a new map is ready."""
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
        self.map.fade()
        self.through.fade()

    def question(self, sides: tuple[Side, ...], current: int) -> Question | None:
        """Ask in turn for a coarse map, a fine map, exact shifts, and requested goals."""
        side, names, text = sides[current], self.names, self.seek.text
        if names is None:
            return None
        chart = self.chart if self._holds(side) else None
        spot = chart.spot(*self._places(side)) if chart else None
        if chart is None or not chart.done:
            within, level = self._within(side), self._level(side)
            return or_none(lambda cancelled: charted(side, names, level, cancelled, within))
        if chart.field and spot and (self.exact is None or self.exact.key != side.scenario.key):
            return or_none(lambda cancelled: exact(chart, side.scenario, spot, cancelled))
        if self.seek.requested:
            return or_none(lambda cancelled: seek_goals(side.scenario, text, cancelled))
        return None

    def fail(self, reason: str) -> None:
        if self.map.chart is None or self.map.stale:  # otherwise only a later part failed
            self.chart = None
            self.map.fail(f"No map.\n{reason}")
            self.through.fail()
        elif self.chart is not None and not self.chart.done:
            self.status.say("not refined", "")

    def answer(self, result: Any) -> None:
        side = self.side
        if side is None or self.names is None:
            return
        if isinstance(result, Chart):
            if result.base != elsewhere(side.scenario, *self.names):
                return
            self._show_chart(result, side)
        elif isinstance(result, ExactShifts):
            self.exact = result
        elif isinstance(result, GoalResults):
            self.seek.show_results(result)
        else:
            return
        self._slice()
        self.question_changed.emit()

    def show_part(self, result: Any) -> None:
        """Show the lines of a map so far, unless the pointer drags over the earlier map."""
        side = self.side
        if side is None or self.names is None or self.map.dragged:
            return
        if isinstance(result, Chart) and result.base == elsewhere(side.scenario, *self.names):
            self._show_chart(result, side)
            self._slice()

    def _show_chart(self, chart: Chart, side: Side) -> None:
        self.chart, self.exact = chart, None
        self.map.show_chart(chart, chart.spot(*self._places(side)) if chart.field else None)
        self._describe(chart)

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
        rows = table(chart) + self.seek.rows()
        return [row + [""] * (len(rows[0]) - len(row)) for row in rows]

    def plain_rows(self) -> list[list[str]]:
        return plain_table(self.chart)

    # the current map

    def _places(self, side: Side) -> tuple[Value | None, Value | None]:
        assert self.names is not None
        return place_on(side, self.names[0]), place_on(side, self.names[1])

    def _same_map(self, side: Side) -> bool:
        """Return whether the map, coarse or fine, shows the side's scenario, except for its values
        on the two axes."""
        chart = self.chart
        return (
            chart is not None
            and self.names is not None
            and (chart.x.name, chart.y.name) == self.names
            and chart.base == elsewhere(side.scenario, *self.names)
        )

    def _level(self, side: Side) -> int:
        """The level of the next map: one level finer, or the same level if the scenario is not a
        point of the map."""
        chart = self.chart
        if chart is None or not self._same_map(side):
            return 0
        return chart.level + (self._holds(side) and not chart.done)

    def _holds(self, side: Side) -> bool:
        """Return whether the scenario is a point of the map."""
        chart = self.chart
        if chart is None or not self._same_map(side):
            return False
        x, y = self._places(side)
        return not chart.field or chart.spot(x, y) is not None or None in (x, y)

    def _within(self, side: Side) -> dict[str, tuple[float, float]]:
        """The ends of the axes, which are kept while the same network is shown."""
        chart = self.chart
        if chart is None or not self._same_map(side):
            return {}
        return chart.ends()

    def entries(self, canvas: Canvas | None) -> list[Entry]:
        chart, spot = self.chart, self.map.over or self.map.spot
        if canvas is not self.map or chart is None or chart.field is None or spot is None:
            return super().entries(canvas)
        return spot_entries(chart, spot, self._at(spot), lambda: self._use(spot), self.added.emit)

    def formula(self, at: QPoint) -> Formula | None:
        chart, spot = self.chart, self.map.spot
        if chart is None or chart.field is None or spot is None or chart.why(spot):
            return None
        return regime_at(within_words(spot_words(chart, spot)), chart.figures(spot))

    def _describe(self, chart: Chart) -> None:
        self.boundaries = boundary_words(chart)
        self.map.setAccessibleDescription(self.boundaries)
        self.status.say("colour: the largest share" if chart.done else "refining …", "")

    # controls

    def _fill_menus(self) -> None:
        assert self.names is not None
        for menu, name in zip((self.across, self.up), self.names, strict=True):
            offer_axes(menu, self.offer, name)

    def _chosen(self) -> None:
        """Change the axes; selecting the other menu's axis swaps them."""
        assert self.names is not None
        x, y = self.across.currentData(), self.up.currentData()
        if x == y:
            x, y = (x, self.names[0]) if x != self.names[0] else (self.names[1], y)
        self.names = (x, y)
        self._fill_menus()
        self.chart = self.map.chart = self.map.spot = None
        self.map.failure = ""
        self._slice()
        self.map.update()
        self.question_changed.emit()

    def _slice(self) -> None:
        """Update the sweeps through the cursor, and its description."""
        side, chart, spot = self.side, self.chart, self.map.spot
        if side is None or chart is None or chart.field is None or spot is None:
            self.through.clear()
            return
        up_to_date = self.exact is not None and self.exact.key == side.scenario.key
        along = self.exact.shifts if self.exact and up_to_date else None
        home, shifts = self.map.home, (None, None)
        if along and home:  # exact only along the axes through the scenario
            shifts = (
                along[0] if spot[1] == home[1] else None,
                along[1] if spot[0] == home[0] else None,
            )
        self.through.show_spot(chart, side, spot, shifts)
        where, figures = in_words(chart, spot)
        self.map.setAccessibleDescription(f"{where}: {figures}; {self.boundaries}")
        self.status.setToolTip(share_explanation(chart, spot))

    def _go(self, upright: int, place: int) -> None:
        """Go to another value of one axis."""
        spot = self.map.spot
        if spot is not None:
            self._use((spot[0], place) if upright else (place, spot[1]))

    def _pressed(self, spot: Spot | None) -> None:
        """Request the scenario at a point, unless it is the current one."""
        after = None if spot is None else self._at(spot)
        if after is not None:
            self.scenario_requested.emit(after)

    def _use(self, spot: Spot) -> None:
        """Move the cursor to a point, and request its scenario."""
        self.map.move_to(spot)
        self._pressed(spot)

    def _at(self, spot: Spot) -> Scenario | None:
        """The scenario at a point; None if it is the current one."""
        if self.side is None or self.chart is None or spot == self.map.home:
            return None
        scenario = self.side.scenario
        for line, at, here in zip(
            (self.chart.x, self.chart.y), spot, self.map.home or (-1, -1), strict=True
        ):
            if at != here:
                scenario = moved(scenario, line.name, line.values[at])
        return scenario
