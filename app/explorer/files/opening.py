"""Opening, saving and restoring files; user code runs only after the user agrees."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QFileDialog, QMenu, QWidget

from app.answers.cluster.choice import first
from app.explorer.files.banner import Banner
from app.explorer.files.link_dialog import LinkDialog
from app.explorer.files.measured_files import MeasuredFiles
from app.explorer.files.network_files import NetworkFiles
from app.explorer.state import session_file
from app.explorer.state.files import Files
from app.explorer.state.incoming import KINDS, code_of, identify, page_for
from app.explorer.state.session import Session
from app.outputs import whole
from app.quantities import seconds
from app.widgets.save_dialog import ask_where
from simulator.errors import RidgepointError
from simulator.formats.link import is_link, parts
from simulator.formats.present import is_file
from simulator.scenario.scenario import load


class Opening(QObject):
    """Actions for the File menu and for dropped files. Errors and requests for consent go to the
    banner."""

    lessons_opened = Signal(object)
    """Path: request to show a file of lessons."""

    hardware_opened = Signal(object)
    """Path: a GPU, host or cluster file was opened, or opened again."""

    def __init__(
        self,
        window: QWidget,
        session: Session,
        files: Files,
        banner: Banner,
        networks: NetworkFiles,
    ) -> None:
        super().__init__(window)
        self.networks = networks
        self.window_, self.session, self.files, self.banner = window, session, files, banner
        self.measured = MeasuredFiles(session, networks.answering, banner, self._ended)
        networks.ended.connect(self._ended)
        self.hardware_opened.connect(networks.answering.reread)
        self.trusted = {code_of(side.scenario) for side in session.state.sides}

    def choose(self) -> None:
        """Show the dialog for opening files."""
        name, _ = QFileDialog.getOpenFileName(self.window_, "Open", "", f"{KINDS};;All files (*)")
        if name:
            self.open([Path(name)])

    def open(self, paths: list[Path]) -> None:
        """Open files one after another, up to the first that fails. Open recent lists only files
        that could be opened."""
        for path in paths:
            if not self.attempt(lambda path=path: self._open(path)):
                if is_file(path):  # a missing one stays in the menu, disabled
                    self.files.forget(path)
                return

    def choose_link(self) -> None:
        """Ask for a link; offer a link from the clipboard."""
        copied = QGuiApplication.clipboard().text().strip()
        LinkDialog(self.window_, copied if is_link(copied) else "", self._open_link).show()

    def open_text(self, text: str) -> None:
        """Open a link, or the file at a path."""
        if is_link(text):
            self.attempt(lambda: self._open_link(text))
        else:
            self.open([Path(text)])

    def save(self) -> None:
        """Save the session to its file, or ask for one."""
        if self.files.path is None:
            self.save_as()
        else:
            path = self.files.path
            self.attempt(lambda: self.files.save(path))

    def save_as(self) -> None:
        """Ask for a file and save the session to it."""
        suffix, kind = session_file.SUFFIX, "Ridgepoint sessions"
        name = str(self.files.path or f"session{suffix}")
        path = ask_where(self.window_, "Save session", name, suffix, kind)
        if path is not None:
            self.attempt(lambda: self.files.save(path))

    def fill_recent(self, menu: QMenu) -> None:
        """Fill the menu of recent files; missing files are disabled."""
        menu.clear()
        for name in self.files.remembered.recent:
            path = Path(name)
            exists = is_file(path)
            action = menu.addAction(path.name if exists else f"{path.name} (missing)")
            action.setToolTip(name)
            action.setEnabled(exists)
            action.triggered.connect(lambda _=False, path=path: self.open([path]))
        if menu.isEmpty():
            menu.addAction("No recent files").setEnabled(False)

    def offer_recovery(self) -> None:
        """Offer to restore scenarios that a crashed process did not save."""
        autosave = self.files.unsaved()
        if autosave is None:
            return
        self.banner.say(
            f"Ridgepoint closed {ago(autosave)} with unsaved scenarios. Restore them?",
            wrong=False,
            offers={
                "Restore": lambda: self.attempt(lambda: self.files.restore(autosave)),
                "Discard": lambda: self.attempt(lambda: autosave.unlink(missing_ok=True)),
            },
            dismiss="Not now",
        )

    def attempt(self, run: Callable[[], object]) -> bool:
        """Call `run`. Returns False, and shows the error in the banner, if it fails."""
        try:
            run()
        except RidgepointError as error:
            self.fail(error)
            return False
        except OSError as error:
            words = f"{error.strerror}: {error.filename}; choose another path"
            self.banner.say(words, about="file")
            return False
        return True

    def write_export(self, path: Path, write: Callable[[], object]) -> None:
        """Call `write`, which writes an export, and show the path of the file, or the reason for a
        failure.
        """
        if self.attempt(write):
            self.say_written(path)

    def fail(self, error: RidgepointError) -> None:
        """Show an error in the banner."""
        self.banner.say(str(error), about="file")

    def _open(self, path: Path) -> None:
        file = identify(path)
        if file.kind == "session":
            state, _ = session_file.load(path)
            codes = [code for s in state.sides if (code := code_of(s.scenario)) is not None]
            self._with_trust(codes, lambda: self._open_session(path))
            return
        if file.kind == "profile":
            self.measured.open(path.resolve())
            return
        if file.kind == "plan":
            self._open_plan(path)
            return
        if file.kind == "cluster":
            self._open_cluster(path.resolve())
            return
        if file.kind == "lesson":
            self._open_lessons(path.resolve())
            return
        if file.kind == "network":
            module = path.resolve()
            self._with_trust([module], lambda: self.networks.open(module))
            return
        scenario = file.scenario(self.session.state.scenario)
        if file.kind == "trace":
            self.networks.open_trace(path, scenario)
            return
        code = code_of(scenario)

        def open_scenario() -> None:
            page = page_for(self.session.state.workspace, file.kind)
            self.session.set_scenario(scenario, f"open {path.name}", workspace=page)
            if file.kind in ("gpu", "host"):
                self.hardware_opened.emit(path.resolve())
            self._ended(path, True)

        self._with_trust([code] if code else [], open_scenario)

    def _open_session(self, path: Path) -> None:
        """Open a session, after asking what to do with unsaved changes, which would be lost."""
        if not self.files.edited:
            self.files.open(path)
            return

        def save_and_open() -> None:
            self.save()
            if not self.files.edited:  # a file was chosen and written
                self._reopen(path)

        now, offers = self.files.path, {"Open without saving": lambda: self._reopen(path)}
        name = now.name if now else "this session"
        if now is not None and now.resolve() == path.resolve():  # saving would overwrite the file
            words = f"Opening {name} again discards its changes that are not saved"
        else:
            words = f"{path.name} replaces all scenarios, but the changes to {name} are not saved"
            offers = {"Save and open": save_and_open, **offers}
        self.banner.say(words, "file", False, offers, dismiss="Cancel")

    def _reopen(self, path: Path) -> None:
        self.attempt(lambda: self.files.open(path))

    def _open_plan(self, path: Path) -> None:
        """Make a file's plan the plan of the session, and show it."""
        from app.answers.plan.draft import opened  # imported when first needed, as below

        self.session.set_plan(opened(path).text, f"open {path.name}", workspace="Plan")
        self._ended(path, True)

    def _open_cluster(self, path: Path) -> None:
        """Spread the step over the cluster of a file, and show it."""
        state = self.session.state
        choice = (state.cluster or first(state.scenario)).on(str(path))
        page = page_for(state.workspace, "cluster")
        self.session.set_cluster(choice, f"open {path.name}", workspace=page)
        self.hardware_opened.emit(path)
        self._ended(path, True)

    def _open_lessons(self, path: Path) -> None:
        """Show the lessons of a file, and show them again whenever the file is saved."""
        from app.lessons.pack import read_all  # late, for a fast start

        read_all(path)
        self.session.show("Lessons")
        self.lessons_opened.emit(path)
        self._ended(path, True)

    def _ended(self, path: Path, opened: bool) -> None:
        """Put an opened file on top of Open recent, or remove one that cannot be opened."""
        if opened:
            self.files.remember(path)
        else:
            self.files.forget(path)

    def _open_link(self, address: str) -> None:
        """Make the scenario of a link the current one, or its plan the plan of the session. No code
        runs, because a link names no file."""
        if parts(address)[0] == "plan":
            from app.answers.plan.draft import linked  # late, for a fast start

            self.session.set_plan(linked(address).text, "open link", workspace="Plan")
        else:
            page = page_for(self.session.state.workspace, "scenario")
            self.session.set_scenario(load(address), "open link", workspace=page)

    def save_plan(self, text: str) -> None:
        """Ask for a file and write the plan's TOML to it."""
        path = ask_where(self.window_, "Save plan", "plan.toml", ".toml", "Plans")
        if path is not None and self.attempt(
            lambda: whole(path, lambda part: part.write_text(text, "utf-8"))
        ):
            self.say_written(path)

    def say_written(self, path: Path) -> None:
        """Show the path of a written file until the scenario changes."""
        shown = path.resolve()
        self.banner.say(f"Wrote {shown}", "file", False, {"Open": lambda: self._show(shown)})

    def _show(self, path: Path) -> None:
        """Open a written file in the user's program for it, such as the browser."""
        if not QDesktopServices.openUrl(QUrl.fromLocalFile(str(path))):
            self.banner.say(
                f"No program opens {path}: expected one for {path.suffix} files; open the file "
                "from a browser or an editor",
                about="file",
            )

    def _with_trust(self, codes: list[Path], done: Callable[[], object]) -> None:
        """Call `done` once the user agrees to run the code of these files."""
        new = [code for code in codes if code not in self.trusted]
        if not new:
            done()
            return

        def trust() -> None:
            self.trusted.update(new)
            self.attempt(done)

        names = ", ".join(str(code) for code in new)
        self.banner.say(
            "Opening this network runs its Python code. Run it only if you trust the file.\n"
            f"{names}",
            wrong=False,
            offers={"Run": trust},
        )


def ago(path: Path) -> str:
    """The age of a file in words: "3 min ago"."""
    return f"{seconds(max(1.0, time.time() - path.stat().st_mtime), 1)} ago"
