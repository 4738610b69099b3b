"""The views in their panels: drawn when they are seen, asked, and exported."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QApplication, QFileDialog, QWidget

from app.background.answering import Answering
from app.background.worker import SLOW, Worker
from app.scenario import worded
from app.state.session import Session
from app.theme import Theme
from app.views.catalogue import VIEWS
from app.views.view import View
from app.window.panel import Panel, export
from app.window.twin import Twin, write_csv
from simulator.errors import RidgepointError
from simulator.scenario import Scenario


class ViewPanels(QObject):
    """Every view with its panel. A view behind another is drawn once it comes to the front."""

    refused = Signal(str)

    def __init__(self, session: Session, answering: Answering, worker: Worker,
                 theme: Theme) -> None:  # fmt: skip
        super().__init__()
        self.session, self.answering, self.worker = session, answering, worker
        self.views: dict[View, Panel] = {}
        self._stale: set[View] = set()
        for kind in VIEWS:
            self._add(kind, theme)

    def draw(self) -> None:
        """There is a new answer: draw what is seen."""
        self._stale = set(self.views)
        for view, panel in self.views.items():
            seen = panel.isVisible() and not view.visibleRegion().isEmpty()
            if seen or not panel.window().isVisible():
                self._draw(view)

    def pick(self, ops: frozenset[int]) -> None:
        """Other ops are chosen."""
        for view in self.views:
            view.pick(ops)

    def restyle(self, theme: Theme) -> None:
        """Another theme."""
        for view, panel in self.views.items():
            panel.restyle(theme)
            view.restyle(theme)

    def show_twin(self) -> None:
        """The table of the picture that has the focus, else of the first in front."""
        seen = [
            v for v, p in self.views.items() if p.isVisible() and not v.visibleRegion().isEmpty()
        ]
        focus = QApplication.focusWidget()
        holding = [view for view in seen if focus is not None and view.isAncestorOf(focus)]
        for view in [*holding, *seen][:1]:
            Twin(view).show()

    def _add(self, kind: type[View], theme: Theme) -> None:
        view = kind(theme)
        panel = Panel(kind.title, view, theme)
        view.picked.connect(self.session.pick)
        view.asked.connect(lambda asked: self._asked(kind, asked))
        view.added.connect(lambda name, asked: self._tried(lambda: self.session.add(name, asked)))
        view.wondered.connect(lambda: self._wonder(view))
        panel.visibilityChanged.connect(lambda shown: self._shown(view, shown))
        panel.menu.addAction("As a table").triggered.connect(lambda: Twin(view).show())
        for suffix in ("png", "svg", "csv"):
            action = panel.menu.addAction(f"Export as {suffix.upper()} …")
            action.triggered.connect(lambda _=False, s=suffix: self._export(view, s))
        self.views[view] = panel

    def _asked(self, kind: type[View], asked: Scenario) -> None:
        """Work on another scenario; what a lesson is about is looked at in Explore."""
        before = self.session.state.scenario.whatifs
        added = len(asked.whatifs) > len(before) and asked.whatifs[: len(before)] == before
        words = worded(asked.whatifs[-1]) if added else f"change in {kind.title}"
        self.session.ask(asked, words)
        if kind.workspace == "Lessons":
            self.session.show("Explore")

    def _draw(self, view: View) -> None:
        self._stale.discard(view)
        sides, current = self.answering.sides()
        view.draw(sides, current)
        view.pick(self.session.state.picked)
        self.views[view].say(view.subtitle())
        self._wonder(view)

    def _wonder(self, view: View) -> None:
        """Ask a view's question, and give it the answer."""
        sides, current = self.answering.sides()
        known = self.answering.answer is not None
        question = view.question(sides, current) if known else None
        if question is None:
            self.worker.cancel(f"view {view.title}")
            return

        def done(found: Any) -> None:
            view.answer(found)
            self.views[view].say(view.subtitle())

        def failed(error: RidgepointError) -> None:
            self.views[view].say(str(error))

        self.worker.ask(f"view {view.title}", question, done, failed, SLOW, True)

    def _shown(self, view: View, shown: bool) -> None:
        if shown and view in self._stale and self.answering.answer is not None:
            self._draw(view)

    def _export(self, view: View, suffix: str) -> None:
        parent: QWidget = self.views[view]
        name, _ = QFileDialog.getSaveFileName(
            parent, f"Export {view.title}", f"{view.title.lower()}.{suffix}", f"*.{suffix}"
        )
        if name:
            write = write_csv if suffix == "csv" else export
            self._tried(lambda: write(view, Path(name).with_suffix(f".{suffix}")))

    def _tried(self, done: Callable[[], object]) -> None:
        try:
            done()
        except RidgepointError as error:
            self.refused.emit(str(error))
