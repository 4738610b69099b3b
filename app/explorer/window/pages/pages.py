"""Creates the pages for plans, clusters and lessons when they are first needed.

May import the other pages only inside functions: their modules take a third of the time of all
imports of a new window.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.explorer.background.reading_ahead import read_ahead
from app.explorer.state.session import State
from app.theme import Theme
from app.widgets.tab_order import insert_after, tab_stops
from app.widgets.view import View

if TYPE_CHECKING:
    from app.explorer.background.clustering import Clustering
    from app.explorer.background.planning import Planning
    from app.explorer.window.pages.cluster import ClusterPage
    from app.explorer.window.pages.lessons import LessonsPage
    from app.explorer.window.pages.plan import PlanPage
    from app.explorer.window.window import Window
    from app.lessons.lesson import Lesson

PLAN, CLUSTER, LESSONS = "Plan", "Cluster", "Lessons"
READ_AHEAD = "lessons ahead", "clusters ahead", "plans ahead"
"""The keys of the worker's jobs that read what these pages need."""


class _Page(Protocol):
    @property
    def bar(self) -> QWidget: ...
    def restyle(self, theme: Theme) -> None: ...
    def created(self, view: View) -> None: ...


AnyPage = TypeVar("AnyPage", bound=_Page)


class Pages:
    """The pages of a window. `bars` is the layout of their bars, below the verdict bar."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self.bars = QVBoxLayout()
        self.pages: list[_Page] = []
        """The pages created so far."""
        window.panels.created.connect(self._created)
        window.session.changed.connect(self._changed)
        window.opening.lessons_opened.connect(self._open_lessons)
        for key, read in zip(
            READ_AHEAD, (_read_lessons, _read_clusters, self._check_plan), strict=True
        ):
            read_ahead(window.worker, key, read, window)

    @cached_property
    def plan(self) -> PlanPage:
        """The page for plans."""
        from app.explorer.window.pages.plan import (
            PlanPage,  # imported when first needed: it is slow
        )

        page = self._place(PlanPage(self.window))
        page.planning.changed.connect(self.window.applicable.update)
        return page

    @cached_property
    def cluster(self) -> ClusterPage:
        """The page for clusters."""
        from app.explorer.window.pages.cluster import ClusterPage  # as above

        return self._place(ClusterPage(self.window))

    @cached_property
    def lessons(self) -> LessonsPage:
        """The page for lessons."""
        from app.explorer.window.pages.lessons import LessonsPage  # as above

        return self._place(LessonsPage(self.window))

    def create(self, workspace: str) -> None:
        """Create the page of a workspace, if it has one."""
        if workspace in (PLAN, CLUSTER, LESSONS):
            getattr(self, workspace.lower())

    @property
    def computing(self) -> list[Planning | Clustering]:
        """What the existing pages compute with."""
        existing = vars(self)
        plan = [self.plan.planning] if "plan" in existing else []
        return [*plan, *([self.cluster.clustering] if "cluster" in existing else [])]

    @property
    def has_plan(self) -> bool:
        """Whether there is a plan of the current draft."""
        return "plan" in vars(self) and self.plan.planning.complete

    @property
    def task_lesson(self) -> Lesson | None:
        """The lesson of the open task; None if there is no task or the lesson is not installed."""
        return self.lessons.task_lesson if self.window.session.state.task else None

    def show(self, shown: str) -> None:
        """Show the bar of the page of a workspace, and compute its figures; hide the others."""
        if shown == PLAN or "plan" in vars(self):
            self.plan.show(shown == PLAN)
        if shown == CLUSTER or "cluster" in vars(self):
            self.cluster.show(shown == CLUSTER)
        if self.window.session.state.task:
            self.create(LESSONS)  # its bar shows the task on other pages too

    def restyle(self, theme: Theme) -> None:
        """Apply a theme."""
        for page in self.pages:
            page.restyle(theme)

    def close(self) -> None:
        """End the process that predicts clusters."""
        if "cluster" in vars(self):
            self.cluster.clustering.close()

    def _place(self, page: AnyPage) -> AnyPage:
        """Add the bar of a page, before the shelf in the Tab order."""
        if page.bar.parent() is None:
            page.bar.hide()
        self.bars.addWidget(page.bar)
        insert_after(self.window.verdict, tab_stops(page.bar))
        self.pages.append(page)
        return page

    def _created(self, view: View) -> None:
        if view.workspace == PLAN:
            self.plan.created(view)
        if view.workspace in (CLUSTER, LESSONS):  # lessons ask the cluster's process too
            self.cluster.created(view)
        if view.workspace == LESSONS:
            self.lessons.created(view)

    def _changed(self, before: State, after: State) -> None:
        if before.task != after.task:
            self.create(LESSONS)  # the page follows the session from its creation

    def _check_plan(self) -> object:
        """Check the first draft, as the page of plans does. The session's state is immutable."""
        from app.answers.plan.draft import Draft  # as below
        from app.answers.plan.scenario_draft import of_scenario

        state = self.window.session.state
        return (Draft(state.plan) if state.plan else of_scenario(state.scenario)).spec

    def _open_lessons(self, path: Path) -> None:
        self.lessons.open(path)


def _read_lessons() -> object:
    from app.lessons import lessons  # imported in the background: it is slow

    return lessons()


def _read_clusters() -> object:
    from app.answers.cluster.fields import shipped  # as above

    return shipped()
