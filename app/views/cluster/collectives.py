"""The collectives of a step."""

from __future__ import annotations

from typing import ClassVar

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent

from app.answers.cluster.answer import ClusterAnswer
from app.answers.cluster.page import Clustered
from app.answers.cluster.words import ranks_words
from app.charts.cluster.collectives import collectives_drawing, collectives_height
from app.drawing import Drawing, Item, Rectangle
from app.quantities import seconds
from app.views.cluster.cluster_view import ClusterCanvas, PictureView
from app.widgets.drawn import QT_METRICS


class RowsCanvas(ClusterCanvas):
    """Up and Down pick a row."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        by = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(Qt.Key(event.key()))
        if by is None:
            super().keyPressEvent(event)
        else:
            self.view.step(by)


class CollectivesTable(PictureView):
    """One row per group of identical collectives; the rank timeline highlights the picked group."""

    title: ClassVar[str] = "Collectives"
    picks = True
    canvas_class = RowsCanvas

    def overlay(self, drawn: Drawing) -> tuple[Item, ...]:
        spot = next((spot for spot in drawn.spots if spot.key == self.collective), None)
        if spot is None:
            return ()
        return (Rectangle(spot.box.grown(-1, -1), None, "b", 1.6, 4),)

    def picture(
        self, clustered: Clustered, answer: ClusterAnswer, width: float, height: float
    ) -> Drawing:
        return collectives_drawing(answer, width, height, QT_METRICS)

    def needed_height(self, answer: ClusterAnswer) -> float:
        return collectives_height(answer)

    def subtitle(self) -> str:
        answer = self.clustered.answer if self.clustered else None
        if answer is None or not answer.collectives:
            return ""
        all_s = sum(row.all_s for row in answer.collectives)
        exposed_s = sum(row.exposed_s for row in answer.collectives)
        who = ranks_words(answer.ranks[answer.most_exposed].ranks)
        return f"{seconds(all_s)} in a step, {seconds(exposed_s)} of it exposed, on {who}"

    def rows(self) -> list[list[str]]:
        answer = self.clustered.answer if self.clustered else None
        if answer is None:
            return []
        rows = [[
            "Operation", "Phase", "Ranks", "Count", "Least bytes", "Most bytes", "Algorithm",
            "Protocol", "Each, ms", "All, ms", "Exposed, ms",
        ]]  # fmt: skip
        for row in answer.collectives:
            times = [f"{1e3 * s:.6g}" for s in (row.each_s, row.all_s, row.exposed_s)]
            sizes = [str(nbytes) for nbytes in row.bytes_each]
            counts = [str(row.ranks), str(row.count)]
            method = [row.choice.algorithm, row.choice.protocol]
            rows.append([row.kind.replace("_", "-"), row.phase, *counts, *sizes, *method, *times])
        return rows
