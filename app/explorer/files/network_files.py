"""Networks and saved traces from the user's files: opened in the background; networks are traced
again when saved."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from PySide6.QtCore import QObject, QProcess, Signal
from PySide6.QtWidgets import QWidget

from app.answers.answer import Answer, compute_answer
from app.answers.changes import with_network
from app.explorer.background.answering import Answering
from app.explorer.background.watching import Watching
from app.explorer.background.worker import later
from app.explorer.files.banner import Banner
from app.explorer.state.incoming import code_of, page_for
from app.explorer.state.session import Session, State
from simulator.errors import RidgepointError
from simulator.scenario.scenario import Scenario

if TYPE_CHECKING:
    from app.explorer.background.factories import ChosenFactory
    from app.explorer.files.factory_choice import FactoryChoice

_KEY = "opened file"
_SOON_MS = 150
"""Delay after which the banner shows that a file is still being opened."""


class NetworkFiles(QObject):
    """Opens network files. The current scenario is kept until the new network is predicted; errors
    go to the banner."""

    status_changed = Signal(str)
    """Text of the status bar."""
    ended = Signal(object, bool)
    """Path, bool: a file was opened, or cannot be."""

    def __init__(
        self, window: QWidget, session: Session, answering: Answering, banner: Banner
    ) -> None:
        super().__init__(window)
        self.window_, self.session, self.banner = window, session, banner
        self.answering, self.worker = answering, answering.worker
        self.choice: FactoryChoice | None = None
        self._reading: QProcess | None = None
        self._doing = ""
        self._soon = later(_SOON_MS, self._show_progress, self)
        self._watching = Watching()
        self._watching.setParent(self)
        self._watching.saved.connect(answering.reload)
        answering.reload_failed.connect(self._show_reload_error)
        session.changed.connect(self._watch)
        self._watch(None, session.state)

    @property
    def busy(self) -> bool:
        """Whether a file is being opened."""
        return self._reading is not None

    def open(self, path: Path, name: str = "") -> None:
        """Run a file, and open the network of the named factory; without a name, ask if there are
        several."""
        self.cancel()
        process = self._reading = QProcess(self)
        process.setProcessChannelMode(QProcess.ProcessChannelMode.ForwardedErrorChannel)
        process.finished.connect(lambda: self._read(process, path))
        named = [name] if name else []
        process.start(
            sys.executable, ["-m", "app.explorer.background.factories", str(path), *named]
        )
        self._start(f"Running {path.name} to {f'build {name}' if name else 'list its networks'}")

    def cancel(self) -> None:
        """Cancel opening."""
        process, self._reading = self._reading, None
        self.worker.cancel(_KEY)
        self._soon.stop()
        self.banner.clear(_KEY)
        if process is not None:
            process.kill()
            process.waitForFinished(500)
            process.deleteLater()

    def _show_progress(self) -> None:
        self.banner.say(self._doing, _KEY, wrong=False, offers={"Cancel": self._stop})

    def _start(self, doing: str) -> None:
        """Show the current work in the status bar, and after a delay in the banner."""
        self._doing = doing
        self.status_changed.emit(f"{doing} (Esc cancels)")
        if self.banner.about == _KEY and self.banner.isVisible():
            self._show_progress()
        else:
            self._soon.start()

    def _end(self) -> None:
        self._soon.stop()
        self.banner.clear(_KEY)
        self.status_changed.emit("")

    def _stop(self) -> None:
        self.cancel()
        self.status_changed.emit("Cancelled")

    def _read(self, process: QProcess, path: Path) -> None:
        """Read the output of the process once it has ended."""
        if process is not self._reading:
            return
        # imported when first needed, to start faster
        from app.explorer.background.factories import FileFactories
        from app.explorer.files.factory_choice import FactoryChoice

        self._reading = None
        data: Any = process.readAllStandardOutput()
        process.deleteLater()
        try:
            listed = msgspec.json.decode(bytes(data.data()), type=FileFactories)
        except msgspec.MsgspecError:
            listed = FileFactories(
                refused=f"{path.name} ended the process that ran it: expected a file "
                "that defines a network and does not exit; correct the file"
            )
        if listed.refused:
            self._fail(path, listed.refused)
        elif listed.chosen is not None:
            self._predict(path, listed.chosen)
        else:
            self._end()
            self.choice = FactoryChoice(
                self.window_, path, listed.factories, lambda name: self.open(path, name)
            )
            self.choice.show()

    def _predict(self, path: Path, chosen: ChosenFactory) -> None:
        """Make the network current once it is predicted."""
        scenario = with_network(self.session.state.scenario, f"{path}:{chosen.name}")
        scenario = replace(scenario, batch=chosen.batch, seq=chosen.seq)
        self._open_predicted(path, scenario, f"Tracing {chosen.name} of {path.name}")

    def open_trace(self, path: Path, scenario: Scenario) -> None:
        """Make the scenario of a saved trace current once it is predicted."""
        self.cancel()
        self._open_predicted(path, scenario, f"Reading {path.name}")

    def _open_predicted(self, path: Path, scenario: Scenario, doing: str) -> None:
        """Make a scenario current once it is predicted."""

        def done(answer: Answer) -> None:
            self._end()
            self.answering.store(answer)
            page = page_for(self.session.state.workspace, "network")
            self.session.set_scenario(scenario, f"open {path.name}", workspace=page)
            self.ended.emit(path, True)

        self._start(doing)
        self.worker.ask(
            _KEY,
            lambda _: compute_answer(scenario),
            done,
            lambda error: self._fail(path, str(error)),
        )

    def _fail(self, path: Path, reason: str) -> None:
        self._end()
        self.ended.emit(path, False)
        self.banner.say(reason, about="file")

    def _show_reload_error(self, path: Path, error: RidgepointError) -> None:
        self.banner.say(
            f"{path.name} was saved, but cannot be traced: {error}. The figures show the "
            "previous version",
            about="prediction",
        )

    def _watch(self, _: State | None, after: State) -> None:
        codes = [code_of(side.scenario) for side in after.sides]
        self._watching.watch(code for code in codes if code is not None)
