"""When each distinct rank computes, waits and communicates."""

from __future__ import annotations

from typing import ClassVar

from app.answers.cluster_answer import ClusterAnswer
from app.answers.cluster_words import ranks_words
from app.answers.clustered import Clustered
from app.charts.cluster.lanes import lanes_drawing, lanes_height
from app.drawing.picture import Drawing
from app.views.cluster.cluster_view import PictureView
from app.widgets.drawn import QT_METRICS


class RankTimeline(PictureView):
    """A lane of kernels and one of collectives for each distinct rank."""

    title: ClassVar[str] = "Rank timeline"

    def picture(
        self, clustered: Clustered, answer: ClusterAnswer, width: float, height: float
    ) -> Drawing:
        return lanes_drawing(answer, width, height, QT_METRICS)

    def needed_height(self, answer: ClusterAnswer) -> float:
        return lanes_height(answer)

    def rows(self) -> list[list[str]]:
        answer = self.clustered.answer if self.clustered else None
        if answer is None:
            return []
        rows = [["Ranks", "What", "From, ms", "To, ms"]]
        for rank in answer.ranks:
            for span in (*rank.compute, *rank.communication):
                times = [f"{1e3 * s:.6g}" for s in (span.start_s, span.end_s)]
                rows.append([ranks_words(rank.ranks), span.kind, *times])
        return rows
