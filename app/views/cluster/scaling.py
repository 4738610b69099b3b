"""Throughput over the number of GPUs."""

from __future__ import annotations

from typing import ClassVar

from app.answers.cluster_answer import ClusterAnswer
from app.answers.clustered import Clustered
from app.charts.cluster.scaling import scaling_drawing
from app.drawing import Drawing, Text
from app.theme import SUPPORT_PX
from app.views.cluster.cluster_view import PictureView
from app.widgets.drawn import QT_METRICS
from simulator.parallel.prediction import PARALLEL_REGIMES


class Scaling(PictureView):
    """The curve beside the ideal, with the shares below it."""

    title: ClassVar[str] = "Scaling"

    def picture(
        self, clustered: Clustered, answer: ClusterAnswer, width: float, height: float
    ) -> Drawing:
        if clustered.points is None:
            words = "Predicting fewer and more GPUs …" if clustered.progress else "Not predicted"
            text = Text(width / 2, height / 2, words, "ink3", SUPPORT_PX, anchor="middle")
            return Drawing(width, height, (text,), title=words)
        gpus = answer.layout.dp * answer.layout.tp * answer.layout.pp
        node = answer.cluster.gpus_per_node
        return scaling_drawing(clustered.points, gpus, node, width, height, QT_METRICS)

    def subtitle(self) -> str:
        points = (self.clustered.points if self.clustered else None) or ()
        if not points:
            return ""
        return f"throughput and shares, {points[0].gpus} to {points[-1].gpus} GPUs"

    def rows(self) -> list[list[str]]:
        points = (self.clustered.points if self.clustered else None) or ()
        heads = [f"{regime.capitalize()} share" for regime in PARALLEL_REGIMES]
        rows = [["GPUs", "Replicas", "Step, ms", "Samples/s", "Share of ideal", *heads]]
        for each in points:
            figures = (1e3 * each.period_s, each.samples_per_s, each.efficiency)
            shares = [f"{each.shares[regime]:.6g}" for regime in PARALLEL_REGIMES]
            counts = [str(each.gpus), str(each.replicas)]
            rows.append([*counts, *(f"{value:.6g}" for value in figures), *shares])
        return rows
