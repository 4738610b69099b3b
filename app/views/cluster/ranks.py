"""The parts of each distinct rank's period."""

from __future__ import annotations

from typing import ClassVar

from app.answers.cluster.answer import ClusterAnswer
from app.answers.cluster.page import Clustered
from app.answers.cluster.words import PARTS, PARTS_HEAD, ranks_words
from app.charts.cluster.ranks import rank_seconds, ranks_drawing, ranks_height
from app.drawing.picture import Drawing
from app.quantities import seconds
from app.views.cluster.cluster_view import PictureView
from app.widgets.drawn import QT_METRICS


class RanksSideBySide(PictureView):
    """A bar per distinct rank, all on one scale."""

    title: ClassVar[str] = "Ranks side by side"

    def picture(
        self, clustered: Clustered, answer: ClusterAnswer, width: float, height: float
    ) -> Drawing:
        return ranks_drawing(answer, width, height, QT_METRICS)

    def needed_height(self, answer: ClusterAnswer) -> float:
        return ranks_height(answer)

    def subtitle(self) -> str:
        answer = self.clustered.answer if self.clustered else None
        if answer is None:
            return ""
        count = len(answer.ranks)
        return (
            f"{PARTS_HEAD}; {count} distinct of {answer.cluster.gpus}, "
            f"{seconds(answer.period_s)} each"
        )

    def rows(self) -> list[list[str]]:
        answer = self.clustered.answer if self.clustered else None
        if answer is None:
            return []
        heads = [f"{words.capitalize()}, ms" for words in PARTS.values()]
        rows = [["Ranks", *heads, "Kernels", "Memory, GiB"]]
        for rank in answer.ranks:
            parts = [f"{1e3 * part_s:.6g}" for part_s in rank_seconds(rank).values()]
            memory = f"{rank.needed_bytes / 2**30:.6g}"
            rows.append([ranks_words(rank.ranks), *parts, f"{rank.kernels}", memory])
        return rows
