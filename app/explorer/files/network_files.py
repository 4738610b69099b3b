"""Networks of the user's own files: opened in the background, and traced again when saved."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
from PySide6.QtCore import QObject, QProcess, Signal
from PySide6.QtWidgets import QWidget

from app.answers.answer import Answer, compute_answer
from app.answers.changes import with_network
from app.explorer.background.answering import Answering
from app.explorer.background.factories import Offered, Taken
from app.explorer.background.watching import Watching
from app.explorer.files.banner import Banner
from app.explorer.files.factory_choice import FactoryChoice
from app.explorer.state.incoming import code_of
from app.explorer.state.session import Session, State
from simulator.errors import RidgepointError

_KEY = "opened file"


class NetworkFiles(QObject):
    """The scenario that is worked on stays as it is until the network of a file is predicted; what
    goes wrong is in the banner."""

    said = Signal(str)
    """What is under way."""

    def __init__(
        self, window: QWidget, session: Session, answering: Answering, banner: Banner
    ) -> None:
        super().__init__(window)
        self.window_, self.session, self.banner = window, session, banner
        self.answering, self.worker = answering, answering.worker
        self.choice: FactoryChoice | None = None
        self._reading: QProcess | None = None
        self._watching = Watching()
        self._watching.setParent(self)
        self._watching.saved.connect(answering.read_again)
        answering.not_read_again.connect(self._say_not_read)
        session.changed.connect(self._watch)
        self._watch(None, session.state)

    @property
    def busy(self) -> bool:
        """Is a file being read, to be opened?"""
        return self._reading is not None

    def open(self, path: Path, name: str = "") -> None:
        """Run a file, and work on the network of a factory; which one is asked where it is not
        named and there are several."""
        self.cancel()
        process = self._reading = QProcess(self)
        process.setProcessChannelMode(QProcess.ProcessChannelMode.ForwardedErrorChannel)
        process.finished.connect(lambda *_: self._read(process, path))
        named = [name] if name else []
        process.start(
            sys.executable, ["-m", "app.explorer.background.factories", str(path), *named]
        )
        self.said.emit(f"Opening {path.name} (Esc gives up)")

    def cancel(self) -> None:
        """Open nothing."""
        process, self._reading = self._reading, None
        self.worker.cancel(_KEY)
        if process is not None:
            process.kill()
            process.waitForFinished(500)
            process.deleteLater()

    def _read(self, process: QProcess, path: Path) -> None:
        """The process has ended: what did it say?"""
        if process is not self._reading:
            return
        self._reading = None
        data: Any = process.readAllStandardOutput()
        process.deleteLater()
        try:
            found = msgspec.json.decode(bytes(data.data()), type=Offered)
        except msgspec.MsgspecError:
            found = Offered(
                refused=f"{path.name} ended the process that read it: expected a file "
                "that defines a network and returns; correct the file"
            )
        if found.refused:
            self._fail(found.refused)
        elif found.taken is not None:
            self._predict(path, found.taken)
        else:
            self.said.emit("")
            self.choice = FactoryChoice(
                self.window_, path, found.factories, lambda name: self.open(path, name)
            )
            self.choice.show()

    def _predict(self, path: Path, taken: Taken) -> None:
        """Work on the network once there is a prediction of it."""
        now = with_network(self.session.state.scenario, f"{path}:{taken.name}")
        asked = replace(now, batch=taken.batch, seq=taken.seq)

        def done(answer: Answer) -> None:
            self.said.emit("")
            self.answering.keep(answer)
            self.session.ask(asked, f"open {path.name}")

        self.worker.ask(
            _KEY, lambda _: compute_answer(asked), done, lambda error: self._fail(str(error))
        )

    def _fail(self, reason: str) -> None:
        self.said.emit("")
        self.banner.say(reason)

    def _say_not_read(self, path: Path, error: RidgepointError) -> None:
        self.banner.say(
            f"{path.name} was saved, but not traced again: {error}. The figures are of "
            "the file before",
            about="prediction",
        )

    def _watch(self, _: State | None, after: State) -> None:
        codes = [code_of(side.scenario) for side in after.sides]
        self._watching.watch(code for code in codes if code is not None)
