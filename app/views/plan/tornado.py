"""The assumptions of a plan's answer."""

from __future__ import annotations

from app.answers.plan.planned import Planned
from app.charts.plan.tornado import ROW_PX, tornado_drawing, tornado_height
from app.drawing.picture import Drawing
from app.scenes.plan.tornado import TornadoScene, tornado_scene
from app.theme import Theme
from app.widgets.canvas import Card
from app.widgets.drawing_canvas import DrawingCanvas
from app.widgets.drawn import QT_METRICS
from simulator.planning.wording import latency

_MOST_PX = 230.0


class TornadoCanvas(DrawingCanvas):
    """The tornado of the plan's assumptions; a bar shows its figures under the pointer."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Sensitivity to the assumptions")
        self.scene: TornadoScene | None = None

    def put(self, planned: Planned) -> None:
        """Show the assumptions of a plan; empty until the plan is finished."""
        plan, spec = planned.plan, planned.spec
        self.scene = tornado_scene(spec, plan) if plan is not None and spec is not None else None
        if self.scene is not None:
            self.setFixedHeight(int(min(tornado_height(self.scene), _MOST_PX) + ROW_PX / 2))
        self.redraw()

    def drawing(self, width: float, height: float) -> Drawing | None:
        if self.scene is None or not self.scene.bars:
            return None
        return tornado_drawing(self.scene, width, height, QT_METRICS)

    def card(self) -> Card | None:
        bars = self.scene.bars if self.scene else ()
        bar = next((bar for bar in bars if bar.name == self.over), None)
        if bar is None:
            return None
        rows = [("now", bar.value)]
        for value, end in ((bar.low_value, bar.low_s), (bar.high_value, bar.high_s)):
            rows.append((value, "does not run" if end is None else latency(end)))
        return Card(bar.name, tuple(rows))
