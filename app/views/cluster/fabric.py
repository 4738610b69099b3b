"""The cluster as nodes, GPUs and roads."""

from __future__ import annotations

from typing import ClassVar

from app.answers.cluster_answer import ClusterAnswer
from app.answers.clustered import Clustered
from app.charts.cluster.fabric import fabric_drawing
from app.charts.cluster.gpu_box import place_words
from app.drawing.picture import Drawing
from app.views.cluster.cluster_view import PictureView
from app.widgets.drawn import QT_METRICS


class TheCluster(PictureView):
    """Nodes with their GPUs, and the traffic on what links them."""

    title: ClassVar[str] = "The cluster"

    def picture(
        self, clustered: Clustered, answer: ClusterAnswer, width: float, height: float
    ) -> Drawing:
        return fabric_drawing(answer, width, height, QT_METRICS)

    def subtitle(self) -> str:
        answer = self.clustered.answer if self.clustered else None
        return "" if answer is None else answer.cluster.name

    def rows(self) -> list[list[str]]:
        answer = self.clustered.answer if self.clustered else None
        if answer is None:
            return []
        moved = answer.traffic
        rows = [["GPU", "Node", "Place", "Memory, GB"]]
        for rank in answer.ranks:
            for number in rank.ranks:
                node = str(answer.cluster.node_of(number))
                need = f"{rank.needed_bytes / 1e9:.6g}"
                rows.append([f"GPU {number}", node, place_words(answer, number), need])
        rows.append(["Link, bytes of a step", "", "", f"{moved.link_bytes:.6g}"])
        rows.append(["Network of a node, bytes of a step", "", "", f"{moved.network_bytes:.6g}"])
        return rows
