"""The main window: header, verdict bar, shelf, workspaces, scenario cards and inspector."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QCloseEvent, QResizeEvent
from PySide6.QtWidgets import QMainWindow, QVBoxLayout, QWidget

from app.explorer.background.advising import Advising
from app.explorer.background.answering import Answering
from app.explorer.background.reading_ahead import read_ahead
from app.explorer.background.worker import Worker
from app.explorer.docks.layout import Layout
from app.explorer.docks.panel import Panel
from app.explorer.docks.view_panels import ViewPanels
from app.explorer.docks.workspaces import Workspaces
from app.explorer.files.banner import Banner
from app.explorer.files.exporting import Form, ask_and_export
from app.explorer.files.network_files import NetworkFiles
from app.explorer.files.opening import Opening
from app.explorer.inspector.inspector import Inspector
from app.explorer.shelf.shelf import Shelf
from app.explorer.state.files import Files
from app.explorer.state.places import Remembered
from app.explorer.state.session import LETTERS, Session, State
from app.explorer.window.applicable import WITH_SIDES, Applicable
from app.explorer.window.cancelling import cancel, is_busy
from app.explorer.window.commands import Commands
from app.explorer.window.dropping import Dropping
from app.explorer.window.explaining import Explaining
from app.explorer.window.gpu_editing import GpuEditing
from app.explorer.window.head import OWN_QUESTION, Head, WorkspaceButtons
from app.explorer.window.menus import Menus
from app.explorer.window.pages.pages import Pages
from app.explorer.window.shortcuts import Shortcuts, show_shortcut
from app.explorer.window.side_strip import SideStrip
from app.explorer.window.staleness import Staleness
from app.explorer.window.status import Status
from app.explorer.window.styling import Styling
from app.explorer.window.tab_stops import step_to_visible
from app.explorer.window.verdict.bar import VerdictBar
from app.explorer.window.view_menus import ViewMenus
from app.widgets.style import INSPECTOR_WIDTH, LOW_WINDOW, SHELF_WIDTH, face, themed
from app.widgets.tab_order import insert_after, tab_stops
from simulator.hardware.gpu import gpus

_WITHOUT_VERDICT = ("Compare", *OWN_QUESTION)
"""Workspaces without the verdict bar: their views show the prediction or let the user guess it."""


class Window(QMainWindow):
    """Shows the state of the session; every change goes through the session."""

    def __init__(
        self, session: Session, worker: Worker, remembered: Remembered | None = None
    ) -> None:
        super().__init__()
        self.session, self.worker, self.styling = session, worker, Styling(self)
        theme = self.theme = themed(session.state.theme)
        self.answering = Answering(session, worker)
        self.advising = Advising(worker)
        self.setWindowTitle("Ridgepoint")
        self.setFont(face())
        self.verdict, self.banner = VerdictBar(theme), Banner()
        self.inspector = Inspector(session, theme)
        self.shelf = Shelf(theme, self._side_names)
        self.strip = SideStrip(session, self.answering, theme)
        read_ahead(worker, "GPUs ahead", gpus, self)
        self.strip.set_low(True)  # allows a low window until its height is known
        self.panels = ViewPanels(session, self.answering, worker, theme)
        self.workspaces = Workspaces()
        placed = [(offered.workspace, panel) for offered, panel in self.panels.panels.items()]
        self.workspaces.fill(placed)
        self.beside = [Panel("Shelf", self.shelf, theme), Panel("Scenario", self.inspector, theme)]
        for child in (self.answering, self.advising, self.panels):
            child.setParent(self)  # their timers end with the window
        self._place()
        self.layout_ = Layout(self, self.workspaces, self.beside)
        self.files = Files(
            session, remembered or Remembered(), self.layout_.current, self.layout_.restore
        )
        self.networks = NetworkFiles(self, session, self.answering, self.banner)
        self.opening = Opening(self, session, self.files, self.banner, self.networks)
        self.dropping = Dropping(self, theme)
        self.pages, self.gpu_editing = Pages(self), GpuEditing(self)
        self.explaining, self.view_menus = Explaining(self), ViewMenus(self)
        self.commands = Commands(self)
        self.buttons = WorkspaceButtons(self.workspaces.docks)
        menus = Menus(self)
        self.shortcuts = Shortcuts(self.actions(), self.files.remembered)
        self.applicable = Applicable(self)
        actions = self.shortcuts.actions
        self.head = Head(menus, self.buttons, actions["Undo"], actions["Redo"])
        search, copy = actions["Commands …"], actions["Duplicate scenario"]
        show_shortcut(self.head.commands, "Search all commands and cards", search)
        show_shortcut(self.strip.more, "Duplicate the current scenario", copy)
        self.head.commands.clicked.connect(self.commands.open)
        self.setMenuWidget(top := self._top())
        self.status = Status(self.answering, worker)
        self.networks.status_changed.connect(self.status.say)
        self.status.cancelled.connect(lambda: cancel(self))
        self.setStatusBar(self.status)
        self.setContentsMargins(8, 0, 8, 0)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setFocus()  # no control has the focus at first
        insert_after(self, [*tab_stops(top), *tab_stops(self.beside[0])])
        self.staleness = Staleness(self)
        self._connect()
        self.restyle()
        self._show_workspace(session.state.workspace)
        self.shelf.show_scenario(session.state.scenario)
        self.beside[0].say("drag to apply")
        self._show_side()
        self.answering.request()

    def _place(self) -> None:
        """Lay out the shelf, the workspaces above the scenario cards, and the inspector."""
        middle = QWidget()
        middle.setProperty("look", "plain")
        column = QVBoxLayout(middle)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.workspaces, 1)
        column.addWidget(self.strip)
        self.setCentralWidget(middle)
        areas = (Qt.DockWidgetArea.LeftDockWidgetArea, Qt.DockWidgetArea.RightDockWidgetArea)
        widths = (SHELF_WIDTH, INSPECTOR_WIDTH)
        for panel, area, wide in zip(self.beside, areas, widths, strict=True):
            panel.setFixedWidth(wide)
            self.addDockWidget(area, panel)

    def _top(self) -> QWidget:
        top = QWidget()
        top.setProperty("look", "window")
        column = QVBoxLayout(top)
        column.setContentsMargins(0, 4, 0, 8)
        column.setSpacing(6)
        column.addWidget(self.head)
        column.addWidget(self.verdict)
        column.addLayout(self.pages.bars)
        column.addWidget(self.banner)
        return top

    def _connect(self) -> None:
        self.session.changed.connect(self._changed)
        self.buttons.chosen.connect(self.session.show)
        self.files.named.connect(self._show_subject)
        self.shelf.applied.connect(self.dropping.apply)
        for refusing in (self.panels, self.strip, self.inspector.applied, self.inspector.advice):
            refusing.refused.connect(self.dropping.refuse)
        self.panels.written.connect(self.opening.say_written)
        answering, inspector = self.answering, self.inspector
        answering.current_answered.connect(self._draw)
        answering.answers_changed.connect(self.strip.show_sides)
        answering.outdated_shown.connect(self.staleness.wait)
        answering.current_failed.connect(self._failed)
        answering.reload_failed.connect(self._reload_failed)
        for shows in (self.verdict, inspector):
            answering.along_ready.connect(shows.show_along)
        inspector.follow(self.advising)
        inspector.edit_gpu.clicked.connect(self.gpu_editing.open)

    def _changed(self, before: State, after: State) -> None:
        self.banner.clear("card", "file")
        if before.theme != after.theme:
            self.restyle()
        if before.workspace != after.workspace:
            self._show_workspace(after.workspace)
        if (before.sides, before.current) != (after.sides, after.current):
            self.strip.show_sides()
            self._show_side()
            self.inspector.show_scenario(after.scenario)
            self.shelf.show_scenario(after.scenario)
            self.answering.request()
        if before.picked != after.picked:
            self.panels.pick(after.picked)

    def _show_workspace(self, workspace: str) -> None:
        self.worker.pause_slow()  # its views are painted before their questions are computed
        if workspace in self.workspaces.docks:
            self.styling.finish(self.workspaces.docks[workspace], *self.beside)
        shown = self.layout_.show(workspace)
        self.buttons.put(shown)
        self.verdict.setVisible(shown not in _WITHOUT_VERDICT)
        self.strip.setVisible(shown in WITH_SIDES)
        self.pages.show(shown)
        self.layout_.settle()  # before the first painting
        self._show_subject()
        self._advise()

    def _failed(self, reason: str) -> None:
        self.staleness.fail()
        undoable = self.session.undo_restores(self.answering.answers)
        offers = {"Undo": self.session.history.undo} if undoable else None
        self.banner.say(reason, about="prediction", offers=offers)
        self.status.say("Not predicted")
        self.strip.show_sides()
        self.advising.stop()
        self.inspector.advice.fail("")

    def _reload_failed(self, _path: object, _error: object) -> None:
        self.inspector.advice.fail("waits for the corrected file")

    def _draw(self) -> None:
        """Show the answer to the current scenario."""
        answer = self.answering.answer
        assert answer is not None
        if self.answering.up_to_date:
            self.banner.clear("prediction")
        self.verdict.show_answer(answer)
        self.staleness.drawn()
        self.verdict.repaint()  # on the screen before the charts are drawn
        self.inspector.show_answer(answer)
        self.panels.draw()
        self.status.count(answer)
        self._show_subject()
        self._advise()

    def _advise(self) -> None:
        """Search for advice on the current scenario if the inspector is visible."""
        answer = self.answering.answer
        if answer is not None and self.answering.up_to_date and not self.beside[1].isHidden():
            self.advising.set_scenario(answer.scenario)

    def _show_subject(self) -> None:
        workspace = self.session.state.workspace
        self.head.show_subject(self.files.title, self.answering.answer, workspace)

    def _show_side(self) -> None:
        """Show the name of the current scenario above the inspector."""
        self.beside[1].say(self._side_names()[self.session.state.current])

    def _side_names(self) -> list[str]:
        named = zip(LETTERS, self.session.state.sides, strict=False)
        return [f"{letter}, {side.name}" for letter, side in named]

    def show_keys(self) -> None:
        """Open the dialog of keyboard shortcuts."""
        # imported when first needed, as in the methods below, to start faster
        from app.explorer.window.dialogs.keys import KeysDialog
        from app.explorer.window.dialogs.palette import view_keys

        KeysDialog(self.shortcuts, view_keys(), self).show()

    def toggle_theme(self) -> None:
        """Switch between the dark and the light theme."""
        self.session.set_theme("light" if self.theme.name == "dark" else "dark")

    def export(self, form: Form) -> None:
        """Export the current prediction, if there is one."""
        answer, opening = self.answering.answer, self.opening
        if answer is not None:
            ask_and_export(form, answer, self, self.worker, opening.write_export, opening.fail)

    def keyPressEvent(self, event: Any) -> None:
        if event.key() == Qt.Key.Key_Escape and is_busy(self):
            cancel(self)
        else:
            super().keyPressEvent(event)

    def focusNextPrevChild(self, next: bool) -> bool:
        step = super().focusNextPrevChild
        return step_to_visible(lambda: step(next))

    def resizeEvent(self, event: QResizeEvent) -> None:
        self.strip.set_low(event.size().height() < LOW_WINDOW)
        self.layout_.follow_width()
        super().resizeEvent(event)

    def leave(self) -> None:
        """Close, after asking whether to save unsaved scenarios."""
        from app.explorer.window.dialogs.leaving import Leaving  # late, for a fast start

        if self.files.edited:
            Leaving(self).open()
        else:
            self.close()

    def closeEvent(self, event: QCloseEvent) -> None:
        if event.spontaneous() and self.files.edited:  # closed by the user with the close button
            event.ignore()
            self.leave()
            return
        self.networks.cancel()
        self.worker.cancel_all()
        self.pages.close()
        self.files.close()
        super().closeEvent(event)

    def restyle(self) -> None:
        """Apply the theme of the session."""
        theme = self.theme = themed(self.session.state.theme)
        self.styling.apply(theme)
        parts = self.verdict, self.inspector, self.shelf, self.strip, self.panels, self.dropping
        for widget in (*parts, self.pages, *self.beside):
            widget.restyle(theme)
