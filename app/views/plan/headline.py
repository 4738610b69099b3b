"""The verdict bar of the plan's workspace."""

from __future__ import annotations

from app.answers.plan.planned import Planned
from app.answers.plan.words import empty_words, figure_lines
from app.charts.plan.headline import headline_drawing, waiting_drawing
from app.drawing.picture import Drawing
from app.scenes.plan.headline import HeadlineScene, headline_scene
from app.theme import Theme
from app.views.figure_bar import FigureBar
from app.widgets.drawn import QT_METRICS


class PlanBar(FigureBar):
    """The figures of the chosen candidate."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Verdict of the plan")
        self.scene: HeadlineScene | None = None
        self.waiting = ""

    def put(self, planned: Planned) -> None:
        """Show the chosen candidate, or the empty bar."""
        row, spec = planned.row, planned.spec
        self.scene = None
        if row is not None and spec is not None:
            self.scene = headline_scene(spec, row, planned.complete)
        self.waiting = empty_words(planned)
        self.describe(figure_lines(spec, row) if row is not None and spec is not None else [])
        self.redraw()

    def drawing(self, width: float, height: float) -> Drawing | None:
        if self.scene is None:
            return waiting_drawing(self.waiting, width, height)
        return headline_drawing(self.scene, width, height, QT_METRICS)
