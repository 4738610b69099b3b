"""The file of a session: open, save, autosave, restore, and the list of recent files."""

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
"""Interval of autosaves, which bounds the work that a crash loses."""
_OLD_S = 30 * 24 * 3600.0
"""Age at which an unsaved session is deleted instead of offered."""

Docks = dict[str, str]


class Files(QObject):
    """The session on disk. `layout` returns the current layout of the docks, `restore_layout`
    restores one.
    """

    named = Signal()
    """The file, or whether it is up to date, has changed."""

    def __init__(
        self,
        session: Session,
        remembered: Remembered,
        layout: Callable[[], Docks],
        restore_layout: Callable[[Docks], None],
    ) -> None:
        super().__init__()
        self.session, self.remembered = session, remembered
        self.layout, self.restore_layout = layout, restore_layout
        self.path: Path | None = None
        self._saved = session.state.work
        self._written: threading.Thread | None = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_AUTOSAVE_MS)
        self._timer.timeout.connect(self.autosave)
        session.changed.connect(self._changed)

    @property
    def edited(self) -> bool:
        """Whether the scenarios or the plan differ from those on disk."""
        return self.session.state.work != self._saved

    @property
    def title(self) -> str:
        """The name of the file and whether it is saved, or an empty string."""
        return f"{self.path.name}, {'edited' if self.edited else 'saved'}" if self.path else ""

    def open(self, path: Path) -> None:
        """Open a session file. Raises InputError if it is invalid."""
        state, docks = session_file.load(path)
        self._start_from(state, docks, path)
        self.remember(path)

    def save(self, path: Path) -> None:
        """Save the session with its layout. Raises InputError if writing fails."""
        path = path if path.suffix == session_file.SUFFIX else Path(f"{path}{session_file.SUFFIX}")
        session_file.save(path, self.session.state, self.layout())
        self.path, self._saved = path, self.session.state.work
        self.remember(path)
        self.named.emit()

    def autosave(self) -> None:
        """Autosave unsaved scenarios in the background, for the next start."""
        self._timer.stop()
        self._wait()
        if not self.edited:
            places.autosave().unlink(missing_ok=True)
            return
        text = session_file.text(self.session.state, self.layout(), self.path)
        self._written = threading.Thread(target=places.put, args=(places.autosave(), text))
        self._written.start()

    def unsaved(self) -> Path | None:
        """Return the newest autosave of a process that has ended, or None, and delete old
        autosaves."""
        for path in places.ended_autosaves():
            if time.time() - path.stat().st_mtime < _OLD_S:
                return path
            path.unlink(missing_ok=True)
        return None

    def restore(self, path: Path) -> None:
        """Restore an autosave. Raises InputError if it is invalid."""
        try:
            state, docks, saved_as = session_file.load_autosave(path)
        finally:
            path.unlink(missing_ok=True)
        self._start_from(state, docks, saved_as)
        self._saved = ()  # unsaved
        self.named.emit()
        self.autosave()

    def close(self) -> None:
        """Autosave unsaved scenarios for the next start, and write the settings."""
        self.autosave()
        self._wait()
        self.remembered.docks = self.layout()
        self.remembered.write()

    def _start_from(self, state: State, docks: Docks, path: Path | None) -> None:
        self.path, self._saved = path, state.work
        self.session.reset(state)
        self.restore_layout(docks)
        self.named.emit()

    def _changed(self, before: State, after: State) -> None:
        if before.work != after.work:
            self.named.emit()
        if before.theme != after.theme:
            self.remembered.theme = after.theme
            self.remembered.write()
        if not self._timer.isActive():
            self._timer.start()

    def remember(self, path: Path) -> None:
        """Put a file on top of the recent ones."""
        self.remembered.used(path)
        self.remembered.write()

    def forget(self, path: Path) -> None:
        """Remove a file that cannot be opened from the recent ones."""
        self.remembered.forget(path)
        self.remembered.write()

    def _wait(self) -> None:
        if self._written is not None:
            self._written.join()
            self._written = None
