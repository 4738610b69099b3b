"""The views of the explorer, in the order of its menus."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from app.charts.registry import PredictionChart, prediction_charts
from app.widgets.view import View


@dataclass(frozen=True)
class Offered:
    """A view by title and workspace. Its class, `name` in a module of `app.views`, is imported
    when the view is first shown, to keep the explorer's start fast."""

    title: str
    workspace: str
    module: str
    name: str
    late: bool = False
    """Whether the view is drawn only once a slider rests, because drawing it exceeds a slider's
    time budget."""

    def kind(self) -> type[View]:
        """Import and return the class."""
        return getattr(import_module(f"app.views.{self.module}"), self.name)


@dataclass(frozen=True)
class OfferedChart(Offered):
    """A picture without its own view."""

    chart: PredictionChart | None = None

    def kind(self) -> type[View]:
        from app.views.chart import chart_view  # imported when the view is first shown

        assert self.chart is not None
        return chart_view(self.chart)


def _charts() -> tuple[Offered, ...]:
    charts = (chart for chart in prediction_charts() if not chart.view)
    return tuple(OfferedChart(each.title, "Explore", "", "", chart=each) for each in charts)


VIEWS = (
    Offered("Roofline", "Explore", "roofline.view", "Roofline"),
    Offered("Sweep", "Explore", "sweep.view", "Sweep"),
    Offered("Timeline", "Explore", "timeline.view", "Timeline", late=True),
    Offered("Where time goes", "Explore", "modules.view", "WhereTimeGoes"),
    Offered("Ops", "Explore", "ops.view", "OpTable"),
    Offered("Memory", "Explore", "memory", "MemoryView"),
    Offered("Measured", "Explore", "measured", "MeasuredView"),
    Offered("Regime map", "Map", "regime_map.view", "RegimeMap"),
    Offered("Combinations", "Explore", "combinations.view", "Combinations"),
    Offered("From A to B", "Compare", "compare.view", "Compare"),
    Offered("Fusion", "Fusion", "fusion.view", "FusionView"),
    Offered("The factory", "Factory", "factory.view", "Factory"),
    Offered("Split", "Cluster", "cluster.split", "Split"),
    Offered("The cluster", "Cluster", "cluster.fabric", "TheCluster"),
    Offered("Ranks side by side", "Cluster", "cluster.ranks", "RanksSideBySide"),
    Offered("Collectives", "Cluster", "cluster.collectives", "CollectivesTable"),
    Offered("Scaling", "Cluster", "cluster.scaling", "Scaling"),
    Offered("Rank timeline", "Cluster", "cluster.lanes", "RankTimeline"),
    Offered("Workload", "Plan", "plan.workload", "Workload"),
    Offered("Cost against speed", "Plan", "plan.front", "CostAgainstSpeed"),
    Offered("The queue", "Plan", "plan.queue", "TheQueue"),
    Offered("Verdict", "Plan", "plan.verdict", "PlanVerdict"),
    Offered("Lessons", "Lessons", "lessons.view", "Lessons"),
    *_charts(),
)
