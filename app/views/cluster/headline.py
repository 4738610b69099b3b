"""The verdict bar of the cluster's workspace."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QSizePolicy

from app.answers.cluster.page import Clustered
from app.charts.cluster.headline import cluster_headline
from app.charts.plan.headline import waiting_drawing
from app.drawing.picture import Drawing
from app.scenes.cluster_headline import headline_figures
from app.theme import Theme
from app.widgets.drawing_canvas import DrawingCanvas
from app.widgets.drawn import QT_METRICS
from app.widgets.style import VERDICT_HEIGHT


class ClusterBar(DrawingCanvas):
    """The figures of a step; the accessible description gives them in words."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Verdict of the cluster")
        self.clustered: Clustered | None = None
        self._shown: tuple[object, ...] = ()
        self.setFixedHeight(VERDICT_HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground, False)

    def put(self, clustered: Clustered) -> None:
        """Show a step, or its progress."""
        shown = clustered.answer, clustered.points, clustered.empty, bool(clustered.progress)
        self.clustered = clustered
        if shown == self._shown:  # called for every update of the progress
            return
        self._shown = shown
        answer = clustered.answer
        words = [
            f"{each.label}: {each.figure} {each.unit}; {each.note}"
            for each in headline_figures(clustered)
        ]
        regime = [f"{answer.regime}-bound"] if answer else [clustered.empty]
        self.setAccessibleDescription("; ".join([*regime, *words]))
        self.redraw()

    def drawing(self, width: float, height: float) -> Drawing | None:
        clustered = self.clustered
        if clustered is None or clustered.answer is None:
            words = clustered.empty if clustered else ""
            return waiting_drawing(words, width, height)
        return cluster_headline(clustered, width, height, QT_METRICS)
