"""Cost against speed: click a point to choose its candidate."""

from __future__ import annotations

from typing import ClassVar

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.answers.plan.planned import Planned, candidate_of
from app.answers.plan.words import empty_words, figure_lines, is_preliminary, status_words
from app.charts.plan.front import front_drawing, note
from app.drawing.picture import Drawing
from app.scenes.plan.front import FrontScene, front_scene
from app.scenes.plan.table import short_name
from app.theme import Theme
from app.views.plan.plan_view import PlanView
from app.widgets.canvas import Canvas, Card
from app.widgets.context_menu import Entry
from app.widgets.drawing_canvas import DrawingCanvas
from app.widgets.drawn import QT_METRICS
from simulator.planning import Row
from simulator.prediction import REGIMES


class FrontCanvas(DrawingCanvas):
    """The picture. `pressed_on` carries a candidate; the arrow keys step through the points by
    time."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Cost against speed")
        self.planned: Planned | None = None
        self.scene: FrontScene | None = None

    def put(self, planned: Planned) -> None:
        """Show the candidates of a plan."""
        self.planned = planned
        self.scene = front_scene(planned.spec, planned.rows) if planned.spec else None
        self.redraw()

    def drawing(self, width: float, height: float) -> Drawing | None:
        if self.planned is None:
            return None
        if self.scene is None:
            return note(width, height, empty_words(self.planned))
        row = self.planned.row
        return front_drawing(
            self.scene, width, height, QT_METRICS, candidate_of(row) if row else None
        )

    def row_of(self, candidate: object) -> Row | None:
        """The row of a candidate of the plan."""
        rows = self.planned.rows if self.planned else ()
        return next((row for row in rows if candidate_of(row) == candidate), None)

    def card(self) -> Card | None:
        row = self.row_of(self.over)
        if row is None or self.planned is None or self.planned.spec is None:
            return None
        regime = row.binds if row.binds in REGIMES else None
        name, mode = short_name(row)
        lines = figure_lines(self.planned.spec, row)
        return Card(
            f"{name}, {mode}", tuple(lines), status_words(row, self.planned.complete), regime
        )

    def card_at(self) -> QPointF:
        drawn = self.drawn
        spot = next((s for s in drawn.spots if s.key == self.over), None) if drawn else None
        return QPointF(*spot.box.centre) if spot else self.at

    def keyPressEvent(self, event: QKeyEvent) -> None:
        points = sorted(self.scene.points, key=lambda p: p.time) if self.scene else []
        row = self.planned.row if self.planned else None
        places = [p.candidate for p in points]
        step = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()))
        if step is None or not places or row is None:
            super().keyPressEvent(event)
            return
        now = candidate_of(row)
        at = places.index(now) + step if now in places else 0
        self.pressed_on.emit(places[min(max(at, 0), len(places) - 1)])


class CostAgainstSpeed(PlanView):
    """A point for each candidate; those that no other candidate beats form the frontier."""

    title: ClassVar[str] = "Cost against speed"

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.canvas = FrontCanvas(theme)
        self.canvas.pressed_on.connect(self._choose)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.canvas)
        self.setFocusProxy(self.canvas)

    def _choose(self, key: object) -> None:
        if key is not None:
            self.chose.emit(key)

    def update_plan(self, planned: Planned) -> None:
        self.canvas.put(planned)

    def restyle(self, theme: Theme) -> None:
        super().restyle(theme)
        self.canvas.restyle(theme)

    def entries(self, canvas: Canvas | None) -> list[Entry]:
        row = self.canvas.row_of(self.canvas.over) if canvas is self.canvas else None
        own = [] if row is None else self.candidate_entries(row)
        return [*own, *super().entries(canvas)]

    def subtitle(self) -> str:
        return "crosses are 80% intervals; click a point to choose it"

    def rows(self) -> list[list[str]]:
        scene, planned = self.canvas.scene, self.planned
        if scene is None:
            return []
        rows = [["Candidate", "Mode", scene.time_title, scene.cost_title, "Binds", "Meets limits"]]
        for p in scene.points:
            holds = "yes" if p.surely else "perhaps" if p.holds else "no"
            row = self.canvas.row_of(p.candidate)
            if row is not None and planned is not None and is_preliminary(row, planned.complete):
                holds = "preliminary"
            rows.append([p.name, p.mode, f"{p.time:.4g}", f"{p.cost:.4g}", p.binds, holds])
        return rows
