"""What the user does with files: open, save, recover; code runs only where the user said so."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFileDialog, QMenu, QWidget

from app.explorer.files.banner import Banner
from app.explorer.files.measured_files import MeasuredFiles
from app.explorer.files.network_files import NetworkFiles
from app.explorer.state import session_file
from app.explorer.state.files import Files
from app.explorer.state.incoming import KINDS, code_of, incoming
from app.explorer.state.session import Session
from app.quantities import seconds
from simulator.errors import RidgepointError

_SESSIONS = f"Sessions (*{session_file.SUFFIX})"


class Opening(QObject):
    """File menu and drops. What goes wrong, and what needs a word of the user, is in the
    banner."""

    def __init__(
        self,
        window: QWidget,
        session: Session,
        files: Files,
        banner: Banner,
        networks: NetworkFiles,
    ) -> None:
        super().__init__(window)
        self.measured = MeasuredFiles(session, networks.answering, banner)
        self.networks = networks
        self.window_, self.session, self.files, self.banner = window, session, files, banner
        self.trusted = {code_of(side.scenario) for side in session.state.sides}

    def choose(self) -> None:
        """Ask which file to open."""
        name, _ = QFileDialog.getOpenFileName(self.window_, "Open", "", f"{KINDS};;All files (*)")
        if name:
            self.open([Path(name)])

    def open(self, paths: list[Path]) -> None:
        """Open files, one after the other; the first that is none says so."""
        for path in paths:
            if not self.tried(lambda path=path: self._open(path)):
                return

    def save(self) -> None:
        """Write the session to its file, or ask for one."""
        if self.files.path is None:
            self.save_as()
        else:
            path = self.files.path
            self.tried(lambda: self.files.save(path))

    def save_as(self) -> None:
        """Ask for a file, and write the session to it."""
        name, _ = QFileDialog.getSaveFileName(self.window_, "Save session", "", _SESSIONS)
        if name:
            self.tried(lambda: self.files.save(Path(name)))

    def fill_recent(self, menu: QMenu) -> None:
        """The recent files; one that is gone is greyed and says so."""
        menu.clear()
        for name in self.files.remembered.recent:
            path = Path(name)
            there = path.is_file()
            action = menu.addAction(path.name if there else f"{path.name}, missing")
            action.setToolTip(name)
            action.setEnabled(there)
            action.triggered.connect(lambda _=False, path=path: self.open([path]))
        if menu.isEmpty():
            menu.addAction("None yet").setEnabled(False)

    def offer_recovery(self) -> None:
        """Offer what a process that is no more left unsaved."""
        left = self.files.left()
        if left is None:
            return
        self.banner.say(
            f"Ridgepoint ended {ago(left)} before its scenarios were saved: recover them, or let "
            "them go",
            wrong=False,
            offers={
                "Recover": lambda: self.tried(lambda: self.files.recover(left)),
                "Let go": lambda: self.tried(lambda: left.unlink(missing_ok=True)),
            },
        )

    def tried(self, done: Callable[[], object]) -> bool:
        """Do something; False, and the banner says why, where it cannot be done."""
        try:
            done()
        except RidgepointError as error:
            self.banner.say(str(error))
            return False
        except OSError as error:
            self.banner.say(f"{error.strerror}: {error.filename}; choose another place")
            return False
        return True

    def _open(self, path: Path) -> None:
        found = incoming(path)
        if found.what == "session":
            state, _ = session_file.load(path)
            codes = [code for s in state.sides if (code := code_of(s.scenario)) is not None]
            self._trusting(codes, lambda: self.files.open(path))
            return
        if found.what == "profile":
            self.measured.open(path.resolve())
            return
        if found.what == "network":
            place = path.resolve()
            self._trusting([place], lambda: self.networks.open(place))
            return
        scenario = found.scenario(self.session.state.scenario)
        code = code_of(scenario)

        def ask() -> None:
            self.session.ask(scenario, f"open {path.name}")

        self._trusting([code] if code else [], ask)

    def _trusting(self, codes: list[Path], done: Callable[[], object]) -> None:
        """Do it once the user lets the code of these files run."""
        new = [code for code in codes if code not in self.trusted]
        if not new:
            done()
            return

        def trust() -> None:
            self.trusted.update(new)
            self.tried(done)

        names = ", ".join(str(code) for code in new)
        self.banner.say(
            "Opening this network runs its Python code. Run it only if you trust the file.\n"
            f"{names}",
            wrong=False,
            offers={"Run it": trust},
        )


def ago(path: Path) -> str:
    """How long ago a file was written: "3 min ago"."""
    return f"{seconds(max(1.0, time.time() - path.stat().st_mtime), 1)} ago"
