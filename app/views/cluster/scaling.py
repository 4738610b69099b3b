"""Throughput over the number of GPUs."""

from __future__ import annotations

from math import ceil
from typing import ClassVar

from PySide6.QtWidgets import QHBoxLayout, QWidget

from app.answers.cluster.answer import ClusterAnswer
from app.answers.cluster.page import Clustered
from app.answers.cluster.scaling import Point
from app.charts.cluster.scaling import scaling_drawing
from app.drawing import Drawing, Text
from app.theme import SUPPORT_PX, Theme
from app.views.cluster.cluster_view import PictureView
from app.widgets.drawn import QT_METRICS
from app.widgets.fields.controls import Segments
from app.widgets.paint import width as text_width
from simulator.parallel.prediction import PARALLEL_REGIMES

_SEGMENT_PAD = 12
_KINDS = {"weak": "same batch per replica", "strong": "same total batch"}


class Scaling(PictureView):
    """The curve beside the ideal, with the shares below it."""

    title: ClassVar[str] = "Scaling"

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.kinds = Segments("Batch of the scaling", _KINDS, {})
        for kind, button in self.kinds.buttons.items():  # wide enough for bold text
            button.setMinimumWidth(ceil(text_width(_KINDS[kind], SUPPORT_PX, 600)) + _SEGMENT_PAD)
        self.kinds.chosen.connect(self._scale)
        head = QHBoxLayout()
        head.setContentsMargins(8, 4, 8, 0)
        head.addWidget(self.kinds)
        head.addStretch(1)
        self.column.insertLayout(0, head)

    def _scale(self, kind: str) -> None:
        self.scaled.emit(kind == "strong")

    @property
    def points(self) -> tuple[Point, ...] | None:
        """The points of the chosen kind of scaling."""
        now = self.clustered
        return None if now is None else now.strong_points if now.strong else now.points

    def update_clustered(self, clustered: Clustered) -> None:
        self.kinds.put("strong" if clustered.strong else "weak", {})
        super().update_clustered(clustered)

    def picture(
        self, clustered: Clustered, answer: ClusterAnswer, width: float, height: float
    ) -> Drawing:
        points = self.points
        if points is None:
            words = "Predicting fewer and more GPUs …" if clustered.progress else "Not predicted"
            text = Text(width / 2, height / 2, words, "ink3", SUPPORT_PX, anchor="middle")
            return Drawing(width, height, (text,), title=words)
        gpus = answer.layout.dp * answer.layout.tp * answer.layout.pp
        node = answer.cluster.gpus_per_node
        return scaling_drawing(points, gpus, node, width, height, QT_METRICS, clustered.strong)

    def subtitle(self) -> str:
        points = self.points or ()
        if not points:
            return ""
        return f"throughput and shares, {points[0].gpus} to {points[-1].gpus} GPUs"

    def rows(self) -> list[list[str]]:
        points = self.points or ()
        heads = [f"{regime.capitalize()} share" for regime in PARALLEL_REGIMES]
        rows = [["GPUs", "Replicas", "Step, ms", "Samples/s", "Share of ideal", *heads]]
        for each in points:
            figures = (1e3 * each.period_s, each.samples_per_s, each.efficiency)
            shares = [f"{each.shares[regime]:.6g}" for regime in PARALLEL_REGIMES]
            counts = [str(each.gpus), str(each.replicas)]
            rows.append([*counts, *(f"{value:.6g}" for value in figures), *shares])
        return rows
