"""The file of a session: opened, saved, saved by itself, recovered, and remembered as recent."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal

from app.explorer.state import places, session_file
from app.explorer.state.places import Remembered
from app.explorer.state.session import Session, State

_AUTOSAVE_MS = 10_000
"""At most so much is lost when the process is killed."""
_OLD_S = 30 * 24 * 3600.0
"""What was left behind so long ago is not offered any more, and goes."""

Docks = dict[str, str]


class Files(QObject):
    """Where a session lies on disk. `layout` says how its docks lie now, `lay` puts them so."""

    named = Signal()
    """The file, or whether it holds what is on screen, has changed."""

    def __init__(
        self,
        session: Session,
        remembered: Remembered,
        layout: Callable[[], Docks],
        lay: Callable[[Docks], None],
    ) -> None:
        super().__init__()
        self.session, self.remembered = session, remembered
        self.layout, self.lay = layout, lay
        self.path: Path | None = None
        self._kept = session.state.sides
        self._written: threading.Thread | None = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_AUTOSAVE_MS)
        self._timer.timeout.connect(self.autosave)
        session.changed.connect(self._changed)

    @property
    def edited(self) -> bool:
        """Are there other scenarios on screen than on disk?"""
        return self.session.state.sides != self._kept

    @property
    def said(self) -> str:
        """The file's name and whether it is saved; "" where there is none."""
        return f"{self.path.name}, {'edited' if self.edited else 'saved'}" if self.path else ""

    def open(self, path: Path) -> None:
        """Begin with a session's file. InputError for a file that is none."""
        state, docks = session_file.load(path)
        self._begin(state, docks, path)
        self._remember(path)

    def save(self, path: Path) -> None:
        """Write the session, with the places of its docks. InputError where it cannot be."""
        path = path if path.suffix == session_file.SUFFIX else Path(f"{path}{session_file.SUFFIX}")
        session_file.save(path, self.session.state, self.layout())
        self.path, self._kept = path, self.session.state.sides
        self._remember(path)
        self.named.emit()

    def autosave(self) -> None:
        """Write what is not saved where the next start finds it; the disk is not waited for."""
        self._timer.stop()
        self._wait()
        if not self.edited:
            places.autosave().unlink(missing_ok=True)
            return
        text = session_file.text(self.session.state, self.layout(), self.path)
        self._written = threading.Thread(target=places.put, args=(places.autosave(), text))
        self._written.start()

    def left(self) -> Path | None:
        """The newest session that a process that is no more left behind; old ones go."""
        for path in places.left_behind():
            if time.time() - path.stat().st_mtime < _OLD_S:
                return path
            path.unlink(missing_ok=True)
        return None

    def recover(self, path: Path) -> None:
        """Go on with what was left behind. InputError where it cannot be read."""
        try:
            state, docks, saved_as = session_file.load_left(path)
        finally:
            path.unlink(missing_ok=True)
        self._begin(state, docks, saved_as)
        self._kept = ()  # on no disk, as it is
        self.named.emit()
        self.autosave()

    def close(self) -> None:
        """At the end: what is not saved is left behind, to be offered at the next start."""
        self.autosave()
        self._wait()
        self.remembered.docks = self.layout()
        self.remembered.write()

    def _begin(self, state: State, docks: Docks, path: Path | None) -> None:
        self.path, self._kept = path, state.sides
        self.session.opened(state)
        self.lay(docks)
        self.named.emit()

    def _changed(self, before: State, after: State) -> None:
        if before.sides != after.sides:
            self.named.emit()
        if before.theme != after.theme:
            self.remembered.theme = after.theme
            self.remembered.write()
        if not self._timer.isActive():
            self._timer.start()

    def _remember(self, path: Path) -> None:
        self.remembered.used(path)
        self.remembered.write()

    def _wait(self) -> None:
        if self._written is not None:
            self._written.join()
            self._written = None
