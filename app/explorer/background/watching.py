"""Watches the files whose code the scenarios run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from PySide6.QtCore import QFileSystemWatcher, QObject, Signal

from app.explorer.background.worker import later

_PAUSE_MS = 150
"""Delay before a change is read: editors write in several steps, or replace the file."""


class Watching(QObject):
    """Emits `saved` when the contents of a watched file change."""

    saved = Signal(object)
    """Path."""

    def __init__(self) -> None:
        super().__init__()
        self._stamps: dict[Path, tuple[int, int] | None] = {}
        self._watcher = QFileSystemWatcher(self)
        self._pause = later(_PAUSE_MS, self._look, self)
        for signal in (self._watcher.fileChanged, self._watcher.directoryChanged):
            signal.connect(lambda: self._pause.start())

    def watch(self, paths: Iterable[Path]) -> None:
        """Watch exactly these files."""
        new_paths = set(paths)
        unwatched = set(self._stamps) - new_paths
        self._stamps = {path: self._stamps.get(path) or _stamp(path) for path in sorted(new_paths)}
        if unwatched and (places := [*self._watcher.files(), *self._watcher.directories()]):
            self._watcher.removePaths(places)
        self._place()

    def _place(self) -> None:
        """Watch the files and their folders, because the watcher loses a file that is replaced."""
        places = [str(place) for path in self._stamps for place in (path, path.parent)]
        missing = set(places) - {*self._watcher.files(), *self._watcher.directories()}
        if missing:
            self._watcher.addPaths(sorted(missing))

    def _look(self) -> None:
        for path, before in list(self._stamps.items()):
            stamp = _stamp(path)
            if stamp is not None and stamp != before:
                self._stamps[path] = stamp
                self.saved.emit(path)
        self._place()


def _stamp(path: Path) -> tuple[int, int] | None:
    """Modification time and size of a file; None if it is missing, as during a save."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size
