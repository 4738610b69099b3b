"""Connects the views of the cluster to the session's cluster and its scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.answers.cards import Card
from app.answers.cluster.answer import ClusterAnswer
from app.answers.cluster.choice import ClusterQuestion
from app.explorer.background.clustering import Clustering
from app.explorer.docks.veil import Veil
from app.theme import Theme
from app.views.cluster.cluster_view import ClusterView
from app.views.cluster.gpu_drop import gpu_offer
from app.views.cluster.headline import ClusterBar
from app.widgets.drops import Offer
from app.widgets.view import View
from simulator.errors import RidgepointError

if TYPE_CHECKING:
    from app.explorer.window.window import Window
    from app.views.catalogue import Offered


class ClusterPage:
    """Shows the step over several GPUs in its views, and applies their edits."""

    workspace = ClusterView.workspace

    def __init__(self, window: Window) -> None:
        self.window = window
        self.clustering = Clustering(window.session, window.worker)
        self.clustering.setParent(window)
        self.clustering.changed.connect(self._show)
        window.opening.hardware_opened.connect(self.clustering.reread)
        self._answer: ClusterAnswer | None = None
        self._collective = -1
        self.bar = ClusterBar(window.theme)
        self.veil = Veil(self.bar, window.theme)

    @property
    def views(self) -> list[tuple[Offered, ClusterView]]:
        """The views created so far."""
        views = self.window.panels.views.items()
        return [(offered, view) for offered, view in views if isinstance(view, ClusterView)]

    def offered(self, card: Card) -> Offer:
        """The effect of dropping a GPU's card anywhere on the page."""
        return gpu_offer(card.key, self.clustering.clustered.question, self.edit)

    def show(self, shown: bool) -> None:
        """Show or hide the verdict bar; predict while it is shown."""
        self.bar.setVisible(shown)
        self.clustering.watch(shown)

    def restyle(self, theme: Theme) -> None:
        """Apply a theme."""
        self.bar.restyle(theme)
        self.veil.theme = theme

    @property
    def command(self) -> str:
        """The command line of the same prediction. Raises InputError if no option expresses it."""
        return self.clustering.clustered.question.command

    def edit(self, question: ClusterQuestion, words: str, merge: str = "") -> None:
        """Set the scenario, the cluster or the split."""
        now, session = self.clustering.clustered.question, self.window.session
        try:
            if question.choice == now.choice:
                session.set_scenario(question.scenario, words)
            else:
                session.set_cluster(question.choice, words, merge, question.scenario)
        except RidgepointError as error:
            for _, view in self.views:
                view.refuse(str(error))

    def _open(self, question: ClusterQuestion) -> None:
        """Show a question from another page on this page."""
        self.window.session.set_cluster(
            question.choice,
            f"{question.scenario.network} on {question.choice.cluster}",
            scenario=question.scenario,
            workspace=self.workspace,
        )

    def created(self, view: View) -> None:
        """Connect a new view."""
        if view.workspace == "Lessons":
            from app.views.lessons.view import Lessons  # imported late: it is slow

            assert isinstance(view, Lessons)
            view.on_cluster = self.clustering.answered
            view.spread.connect(self._open)
        if isinstance(view, ClusterView):
            view.edited.connect(self.edit)
            view.cancelled.connect(self.clustering.cancel)
            view.retried.connect(self.clustering.retry)
            view.sought.connect(self.clustering.find_splits)
            view.scaled.connect(self.clustering.scale)
            view.picked.connect(self._pick)
            view.show_clustered(self.clustering.clustered)
            view.show_collective(self._collective)

    def _pick(self, row: int) -> None:
        self._collective = row
        for _, view in self.views:
            view.show_collective(row)

    def _show(self) -> None:
        clustered = self.clustering.clustered
        if clustered.answer is not self._answer:
            self._answer = clustered.answer
            self._pick(-1)  # the rows belong to another answer
        self.bar.put(clustered)
        self.veil.put(clustered.stale)
        for offered, view in self.views:
            view.show_clustered(clustered)
            panel = self.window.panels.panels[offered]
            panel.say(*view.subtitles())
            panel.dim(view.dims and clustered.stale)
