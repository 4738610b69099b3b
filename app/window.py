"""The explorer's window: verdict, views and inspector around one session."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import QElapsedTimer, Qt
from PySide6.QtGui import QAction, QCloseEvent, QGuiApplication, QKeySequence
from PySide6.QtWidgets import (
    QApplication,
    QDockWidget,
    QFileDialog,
    QHBoxLayout,
    QLabel,
    QMainWindow,
    QMenuBar,
    QTabWidget,
    QVBoxLayout,
    QWidget,
)

from app import session_file
from app.answer import Along, Answer, along_batch, answered
from app.banner import Banner
from app.command_line import as_command
from app.inspector import Inspector
from app.panel import Panel, export
from app.quantities import seconds
from app.session import LETTERS, Session, State
from app.style import INSPECTOR_WIDTH, face, palette, sheet, themed
from app.verdict import VerdictBar
from app.views.catalogue import VIEWS
from app.views.view import Side, View
from app.worker import SLOW, Worker, later
from simulator.errors import RidgepointError

_PATIENCE_MS, _PAUSE_MS, _TICK_MS = 1000, 120, 500
"""After how long without an answer the last one is shown faint; how long a scenario must stand
before the batch is searched; how often the status bar says what is under way."""


class Window(QMainWindow):
    """What is shown follows the session's state; every change goes through the session."""

    def __init__(self, session: Session, worker: Worker) -> None:
        super().__init__()
        self.session, self.worker = session, worker
        self.theme = themed(session.state.theme)
        self.answers: dict[str, Answer] = {}
        self.took_ms = 0.0
        self._clock = QElapsedTimer()
        self.setWindowTitle("Ridgepoint")
        self.setFont(face())
        self.setDockNestingEnabled(True)
        self.setTabPosition(Qt.DockWidgetArea.AllDockWidgetAreas, QTabWidget.TabPosition.North)
        self.verdict = VerdictBar(self.theme)
        self.banner = Banner()
        self.inspector = Inspector(session, self.theme)
        self.inspector_panel = Panel("Scenario", self.inspector, self.theme)
        self.inspector_panel.setFixedWidth(INSPECTOR_WIDTH)
        self.views: dict[View, Panel] = {}
        for kind in VIEWS:
            self._add_view(kind)
        self._stale: set[View] = set()
        self._place()
        self.setMenuWidget(self._head())
        self._bottom()
        self._late = later(_PATIENCE_MS, lambda: self.verdict.set_stale(True), self)
        self._pause = later(_PAUSE_MS, self._look_along, self)
        self._tick = later(_TICK_MS, self._say_under_way, self)
        self.setContentsMargins(8, 0, 8, 0)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setFocus()  # no control has it before the user gives it to one
        session.changed.connect(self._changed)
        worker.moved.connect(self._say_under_way)
        self._restyle()
        self._ask()

    @property
    def answer(self) -> Answer | None:
        """The answer to the current scenario, where there is one."""
        return self.answers.get(self.session.state.scenario.key)

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

    def _place(self) -> None:
        """The first view above the second; others are tabs of these two in turn."""
        panels = list(self.views.values())
        left, right = Qt.DockWidgetArea.LeftDockWidgetArea, Qt.DockWidgetArea.RightDockWidgetArea
        for index, panel in enumerate(panels):
            self.addDockWidget(left, panel)
            if index == 1:
                self.splitDockWidget(panels[0], panel, Qt.Orientation.Vertical)
            elif index > 1:
                self.tabifyDockWidget(panels[index % 2], panel)
        for panel in panels[:2]:
            panel.raise_()
        self.addDockWidget(right, self.inspector_panel)
        self.resizeDocks(list[QDockWidget](panels[:2]), [62, 38], Qt.Orientation.Vertical)

    def _head(self) -> QWidget:
        head = QWidget()
        head.setProperty("look", "window")
        column = QVBoxLayout(head)
        column.setContentsMargins(0, 4, 0, 8)
        column.setSpacing(6)
        row = QHBoxLayout()
        row.setSpacing(8)
        name = QLabel("Ridgepoint")
        name.setProperty("tone", "figure")
        self.asked = QLabel()
        self.asked.setProperty("tone", "quiet")
        row.addWidget(name)
        row.addWidget(self._menus())
        row.addStretch(1)
        row.addWidget(self.asked)
        column.addLayout(row)
        column.addWidget(self.verdict)
        column.addWidget(self.banner)
        return head

    def _menus(self) -> QMenuBar:
        bar = QMenuBar()
        bar.setNativeMenuBar(False)
        file, edit = bar.addMenu("File"), bar.addMenu("Edit")
        shown, scenario = bar.addMenu("View"), bar.addMenu("Scenario")
        standard = QKeySequence.StandardKey
        self._action(file, "Open session …", self.open_session, standard.Open)
        self._action(file, "Save session …", self.save_session, standard.Save)
        file.addSeparator()
        self._action(file, "Quit", self.close, standard.Quit)
        undo = self.session.history.createUndoAction(self, "Undo")
        redo = self.session.history.createRedoAction(self, "Redo")
        for action, key in ((undo, standard.Undo), (redo, standard.Redo)):
            action.setShortcut(key)
            edit.addAction(action)
            self.addAction(action)
        for panel in (*self.views.values(), self.inspector_panel):
            shown.addAction(panel.toggleViewAction())
        shown.addSeparator()
        self._action(shown, "Light or dark", self.toggle_theme, "Ctrl+Shift+L")
        self._action(scenario, "Copy as command", self.copy_command, "Ctrl+Shift+C")
        return bar

    def _action(self, menu: Any, words: str, done: Callable[[], Any],
                keys: QKeySequence.StandardKey | str) -> None:  # fmt: skip
        action = QAction(words, self)
        action.setShortcut(QKeySequence(keys))
        action.triggered.connect(lambda: done())
        menu.addAction(action)
        self.addAction(action)

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
        if (before.sides, before.current) != (after.sides, after.current):
            self._clock.start()
            self.inspector.show_scenario(after.scenario)
            self._ask()
        if before.picked != after.picked:
            for view in self.views:
                view.pick(after.picked)

    def _ask(self) -> None:
        """Have every side answered that is not."""
        if not self._clock.isValid():
            self._clock.start()
        state = self.session.state
        sides = {f"side {place}" for place in range(len(state.sides))}
        for key in [
            key for key in self.worker.jobs if key.startswith("side ") and key not in sides
        ]:
            self.worker.cancel(key)
        for place, side in enumerate(state.sides):
            key = f"side {place}"
            if side.scenario.key in self.answers:
                self.worker.cancel(key)
                continue
            failed = self._failed if place == state.current else _ignored
            self.worker.ask(key, lambda _, s=side.scenario: answered(s), self._answered, failed)
        if self.answer is not None:
            self._draw()
        else:
            self._late.start()

    def _answered(self, answer: Answer) -> None:
        while len(self.answers) > 64:  # the oldest goes
            del self.answers[next(iter(self.answers))]
        self.answers[answer.scenario.key] = answer
        if self.answer is not None:
            self._draw()

    def _failed(self, error: RidgepointError) -> None:
        self._late.stop()
        self.worker.cancel("along")
        self._pause.stop()
        self.verdict.waiting = "No prediction"
        self.verdict.set_stale(True)
        self.verdict.update()
        self.banner.say(str(error))
        self.said.setText("Not predicted")

    def sides(self) -> tuple[tuple[Side, ...], int]:
        """The sides that are answered, and the place of the current one among them."""
        state, found, current = self.session.state, list[Side](), 0
        for place, side in enumerate(state.sides):
            answer = self.answers.get(side.scenario.key)
            if place == state.current:
                current = len(found)
            if answer is not None:
                found.append(Side(LETTERS[place], side.name, side.scenario, answer.prediction))
        return tuple(found), current

    def _draw(self) -> None:
        """Show the current answer."""
        answer = self.answer
        assert answer is not None
        self._late.stop()
        self.banner.hide()
        self.verdict.show_answer(answer)
        self._stale = set(self.views)
        for view, panel in self.views.items():
            in_front = panel.isVisible() and not view.visibleRegion().isEmpty()
            if in_front or not self.isVisible():
                self._draw_view(view)
        self.took_ms = self._clock.nsecsElapsed() / 1e6
        self._count(answer)
        self._pause.start()

    def _draw_view(self, view: View) -> None:
        self._stale.discard(view)
        sides, current = self.sides()
        view.draw(sides, current)
        view.pick(self.session.state.picked)
        self.views[view].say(view.subtitle())
        self._wonder(view)

    def _wonder(self, view: View) -> None:
        """Ask a view's question, and give it the answer."""
        sides, current = self.sides()
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
        if shown and view in self._stale and self.answer is not None:
            self._draw_view(view)

    def _look_along(self) -> None:
        answer = self.answer
        if answer is None:
            return
        asked, batch = answer.scenario, answer.subject.batch
        self.worker.ask("along", lambda _: along_batch(asked, batch), self._show_along,
                        lambda error: self._show_along(None), SLOW, True)  # fmt: skip

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
        self.asked.setText(f"{answer.subject.name}, {p.trace.phase}, batch {answer.subject.batch:,}"
                           f"{seq}, {answer.subject.dtype} on {p.gpu.name}")  # fmt: skip

    def _say_under_way(self) -> None:
        sentence = self.worker.tracing.sentence
        if sentence:
            self.said.setText(f"{sentence.capitalize()} (Esc gives up)")
            self._tick.start()
        elif self.answer is not None and not self.said.text().startswith("Re"):
            self._count(self.answer)

    # what the user does

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

    def keyPressEvent(self, event: Any) -> None:  # noqa: N802
        if event.key() == Qt.Key.Key_Escape and self.worker.busy():
            self.worker.cancel_all()
            self._late.stop()
            self.said.setText("Given up")
        else:
            super().keyPressEvent(event)

    def closeEvent(self, event: QCloseEvent) -> None:  # noqa: N802
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


def _ignored(error: RidgepointError) -> None:
    """A side that is not worked on says why it has no answer once it is."""
