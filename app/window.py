"""The explorer's window: verdict, workspaces and inspector around one session."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtGui import QCloseEvent, QGuiApplication
from PySide6.QtWidgets import QApplication, QFileDialog, QLabel, QMainWindow, QVBoxLayout, QWidget

from app import session_file
from app.answer import Along, Answer
from app.answering import Answering
from app.banner import Banner
from app.command_line import as_command
from app.head import Head, WorkspaceButtons
from app.inspector import Inspector
from app.menus import Menus
from app.panel import Panel, export
from app.quantities import seconds
from app.session import Session, State
from app.style import INSPECTOR_WIDTH, face, palette, sheet, themed
from app.verdict import VerdictBar
from app.views.catalogue import VIEWS
from app.views.view import View
from app.worker import SLOW, Worker, later
from app.workspaces import Workspaces
from simulator.errors import RidgepointError

_TICK_MS = 500
"""How often the status bar says what is under way."""
_WITHOUT_VERDICT = ("Compare", "Lessons")
"""Workspaces whose views say themselves what is predicted, or ask for it."""


class Window(QMainWindow):
    """What is shown follows the session's state; every change goes through the session."""

    def __init__(self, session: Session, worker: Worker) -> None:
        super().__init__()
        self.session, self.worker = session, worker
        self.answering = Answering(session, worker)
        self.theme = themed(session.state.theme)
        self.took_ms = 0.0
        self.setWindowTitle("Ridgepoint")
        self.setFont(face())
        self.verdict = VerdictBar(self.theme)
        self.banner = Banner()
        self.inspector = Inspector(session, self.theme)
        self.inspector_panel = Panel("Scenario", self.inspector, self.theme)
        self.inspector_panel.setFixedWidth(INSPECTOR_WIDTH)
        self.views: dict[View, Panel] = {}
        for kind in VIEWS:
            self._add_view(kind)
        self._stale: set[View] = set()
        self.workspaces = Workspaces()
        self.workspaces.fill(self.views)
        self.setCentralWidget(self.workspaces)
        self.addDockWidget(Qt.DockWidgetArea.RightDockWidgetArea, self.inspector_panel)
        self.buttons = WorkspaceButtons(self.workspaces.docks)
        self.head = Head(Menus(self), self.buttons)
        self.setMenuWidget(self._top())
        self._bottom()
        self._tick = later(_TICK_MS, self._say_under_way, self)
        self.setContentsMargins(8, 0, 8, 0)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setFocus()  # no control has it before the user gives it to one
        self.buttons.chosen.connect(session.show)
        session.changed.connect(self._changed)
        worker.moved.connect(self._say_under_way)
        self.answering.drawn.connect(self._draw)
        self.answering.late.connect(lambda: self.verdict.set_stale(True))
        self.answering.failed.connect(self._failed)
        self.answering.searched.connect(self._show_along)
        self._restyle()
        self._go(session.state.workspace)
        self.answering.ask()

    def panels(self) -> list[Panel]:
        """Every panel that can be shown or hidden."""
        return [*self.views.values(), self.inspector_panel]

    def _add_view(self, kind: type[View]) -> None:
        view = kind(self.theme)
        panel = Panel(kind.title, view, self.theme)
        view.picked.connect(self.session.pick)
        view.asked.connect(lambda asked: self.session.ask(asked, f"change in {kind.title}"))
        view.wondered.connect(lambda: self._wonder(view))
        panel.visibilityChanged.connect(lambda shown: self._shown(view, shown))
        for suffix in ("png", "svg"):
            action = panel.menu.addAction(f"Export as {suffix.upper()} …")
            action.triggered.connect(lambda _=False, s=suffix: self._export(view, s))
        self.views[view] = panel

    def _top(self) -> QWidget:
        top = QWidget()
        top.setProperty("look", "window")
        column = QVBoxLayout(top)
        column.setContentsMargins(0, 4, 0, 8)
        column.setSpacing(6)
        column.addWidget(self.head)
        column.addWidget(self.verdict)
        column.addWidget(self.banner)
        return top

    def _bottom(self) -> None:
        bar = self.statusBar()
        bar.setSizeGripEnabled(False)
        self.said, self.counted, self.sources = QLabel(), QLabel(), QLabel()
        for label in (self.said, self.counted, self.sources):
            label.setProperty("tone", "support")
            label.setContentsMargins(6, 0, 6, 0)
        bar.addWidget(self.said)
        bar.addWidget(self.counted)
        bar.addPermanentWidget(self.sources)

    # what the session says

    def _changed(self, before: State, after: State) -> None:
        if before.theme != after.theme:
            self._restyle()
        if before.workspace != after.workspace:
            self._go(after.workspace)
        if (before.sides, before.current) != (after.sides, after.current):
            self.inspector.show_scenario(after.scenario)
            self.answering.ask()
        if before.picked != after.picked:
            for view in self.views:
                view.pick(after.picked)

    def _go(self, workspace: str) -> None:
        shown = self.workspaces.go(workspace)
        self.buttons.put(shown)
        self.verdict.setVisible(shown not in _WITHOUT_VERDICT)
        self.inspector_panel.setVisible(shown == "Explore")

    def _failed(self, reason: str) -> None:
        self.verdict.waiting = "No prediction"
        self.verdict.set_stale(True)
        self.verdict.update()
        self.banner.say(reason)
        self.said.setText("Not predicted")

    def _draw(self) -> None:
        """Show the current answer."""
        answer = self.answering.answer
        assert answer is not None
        self.banner.hide()
        self.verdict.show_answer(answer)
        self._stale = set(self.views)
        for view, panel in self.views.items():
            in_front = panel.isVisible() and not view.visibleRegion().isEmpty()
            if in_front or not self.isVisible():
                self._draw_view(view)
        self.took_ms = self.answering.clock.nsecsElapsed() / 1e6
        self._count(answer)

    def _draw_view(self, view: View) -> None:
        self._stale.discard(view)
        sides, current = self.answering.sides()
        view.draw(sides, current)
        view.pick(self.session.state.picked)
        self.views[view].say(view.subtitle())
        self._wonder(view)

    def _wonder(self, view: View) -> None:
        """Ask a view's question, and give it the answer."""
        sides, current = self.answering.sides()
        question = view.question(sides, current) if sides else None
        if question is None:
            self.worker.cancel(f"view {view.title}")
            return

        def done(found: Any) -> None:
            view.answer(found)
            self.views[view].say(view.subtitle())

        self.worker.ask(f"view {view.title}", question, done,
                        lambda error: self.views[view].say(str(error)), SLOW, True)  # fmt: skip

    def _shown(self, view: View, shown: bool) -> None:
        if shown and view in self._stale and self.answering.answer is not None:
            self._draw_view(view)

    def _show_along(self, along: Along | None) -> None:
        self.verdict.show_along(along)
        self.inspector.show_along(along)

    def _count(self, answer: Answer) -> None:
        p = answer.prediction
        self.said.setText(f"Re-simulated in {seconds(answer.took_s, 2)}")
        self.said.setToolTip(f"{self.took_ms:.0f} ms from the change to the views")
        missing = sum(p.unmodelled.values())
        self.counted.setText(
            f"{len(p.trace.ops):,} ops, {p.kernel_count:,} kernels, "
            + (f"{missing:,} ops not modelled" if missing else "nothing left unmodelled")
        )
        self.sources.setText(f"Profile {p.profile}, host {p.host.id}, traced by "
                             f"torch {p.trace.torch_version.partition('+')[0]}")  # fmt: skip
        seq = f" × {answer.subject.seq:,}" if answer.subject.seq else ""
        self.head.asked.say(f"{answer.subject.name}, {p.trace.phase}, batch "
                            f"{answer.subject.batch:,}{seq}, {answer.subject.dtype} on "
                            f"{p.gpu.name}")  # fmt: skip

    def _say_under_way(self) -> None:
        sentence, answer = self.worker.tracing.sentence, self.answering.answer
        if sentence:
            self.said.setText(f"{sentence.capitalize()} (Esc gives up)")
            self._tick.start()
        elif answer is not None and not self.said.text().startswith("Re"):
            self._count(answer)

    # what the user does

    def arrange(self) -> None:
        """The panels of the workspace that is shown where they were at first."""
        self.workspaces.docks[self.workspaces.go(self.session.state.workspace)].arrange()

    def toggle_theme(self) -> None:
        """From dark to light, or back."""
        self.session.paint("light" if self.theme.name == "dark" else "dark")

    def copy_command(self) -> None:
        """The current scenario as a command, on the clipboard."""
        self._tried(lambda: QGuiApplication.clipboard().setText(
            as_command(self.session.state.scenario)))  # fmt: skip

    def open_session(self) -> None:
        """Begin with a session's file."""
        name, _ = QFileDialog.getOpenFileName(self, "Open session", "", "Sessions (*.ridge)")
        if name:
            self._tried(lambda: self.session.opened(session_file.load(Path(name))[0]))

    def save_session(self) -> None:
        """Write the session to a file."""
        name, _ = QFileDialog.getSaveFileName(self, "Save session", "", "Sessions (*.ridge)")
        if name:
            path = Path(name).with_suffix(session_file.SUFFIX)
            self._tried(lambda: session_file.save(path, self.session.state))

    def _export(self, view: View, suffix: str) -> None:
        name, _ = QFileDialog.getSaveFileName(
            self, f"Export {view.title}", f"{view.title.lower()}.{suffix}", f"*.{suffix}"
        )
        if name:
            self._tried(lambda: export(view, Path(name).with_suffix(f".{suffix}")))

    def _tried(self, done: Callable[[], Any]) -> None:
        try:
            done()
        except RidgepointError as error:
            self.banner.say(str(error))

    def keyPressEvent(self, event: Any) -> None:
        if event.key() == Qt.Key.Key_Escape and self.worker.busy():
            self.worker.cancel_all()
            self.answering.give_up()
            self.said.setText("Given up")
        else:
            super().keyPressEvent(event)

    def closeEvent(self, event: QCloseEvent) -> None:
        self.worker.cancel_all()
        super().closeEvent(event)

    def _restyle(self) -> None:
        theme = self.theme = themed(self.session.state.theme)
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.setPalette(palette(theme))
        self.setStyleSheet(sheet(theme))
        self.verdict.restyle(theme)
        self.inspector.restyle(theme)
        self.inspector_panel.restyle(theme)
        for view, panel in self.views.items():
            panel.restyle(theme)
            view.restyle(theme)
