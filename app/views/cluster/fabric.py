"""The picture of the cluster: nodes, GPUs, and links drawn as roads."""

from __future__ import annotations

from typing import ClassVar

from PySide6.QtCore import QPointF
from PySide6.QtWidgets import QWidget

from app.answers.cluster.answer import ClusterAnswer
from app.answers.cluster.page import Clustered
from app.charts.cluster.fabric import NEEDED_PX, fabric_drawing, is_node
from app.charts.cluster.gpu_box import place_words
from app.drawing import Drawing, Item, Rectangle, Spot
from app.theme import Theme
from app.views.cluster.cluster_view import PictureView
from app.views.cluster.gpu_drop import gpu_offer
from app.widgets.drawn import QT_METRICS
from app.widgets.drops import Offer, PlaceTarget


class TheCluster(PictureView):
    """Nodes with their GPUs, and the traffic on their links."""

    title: ClassVar[str] = "The cluster"

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.target = PlaceTarget(self.canvas, theme, self.offered, lambda: self._drag_over(None))
        self.under: Spot | None = None
        """The node under a card."""

    def offered(self, key: str, at: QPointF) -> Offer:
        """The effect of a card at a point."""
        clustered, drawn = self.clustered, self.canvas.drawn
        if clustered is None or drawn is None:
            return Offer("No prediction yet", None)
        nodes = (spot for spot in drawn.spots if is_node(spot))
        node = next((spot for spot in nodes if spot.holds(at.x(), at.y())), None)
        offer = Offer("Drop the GPU on a node", None, of_whole=True)
        if node is not None:
            offer = gpu_offer(
                key, clustered.question, lambda new, words: self.edited.emit(new, words, "")
            )
        self._drag_over(node if offer.done else None)
        return offer

    def _drag_over(self, node: Spot | None) -> None:
        if node != self.under:
            self.under = node
            self.canvas.update()

    def overlay(self, drawn: Drawing) -> tuple[Item, ...]:
        if self.under is None:
            return ()
        return (Rectangle(self.under.box, None, "b", 2.0, 8, dash="dashed"),)

    def restyle(self, theme: Theme) -> None:
        super().restyle(theme)
        self.target.outline.theme = theme

    def picture(
        self, clustered: Clustered, answer: ClusterAnswer, width: float, height: float
    ) -> Drawing:
        return fabric_drawing(answer, width, height, QT_METRICS)

    def needed_height(self, answer: ClusterAnswer) -> float:
        return NEEDED_PX

    def subtitle(self) -> str:
        answer = self.clustered.answer if self.clustered else None
        return "" if answer is None else answer.cluster.name

    def rows(self) -> list[list[str]]:
        answer = self.clustered.answer if self.clustered else None
        if answer is None:
            return []
        moved = answer.traffic
        rows = [["GPU", "Node", "Place", "Memory, GiB"]]
        for rank in answer.ranks:
            for number in rank.ranks:
                node = str(answer.cluster.node_of(number))
                need = f"{rank.needed_bytes / 2**30:.6g}"
                rows.append([f"GPU {number}", node, place_words(answer, number), need])
        rows.append(["Link, bytes of a step", "", "", f"{moved.link_bytes:.6g}"])
        rows.append(["Network of a node, bytes of a step", "", "", f"{moved.network_bytes:.6g}"])
        return rows
