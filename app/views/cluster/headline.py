"""The verdict bar of the cluster's workspace."""

from __future__ import annotations

from collections.abc import Mapping

from app.answers.cluster.page import Clustered
from app.answers.cluster.words import SHARES_HEAD, SHARES_TIP, whole_percents
from app.charts.cluster.headline import cluster_headline
from app.charts.plan.headline import waiting_drawing
from app.drawing.picture import Drawing
from app.scenes.cluster_headline import headline_figures
from app.theme import Theme
from app.views.figure_bar import FigureBar
from app.widgets.drawn import QT_METRICS
from simulator.parallel.prediction import PARALLEL_REGIMES, ParallelRegime


class ClusterBar(FigureBar):
    """The figures of a step."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Verdict of the cluster")
        self.clustered: Clustered | None = None
        self._shown: tuple[object, ...] = ()

    def put(self, clustered: Clustered) -> None:
        """Show a step, or its progress."""
        shown = clustered.answer, clustered.points, clustered.empty, bool(clustered.progress)
        self.clustered = clustered
        if shown == self._shown:  # called for every update of the progress
            return
        self._shown = shown
        answer = clustered.answer
        figures = [
            [each.label, f"{each.figure} {each.unit}; {each.note}"]
            for each in headline_figures(clustered)
        ]
        shares = [[SHARES_HEAD, _words(answer.shares)]] if answer else []
        verdict = f"{answer.regime}-bound" if answer else clustered.empty
        self.describe([[verdict], *shares, *figures])
        self.setToolTip(SHARES_TIP if answer else "")
        self.redraw()

    def drawing(self, width: float, height: float) -> Drawing | None:
        clustered = self.clustered
        if clustered is None or clustered.answer is None:
            words = clustered.empty if clustered else ""
            return waiting_drawing(words, width, height)
        return cluster_headline(clustered, width, height, QT_METRICS)


def _words(shares: Mapping[ParallelRegime, float]) -> str:
    percents = whole_percents(shares)
    return ", ".join(f"{percents[regime]}% {regime}" for regime in PARALLEL_REGIMES)
