"""The explorer's window: head, verdict, shelf, workspaces, scenarios and inspector."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QCloseEvent, QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QApplication, QMainWindow, QVBoxLayout, QWidget

from app.answers.answer import Answer
from app.answers.as_command import as_command
from app.answers.cards import SECTIONS
from app.explorer.background.advising import Advising
from app.explorer.background.answering import Answering
from app.explorer.background.worker import Worker, later
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
from app.explorer.window.catching_up import CatchingUp
from app.explorer.window.dropping import Dropping
from app.explorer.window.explaining import Explaining
from app.explorer.window.gpu_editing import GpuEditing
from app.explorer.window.head import Head, WorkspaceButtons
from app.explorer.window.keys import KeysDialog
from app.explorer.window.leaving import Leaving
from app.explorer.window.menus import Menus
from app.explorer.window.own_keys import OwnKeys, tell_key
from app.explorer.window.palette import Command, CommandPalette, keys_said, of_actions
from app.explorer.window.side_strip import SideStrip
from app.explorer.window.status import Status
from app.explorer.window.verdict import VerdictBar
from app.views.catalogue import Offered
from app.widgets.style import INSPECTOR_WIDTH, LOW_WINDOW, SHELF_WIDTH, face, palette, sheet, themed

_WITHOUT_VERDICT = ("Compare", "Lessons")
"""Workspaces whose views say themselves what is predicted, or ask for it."""
_WITH_SIDES = ("Explore", "Compare")
"""Workspaces under which the scenarios stand."""


class Window(QMainWindow):
    """What is shown follows the session's state; every change goes through the session."""

    def __init__(
        self, session: Session, worker: Worker, remembered: Remembered | None = None
    ) -> None:
        super().__init__()
        self.session, self.worker = session, worker
        theme = self.theme = themed(session.state.theme)
        self.answering = Answering(session, worker)
        self.advising = Advising(worker)
        self.setWindowTitle("Ridgepoint")
        self.setFont(face())
        self.verdict, self.banner = VerdictBar(theme), Banner()
        self.inspector = Inspector(session, theme)
        self.shelf = Shelf(theme, self._side_names)
        self.strip = SideStrip(session, self.answering, theme)
        self.strip.set_low(True)  # until it is known to be high, it may be as low as it can be
        self.panels = ViewPanels(session, self.answering, worker, theme)
        self.workspaces = Workspaces()
        placed = [(offered.workspace, panel) for offered, panel in self.panels.panels.items()]
        self.workspaces.fill(placed)
        self.beside = [Panel("Shelf", self.shelf, theme), Panel("Scenario", self.inspector, theme)]
        for part in (self.answering, self.advising, self.panels):
            part.setParent(self)  # their timers end with the window
        self._place()
        self.layout_ = Layout(self, self.workspaces, self.beside)
        self.files = Files(session, remembered or Remembered(), self.layout_.now, self.layout_.lay)
        self.networks = NetworkFiles(self, session, self.answering, self.banner)
        self.opening = Opening(self, session, self.files, self.banner, self.networks)
        self.dropping = Dropping(self, theme)
        self.gpu_editing, self.explaining = GpuEditing(self), Explaining(self)
        self.buttons = WorkspaceButtons(self.workspaces.docks)
        menus = Menus(self)
        self.own_keys = OwnKeys(self.actions(), self.files.remembered)
        known = self.own_keys.actions
        self.head = Head(menus, self.buttons, known["Undo"], known["Redo"])
        for control, words, name in (
            (self.head.commands, "Every command and card by name", "Commands …"),
            (self.strip.more, "Add a copy of this scenario", "Copy as a new scenario"),
        ):
            tell_key(control, words, known[name])
        self.head.commands.clicked.connect(self.show_commands)
        self.setMenuWidget(self._top())
        self.status = Status(self.answering, worker)
        self.networks.said.connect(self.status.say)
        self.setStatusBar(self.status)
        self.setContentsMargins(8, 0, 8, 0)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setFocus()  # no control has it before the user gives it to one
        self.catching_up = CatchingUp(self)
        self._painted_anew = later(0, lambda: self.setUpdatesEnabled(True), self)
        self._connect()
        self._restyle()
        self._go(session.state.workspace)
        self.shelf.show_scenario(session.state.scenario)
        self.beside[0].say("drag to apply")
        self._say_side()
        self.answering.ask()

    def _place(self) -> None:
        """The shelf, the workspace above the scenarios, and the inspector."""
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
        column.addWidget(self.banner)
        return top

    def _connect(self) -> None:
        self.session.changed.connect(self._changed)
        self.buttons.chosen.connect(self.session.show)
        self.files.named.connect(self._say_asked)
        self.shelf.applied.connect(self.dropping.apply)
        for refusing in (self.panels, self.strip, self.inspector.applied):
            refusing.refused.connect(self.banner.say)
        self.panels.written.connect(self._written)
        answering, inspector = self.answering, self.inspector
        answering.drawn.connect(self._draw)
        answering.known.connect(self.strip.show_sides)
        answering.late.connect(self.catching_up.wait)
        answering.failed.connect(self._failed)
        for shows in (self.verdict, inspector):
            answering.searched.connect(shows.show_along)
        inspector.follow(self.advising)
        inspector.edit_gpu.clicked.connect(self.gpu_editing.open)

    def _changed(self, before: State, after: State) -> None:
        for gone in ("card", "file"):
            self.banner.clear(gone)
        if before.theme != after.theme:
            self._restyle()
        if before.workspace != after.workspace:
            self._go(after.workspace)
        if (before.sides, before.current) != (after.sides, after.current):
            self.strip.show_sides()
            self._say_side()
            self.inspector.show_scenario(after.scenario)
            self.shelf.show_scenario(after.scenario)
            self.answering.ask()
        if before.picked != after.picked:
            self.panels.pick(after.picked)

    def _go(self, workspace: str) -> None:
        shown = self.layout_.go(workspace)
        self.buttons.put(shown)
        self.verdict.setVisible(shown not in _WITHOUT_VERDICT)
        self.strip.setVisible(shown in _WITH_SIDES)
        self._advise()

    def _failed(self, reason: str) -> None:
        self.verdict.waiting = "No prediction"
        self.verdict.set_stale(True)
        self.catching_up.dim()
        self.verdict.update()
        self.banner.say(reason, about="prediction")
        self.status.say("Not predicted")
        self.strip.show_sides()
        self.advising.stop()
        self.inspector.advice.fail("")

    def _draw(self) -> None:
        """Show the current answer."""
        answer = self.answering.answer
        assert answer is not None
        if self.answering.caught_up:
            self.banner.clear("prediction")
        self.verdict.show_answer(answer)
        self.panels.draw()
        self.status.count(answer)
        self.catching_up.drawn()
        self._say_asked()
        self._advise()

    def _advise(self) -> None:
        """Look for advice on what is predicted, where it is seen."""
        answer = self.answering.answer
        if answer is not None and self.answering.caught_up and not self.beside[1].isHidden():
            self.advising.about(answer.scenario)

    def _say_asked(self) -> None:
        answer = self.answering.answer
        said = [self.files.said, asked_words(answer) if answer else ""]
        self.head.asked.say("   ".join(words for words in said if words))

    def _say_side(self) -> None:
        """Which scenario the inspector is about."""
        self.beside[1].say(self._side_names()[self.session.state.current])

    def _side_names(self) -> list[str]:
        sides = self.session.state.sides
        return [f"{LETTERS[at]}, {side.name}" for at, side in enumerate(sides)]

    # what the user does

    def commands(self) -> list[Command]:
        """Everything that can be done now: actions, views to go to, cards to apply."""
        found = of_actions(self.actions())
        for offered in self.panels.panels:
            found.append(Command("Show", offered.title, "", partial(self._show, offered)))
        for widget in self.shelf.widgets:
            card = widget.card
            place = SECTIONS[card.kind].removesuffix("s")
            done = partial(self.dropping.apply, card, -1)
            found.append(Command(place, f"{card.title}, {card.detail}", "", done))
        return found

    def show_commands(self) -> None:
        """Every command by name."""
        palette = CommandPalette(self.commands(), self)
        middle = self.mapToGlobal(QPoint((self.width() - palette.width()) // 2, 48))
        palette.move(middle)
        palette.show()

    def show_keys(self) -> None:
        """Every key."""
        KeysDialog(self.own_keys, keys_said(), self).show()

    def _show(self, offered: Offered) -> None:
        self.session.show(offered.workspace)
        panel = self.panels.panels[offered]
        panel.show()
        panel.raise_()

    def toggle_theme(self) -> None:
        """From dark to light, or back."""
        self.session.paint("light" if self.theme.name == "dark" else "dark")

    def copy_command(self) -> None:
        """The current scenario as a command, on the clipboard."""
        self.opening.tried(
            lambda: QGuiApplication.clipboard().setText(as_command(self.session.state.scenario))
        )

    def export(self, form: Form) -> None:
        """The current prediction as a file; nothing where there is none yet."""
        answer = self.answering.answer
        if answer is not None:
            self.opening.tried(lambda: ask_and_export(form, answer, self, self._written))

    def _written(self, path: Path) -> None:
        """Say where a file is, until the scenario changes."""
        self.banner.say(f"Wrote {path.resolve()}", about="file", wrong=False)

    def keyPressEvent(self, event: Any) -> None:
        if event.key() == Qt.Key.Key_Escape and (self.worker.busy() or self.networks.busy):
            self.networks.cancel()
            self.worker.cancel_all()
            self.answering.give_up()
            self.advising.stop()
            self.status.say("Given up")
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self.strip.set_low(event.size().height() < LOW_WINDOW)
        super().resizeEvent(event)

    def leave(self) -> None:
        """Close, or ask first what becomes of scenarios that are not saved."""
        if self.files.edited:
            Leaving(self).open()
        else:
            self.close()

    def closeEvent(self, event: QCloseEvent) -> None:
        if event.spontaneous() and self.files.edited:  # the user's, by the frame's button
            event.ignore()
            self.leave()
            return
        self.networks.cancel()
        self.worker.cancel_all()
        self.files.close()
        super().closeEvent(event)

    def _restyle(self) -> None:
        if self.isVisible():  # what is long to style is painted in a turn of its own
            self.setUpdatesEnabled(False)
            self._painted_anew.start()
        theme = self.theme = themed(self.session.state.theme)
        application = QApplication.instance()
        if isinstance(application, QApplication):
            application.setPalette(palette(theme))
        self.setStyleSheet(sheet(theme))
        for part in (
            self.verdict,
            self.inspector,
            self.shelf,
            self.strip,
            self.panels,
            self.dropping,
            *self.beside,
        ):
            part.restyle(theme)


def asked_words(answer: Answer) -> str:
    """What an answer is about: "bert-base, inference, batch 64 × 128, bf16 on H200"."""
    p, subject = answer.prediction, answer.subject
    seq = f" × {subject.seq:,}" if subject.seq else ""
    return (
        f"{subject.name}, {p.trace.phase}, batch {subject.batch:,}{seq}, {subject.dtype} on "
        f"{p.gpu.name}"
    )
