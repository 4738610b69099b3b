"""The view of a picture without interaction."""

from pathlib import Path
from typing import Any

from PySide6.QtCore import QEvent, QPointF

from app.answers.side import Side
from app.charts.registry import PredictionChart
from app.drawing import Box, Drawing, Metrics, Rectangle, Spot, Text
from app.theme import DARK, LIGHT
from app.views.chart import chart_view
from simulator.prediction import Prediction
from tests.app.views.conftest import picture, pointer, svg


def bars(p: Prediction, width: float, height: float, metrics: Metrics) -> Drawing:
    box = Box(10, 10, width / 2, 40)
    spots = (Spot("all", box, f"{p.kernel_count} kernels"),)
    return Drawing(width, height, (Rectangle(box, "a"), Text(10, 80, "kernels")), spots)


def test_a_picture_has_a_panel_a_card_and_a_table(shown: Any, side: Side, tmp_path: Path) -> None:
    kind = chart_view(PredictionChart("Bars", "as many as kernels", 200, bars))
    view = shown(kind, (side,))
    assert (view.title, view.subtitle(), view.accessibleName()) == (
        "Bars",
        "as many as kernels",
        "Bars",
    )
    assert view.rows() == [["Bars"], [f"{side.prediction.kernel_count} kernels"]]
    assert picture(view).pixelColor(100, 30).name().upper() == DARK.a
    view.restyle(LIGHT)
    assert picture(view).pixelColor(100, 30).name().upper() == LIGHT.a
    pointer(view.canvas, QEvent.Type.MouseMove, QPointF(50, 30))
    assert view.canvas.card().head == f"{side.prediction.kernel_count} kernels"
    pointer(view.canvas, QEvent.Type.MouseMove, QPointF(50, 300))
    assert view.canvas.card() is None
    assert "kernels</text>" in svg(view, tmp_path / "b.svg")
