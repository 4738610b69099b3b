"""The panels of the views: created and drawn when visible, updated, and exported."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QApplication

from app.answers.subject import to_full_text
from app.explorer.background.answering import Answering
from app.explorer.background.worker import Worker, later
from app.explorer.docks.panel import Panel, copy_picture, export
from app.explorer.state.session import LETTERS, Session, State
from app.scenes.timeline.pins import Pin, Track
from app.theme import Theme
from app.views.catalogue import VIEWS, Offered
from app.widgets.save_dialog import ask_where
from app.widgets.view import View
from simulator.errors import RidgepointError
from simulator.scenario.scenario import Scenario

_IDLE_MS = 400
"""Delay after an answer before the window is considered idle."""
_LATE_MS = 60
"""Delay after the last answer before late views are drawn, unless another one is computed."""


class ViewPanels(QObject):
    """One panel for each view of the catalogue.

    A view is created when its panel is first visible, or earlier by `create`, and drawn whenever it
    comes to the front.
    """

    refused = Signal(str)
    created = Signal(object)
    """View: a view was created."""
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
        self._cancelled: set[Offered] = set()
        self._idle = later(_IDLE_MS, self._draw_visible, self)
        self._placed = later(0, self._draw_placed, self)
        self._postponed: set[Offered] = set()
        self._late = later(_LATE_MS, self._draw_late, self)
        self._clicked: View | None = None
        self._focus = later(0, self._focus_clicked, self)
        session.changed.connect(self._session_changed)
        for offered in VIEWS:
            self._add(offered)

    def draw(self) -> None:
        """Draw the visible views from a new answer; late views are dimmed until `_LATE_MS` pass
        without another answer."""
        self._stale = set(self.panels)
        self._postponed = {offered for offered in self.views if offered.late}
        self._late.stop()
        for offered in self._postponed:
            self.panels[offered].dim(True)
        self._draw_visible()
        self._placed.start()  # Qt lays out the panels of a new workspace later
        self._idle.start()

    def _draw_visible(self) -> None:
        for offered in self.visible():
            if offered not in self._postponed:
                self.view(offered)

    def _draw_placed(self) -> None:
        self._draw_visible()
        if self._postponed:
            self._late.start()  # after the others are painted, which may take longer than its delay

    def _draw_late(self) -> None:
        if self.answering.waiting:  # drawing would delay the answer of a moved slider
            self._late.start()
            return
        self._postponed.clear()
        self._draw_visible()

    def dim(self) -> None:
        """Dim all views until they are drawn from a new answer."""
        for offered, view in self.views.items():
            if view.follows:
                self.panels[offered].dim(True)

    def cancel(self) -> None:
        """Cancel the questions of all views. A view repeats its question when it next comes to the
        front."""
        for offered, panel in self.panels.items():
            if self.worker.busy(_key(offered)):
                self.worker.cancel(_key(offered))
                self._cancelled.add(offered)
                view = self.views[offered]
                panel.say(view.when_cancelled)
                view.show_cancelled(view.when_cancelled)

    def _shown(self, offered: Offered, shown: bool) -> None:
        if not shown:
            return
        if offered in self._cancelled:
            self._stale.add(offered)
        self._clicked = self.view(offered)
        if QApplication.mouseButtons() & Qt.MouseButton.LeftButton:  # the tab was clicked
            self._focus.start()

    def _focus_clicked(self) -> None:
        """Give the focus to the view of a clicked tab, so that its keys work immediately."""
        if self._clicked is not None:
            self._clicked.setFocus(Qt.FocusReason.MouseFocusReason)

    def pick(self, ops: frozenset[int]) -> None:
        """Select ops in all views; a view that shows an earlier answer follows when it is drawn."""
        for offered, view in self.views.items():
            if offered not in self._stale:
                view.pick(ops)

    def pin_lane(self, track: Track) -> None:
        """Pin or unpin a lane of the current scenario, and show the timeline, where it appears."""
        pin = Pin(track, LETTERS[self.session.state.current])
        timeline = next(offered for offered in self.panels if offered.title == "Timeline")
        if self._try(lambda: self.session.pin(pin, timeline.workspace)):
            self.panels[timeline].bring_forward(True)

    def _session_changed(self, before: State, after: State) -> None:
        if before.pinned != after.pinned:
            for view in self.views.values():
                view.show_pins(after.pinned)

    def restyle(self, theme: Theme) -> None:
        """Apply a theme."""
        self.theme = theme
        for panel in self.panels.values():
            panel.restyle(theme)
        for offered in self.visible():
            self.view(offered)

    def view(self, offered: Offered) -> View:
        """The view of a panel, up to date."""
        view = self.views[offered] if offered in self.views else self._create(offered)
        if view.theme != self.theme:
            view.restyle(self.theme)
        if offered in self._stale and self.answering.answer is not None:
            self._draw(offered, view)
        return view

    def show_table(self) -> None:
        """Show the table of the view that has the focus, else of the first visible one."""
        for offered in self._front():
            self._show_table(offered)

    def _show_table(self, offered: Offered) -> None:
        from app.explorer.docks.table_dialog import TableDialog  # imported late for a fast start

        TableDialog(self.view(offered)).show()

    def enlarge(self) -> None:
        """Show the chart of the view with the focus, else of the first visible view, in its own
        window."""
        for offered in self._front():
            self._enlarge(offered)

    def _enlarge(self, offered: Offered) -> None:
        # pyqtgraph takes 0.2 s to import and is needed only here
        from app.explorer.docks.enlarged import Enlarged

        self.enlarged = Enlarged(self.view(offered), offered.title, self.theme)
        self.enlarged.show()

    def _front(self) -> list[Offered]:
        """The view with the focus, else the first visible view; None, with a message, if all panels
        are closed."""
        visible = self.visible()
        focus = QApplication.focusWidget()
        focused = [
            offered
            for offered in visible
            if focus is not None and self.view(offered).isAncestorOf(focus)
        ]
        if not visible:
            self.refused.emit("no chart is shown; choose one in the View menu")
        return [*focused, *visible][:1]

    def visible(self) -> list[Offered]:
        """The views in front."""
        return [
            offered
            for offered, panel in self.panels.items()
            if panel.isVisible() and not panel.visibleRegion().isEmpty()
        ]

    def _add(self, offered: Offered) -> None:
        panel = self.panels[offered] = Panel(offered.title, None, self.theme)
        panel.visibilityChanged.connect(partial(self._shown, offered))
        panel.add_entry("Show chart as table", partial(self._show_table, offered))
        panel.add_entry("Enlarge chart", lambda: self._enlarge(offered))
        panel.add_entry("Copy chart as picture", lambda: copy_picture(self.view(offered)))
        for suffix in ("png", "svg", "csv"):
            words = f"Export as {suffix.upper()} …"
            panel.add_entry(words, partial(self._export, offered, suffix))

    def create(self, offered: Offered) -> None:
        """Create the view of a panel if it is missing. It is drawn when it is first visible."""
        if offered not in self.views:
            self._create(offered)

    def _create(self, offered: Offered) -> View:
        view = self.views[offered] = offered.kind()(self.theme)
        view.picked.connect(self.session.pick)
        view.scenario_requested.connect(partial(self._set_scenario, offered))
        view.added.connect(partial(self._try, self.session.add))
        view.pin_requested.connect(partial(self._try, self.session.pin))
        view.question_changed.connect(lambda: self._request(offered, view))
        self.created.emit(view)  # emitted first because `fill` orders the existing controls
        self.panels[offered].fill(view)
        self._stale.add(offered)
        view.show_pins(self.session.state.pinned)
        return view

    def _set_scenario(self, offered: Offered, scenario: Scenario) -> None:
        """Set the current scenario; a lesson adds one instead, shown in Explore."""
        if offered.workspace == "Lessons":
            self._try(lambda: self.session.add("From a lesson", scenario, "Explore"))
            return
        before = self.session.state.scenario.whatifs
        whatifs = scenario.whatifs
        added = len(whatifs) > len(before) and whatifs[: len(before)] == before
        words = to_full_text(whatifs[-1]) if added else f"change in {offered.title}"
        self.session.set_scenario(scenario, words)

    def _draw(self, offered: Offered, view: View) -> None:
        self._stale.discard(offered)
        self._cancelled.discard(offered)
        sides, current = self.answering.sides()
        view.draw(sides, current)
        view.pick(self.session.state.picked)
        self.panels[offered].say(*view.subtitles())
        self._request(offered, view)
        waits = view.waits and self.worker.busy(_key(offered))
        self.panels[offered].dim(view.follows and (waits or not self.answering.up_to_date))

    def _request(self, offered: Offered, view: View) -> None:
        """Compute the answer to a view's question, and pass it to the view."""
        sides, current = self.answering.sides()
        answered = self.answering.answer is not None or not view.follows
        question = view.question(sides, current) if answered else None
        key = _key(offered)
        if question is None:
            self.worker.cancel(key)
            return

        def done(result: Any) -> None:
            view.answer(result)
            self.panels[offered].say(*view.subtitles())
            self.panels[offered].dim(view.follows and not self.answering.up_to_date)

        def failed(error: RidgepointError) -> None:
            self.panels[offered].say(str(error))
            view.fail(str(error))

        def on_part(result: Any) -> None:
            view.show_part(result)
            self.panels[offered].say(*view.subtitles())

        self.worker.ask(key, question, done, failed, offered.workspace, True, on_part)

    def _export(self, offered: Offered, suffix: str) -> None:
        title, name = f"Export {offered.title}", f"{offered.title.lower()}.{suffix}"
        path = ask_where(self.panels[offered], title, name, f".{suffix}")
        if path is not None:
            from app.explorer.docks.table_dialog import write_csv  # as above

            write = write_csv if suffix == "csv" else export
            if self._try(lambda: write(self.view(offered), path)):
                self.written.emit(path)

    def _try(self, run: Callable[..., object], *arguments: object) -> bool:
        try:
            run(*arguments)
        except RidgepointError as error:
            self.refused.emit(str(error))
            return False
        return True


def _key(offered: Offered) -> str:
    """The worker's key of a view's question."""
    return f"view {offered.title}"
