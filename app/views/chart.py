"""A view of a picture without interaction."""

from __future__ import annotations

from functools import cache

from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.answers.side import Side
from app.charts.registry import PredictionChart
from app.drawing import Drawing
from app.theme import Theme
from app.widgets.canvas import Card
from app.widgets.drawing_canvas import DrawingCanvas
from app.widgets.drawn import QT_METRICS
from app.widgets.view import View
from simulator.prediction import Prediction


class ChartCanvas(DrawingCanvas):
    """A picture of a prediction; `over` is the key of the spot under the pointer."""

    def __init__(self, theme: Theme, chart: PredictionChart) -> None:
        super().__init__(theme, chart.title)
        self.chart = chart
        self.prediction: Prediction | None = None

    def show_prediction(self, prediction: Prediction) -> None:
        """Draw a prediction."""
        self.prediction, self.over = prediction, None
        self.redraw()

    def drawing(self, width: float, height: float) -> Drawing | None:
        if self.prediction is None:
            return None
        return self.chart.draw(self.prediction, width, height, QT_METRICS)

    def card(self) -> Card | None:
        spots = self.drawn.spots if self.drawn else ()
        words = next((s.tooltip for s in spots if s.key == self.over and s.tooltip), "")
        return Card(words, ()) if words else None


@cache
def chart_view(chart: PredictionChart) -> type[View]:
    """The class of the view of a picture, always the same."""

    class ChartView(View):
        title = chart.title

        def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
            super().__init__(theme, parent)
            self.canvas = ChartCanvas(theme, chart)
            column = QVBoxLayout(self)
            column.setContentsMargins(0, 0, 0, 0)
            column.addWidget(self.canvas)
            self.setFocusProxy(self.canvas)

        def draw(self, sides: tuple[Side, ...], current: int) -> None:
            self.canvas.show_prediction(sides[current].prediction)

        def restyle(self, theme: Theme) -> None:
            super().restyle(theme)
            self.canvas.restyle(theme)

        def subtitle(self) -> str:
            return chart.about

        def rows(self) -> list[list[str]]:
            spots = self.canvas.drawn.spots if self.canvas.drawn else ()
            return [[chart.title], *([spot.tooltip] for spot in spots if spot.tooltip)]

    return ChartView
