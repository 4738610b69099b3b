"""The views in their panels: made and drawn when they are seen, asked, and exported."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QApplication, QFileDialog

from app.answers.subject import to_full_text
from app.explorer.background.answering import Answering
from app.explorer.background.worker import SLOW, Worker, later
from app.explorer.docks.panel import Panel, export
from app.explorer.docks.twin import TableDialog, write_csv
from app.explorer.state.session import Session
from app.theme import Theme
from app.views.catalogue import VIEWS, Offered
from app.widgets.view import View
from simulator.errors import RidgepointError
from simulator.scenario.scenario import Scenario

_IDLE_MS = 400
"""So long after an answer nobody waits for the next one."""


class ViewPanels(QObject):
    """A panel for every view that is offered. A view is made when its panel is first seen; one
    behind another is drawn, in the theme of the day, once it comes to the front. Their modules
    are read ahead, one at a time, while nobody waits."""

    refused = Signal(str)
    written = Signal(object)
    """Path: a view was exported."""

    def __init__(
        self, session: Session, answering: Answering, worker: Worker, theme: Theme
    ) -> None:
        super().__init__()
        self.session, self.answering, self.worker = session, answering, worker
        self.theme = theme
        self.panels: dict[Offered, Panel] = {}
        self.views: dict[Offered, View] = {}
        self._stale: set[Offered] = set()
        self._unread = sorted(VIEWS, key=lambda each: each.workspace == VIEWS[0].workspace)
        self._idle = QTimer(self, singleShot=True, interval=_IDLE_MS)
        self._idle.timeout.connect(self._read_ahead)
        self._placed = later(0, self._draw_seen, self)
        self._idle.timeout.connect(self._draw_seen)
        for offered in VIEWS:
            self._add(offered)

    def draw(self) -> None:
        """There is a new answer: draw what is seen."""
        self._stale = set(self.panels)
        self._draw_seen()
        self._placed.start()  # panels of a workspace that was just gone to have no place before
        self._idle.start()

    def _draw_seen(self) -> None:
        for offered in self._seen():
            self.view(offered)

    def dim(self) -> None:
        """What is shown is of another question, until it is drawn anew."""
        for offered, view in self.views.items():
            if view.follows:
                self.panels[offered].dim(True)

    def _read_ahead(self) -> None:
        while self._unread:
            offered = self._unread.pop(0)
            if offered not in self.views:
                offered.kind()
                self._idle.start()
                return

    def pick(self, ops: frozenset[int]) -> None:
        """Other ops are chosen; a view that shows another answer's is told when it is drawn."""
        for offered, view in self.views.items():
            if offered not in self._stale:
                view.pick(ops)

    def restyle(self, theme: Theme) -> None:
        """Another theme."""
        self.theme = theme
        for panel in self.panels.values():
            panel.restyle(theme)
        for offered in self._seen():
            self.view(offered)

    def view(self, offered: Offered) -> View:
        """This view as it is now."""
        view = self.views[offered] if offered in self.views else self._made(offered)
        if view.theme != self.theme:
            view.restyle(self.theme)
        if offered in self._stale and self.answering.answer is not None:
            self._draw(offered, view)
        return view

    def show_twin(self) -> None:
        """The table of the picture that has the focus, else of the first in front."""
        seen = [self.view(offered) for offered in self._seen()]
        focus = QApplication.focusWidget()
        holding = [view for view in seen if focus is not None and view.isAncestorOf(focus)]
        for view in [*holding, *seen][:1]:
            TableDialog(view).show()

    def _seen(self) -> list[Offered]:
        """Those in front."""
        return [
            offered
            for offered, panel in self.panels.items()
            if panel.isVisible() and not panel.visibleRegion().isEmpty()
        ]

    def _add(self, offered: Offered) -> None:
        panel = self.panels[offered] = Panel(offered.title, None, self.theme)
        panel.visibilityChanged.connect(lambda shown: self.view(offered) if shown else None)
        panel.menu.addAction("As a table").triggered.connect(
            lambda: TableDialog(self.view(offered)).show()
        )
        for suffix in ("png", "svg", "csv"):
            action = panel.menu.addAction(f"Export as {suffix.upper()} …")
            action.triggered.connect(lambda _=False, s=suffix: self._export(offered, s))

    def _made(self, offered: Offered) -> View:
        view = self.views[offered] = offered.kind()(self.theme)
        view.picked.connect(self.session.pick)
        view.asked.connect(lambda asked: self._asked(offered, asked))
        view.added.connect(lambda name, asked: self._tried(lambda: self.session.add(name, asked)))
        view.wondered.connect(lambda: self._wonder(offered, view))
        self.panels[offered].fill(view)
        self._stale.add(offered)
        return view

    def _asked(self, offered: Offered, asked: Scenario) -> None:
        """Work on another scenario; what a lesson is about is one more, looked at in Explore."""
        if offered.workspace == "Lessons":
            self._tried(lambda: self.session.add("From a lesson", asked, "Explore"))
            return
        before = self.session.state.scenario.whatifs
        added = len(asked.whatifs) > len(before) and asked.whatifs[: len(before)] == before
        words = to_full_text(asked.whatifs[-1]) if added else f"change in {offered.title}"
        self.session.ask(asked, words)

    def _draw(self, offered: Offered, view: View) -> None:
        self._stale.discard(offered)
        sides, current = self.answering.sides()
        view.draw(sides, current)
        view.pick(self.session.state.picked)
        self.panels[offered].say(view.subtitle())
        self._wonder(offered, view)
        waits = view.waits and self.worker.busy(_key(offered))
        self.panels[offered].dim(view.follows and (waits or not self.answering.caught_up))

    def _wonder(self, offered: Offered, view: View) -> None:
        """Ask a view's question, and give it the answer."""
        sides, current = self.answering.sides()
        known = self.answering.answer is not None
        question = view.question(sides, current) if known else None
        key = _key(offered)
        if question is None:
            self.worker.cancel(key)
            return

        def done(found: Any) -> None:
            view.answer(found)
            self.panels[offered].say(view.subtitle())
            self.panels[offered].dim(view.follows and not self.answering.caught_up)

        def failed(error: RidgepointError) -> None:
            self.panels[offered].say(str(error))

        self.worker.ask(key, question, done, failed, SLOW, True)

    def _export(self, offered: Offered, suffix: str) -> None:
        name, _ = QFileDialog.getSaveFileName(
            self.panels[offered],
            f"Export {offered.title}",
            f"{offered.title.lower()}.{suffix}",
            f"*.{suffix}",
        )
        if name:
            write = write_csv if suffix == "csv" else export
            path = Path(name).with_suffix(f".{suffix}")
            if self._tried(lambda: write(self.view(offered), path)):
                self.written.emit(path)

    def _tried(self, done: Callable[[], object]) -> bool:
        try:
            done()
        except RidgepointError as error:
            self.refused.emit(str(error))
            return False
        return True


def _key(offered: Offered) -> str:
    """Of a view's question."""
    return f"view {offered.title}"
