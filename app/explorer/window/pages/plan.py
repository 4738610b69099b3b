"""Connects the views of the plan to the session's plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from app.answers.cards import Card
from app.answers.cluster.choice import ClusterChoice
from app.answers.plan.cards import with_gpu, with_network
from app.answers.plan.draft import Draft
from app.explorer.background.planning import Planning, draft_of
from app.explorer.background.worker import PLAN
from app.explorer.docks.veil import Veil
from app.outputs import write
from app.theme import Theme
from app.views.plan.headline import PlanBar
from app.views.plan.plan_view import PlanView
from app.widgets.drops import Offer
from app.widgets.save_dialog import ask_where
from app.widgets.view import View
from simulator.errors import RidgepointError
from simulator.planning.row_scenario import replica_of, scenario_of
from simulator.planning.step.tables import FUSED

if TYPE_CHECKING:
    from app.explorer.window.window import Window
    from app.views.catalogue import Offered


class PlanPage:
    """Shows the plan in its views, and applies their edits."""

    workspace = PlanView.workspace

    def __init__(self, window: Window) -> None:
        self.window = window
        self.planning = Planning(window.session, window.worker)
        self.planning.setParent(window)
        self.planning.changed.connect(self._show)
        self.bar = PlanBar(window.theme)
        self.veil = Veil(self.bar, window.theme)

    @property
    def views(self) -> list[tuple[Offered, PlanView]]:
        """The views created so far."""
        views = self.window.panels.views.items()
        return [(offered, view) for offered, view in views if isinstance(view, PlanView)]

    @property
    def text(self) -> str:
        """The TOML of the plan."""
        return draft_of(self.window.session.state).text

    def offered(self, card: Card) -> Offer:
        """The effect of dropping a card on the page."""
        if card.kind not in ("gpu", "network"):
            return Offer("A plan takes networks and GPUs: drop the card of one", None)
        draft = self.planning.planned.draft
        try:
            if card.kind == "gpu":
                after, words = with_gpu(draft, card.name), f"add {card.title} to the candidates"
            else:
                after, words = with_network(draft, card.name), f"plan for {card.title}"
        except RidgepointError as error:
            return Offer(str(error), None)
        return Offer(f"{words[0].upper()}{words[1:]}", lambda: self.edit(after, words))

    def show(self, shown: bool) -> None:
        """Show or hide the verdict bar of the plan; plan while it is shown."""
        self.bar.setVisible(shown)
        self.planning.watch(shown)

    def restyle(self, theme: Theme) -> None:
        """Apply a theme."""
        self.bar.restyle(theme)
        self.veil.theme = theme

    def edit(self, draft: Draft, words: str) -> None:
        """Set the draft, or show why the planner refuses it."""
        try:
            self.planning.edit(draft, words)
        except RidgepointError as error:
            for _, view in self.views:
                view.refuse(str(error))

    def open_scenario(self) -> None:
        """Add the scenario of the chosen candidate, and show it: a replica over several GPUs on the
        Cluster page, any other step in Explore. If the Cluster page cannot predict the precision,
        the step of one GPU is opened instead. The name of the scenario notes this, and also that
        the step runs PyTorch's kernels instead of the faster ones of a serving engine."""
        planned, session = self.planning.planned, self.window.session
        row, spec = planned.row, planned.spec
        if row is None or spec is None:
            return
        step, choice = scenario_of(spec, row), None
        serves = spec.workload.kind == "serving" and row.engine in FUSED
        notes = ["PyTorch's kernels"] if serves else []
        if planned.page == "Cluster":
            step = replica_of(spec, row)
            choice = ClusterChoice(f"{row.split}x{row.gpu}", tp=row.split)
        elif row.split > 1:
            notes.append(f"one of {row.split} GPUs, no collectives")
        name = ": ".join((row.configuration, *filter(None, [", ".join(notes)])))
        plan = self.text  # keeps the plan from following the new scenario
        self.window.opening.attempt(lambda: session.add(name, step, planned.page, choice, plan))

    def report(self) -> None:
        """Ask for a file, and write the plan's HTML page to it, rendered in the background."""
        planned, window = self.planning.planned, self.window
        plan, spec = planned.plan, planned.spec
        if plan is None or spec is None:
            return
        path = ask_where(window, "Write plan report", "plan.html", ".html", "Web pages")
        if path is None:
            return

        def render(cancelled: Callable[[], bool]) -> str:
            from app.html.plan import plan_page  # imported only for a report: it slows the start

            return plan_page(spec, plan)

        def done(text: str) -> None:
            if window.opening.attempt(lambda: write("Report", str(path), text)):
                window.opening.say_written(path)

        window.worker.ask(
            "plan report", render, done, lambda error: window.banner.say(str(error)), PLAN
        )

    def created(self, view: View) -> None:
        """Connect a new view."""
        if isinstance(view, PlanView):
            view.edited.connect(self.edit)
            view.chose.connect(self.planning.choose)
            view.opened.connect(self.open_scenario)
            view.reported.connect(self.report)
            view.shelf_requested.connect(self._show_shelf)
            view.cancelled.connect(self.planning.cancel)
            view.retried.connect(self.planning.retry)
            view.show_plan(self.planning.planned)

    def _show_shelf(self) -> None:
        """Show the cards of GPUs, which can be dropped on the page."""
        window = self.window
        window.beside[0].show()
        window.shelf.reveal("gpu")

    def _show(self) -> None:
        planned = self.planning.planned
        self.bar.put(planned)
        self.veil.put(planned.stale)
        for offered, view in self.views:
            view.show_plan(planned)
            panel = self.window.panels.panels[offered]
            panel.say(*view.subtitles())
            panel.dim(view.dims and planned.stale)
