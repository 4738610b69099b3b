"""The files whose code the scenarios run, watched for a save."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from PySide6.QtCore import QFileSystemWatcher, QObject, Signal

from app.explorer.background.worker import later

_PAUSE_MS = 150
"""An editor may write a file in several steps, or a new one in its place."""


class Watching(QObject):
    """`saved` names a file that has other contents than before."""

    saved = Signal(object)
    """Path."""

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[Path, tuple[int, int] | None] = {}
        self._watcher = QFileSystemWatcher(self)
        self._pause = later(_PAUSE_MS, self._look, self)
        for signal in (self._watcher.fileChanged, self._watcher.directoryChanged):
            signal.connect(lambda _: self._pause.start())

    def watch(self, paths: Iterable[Path]) -> None:
        """Watch these files, and no others."""
        wanted = set(paths)
        gone = set(self._known) - wanted
        self._known = {path: self._known.get(path) or _stamp(path) for path in sorted(wanted)}
        if gone and (places := [*self._watcher.files(), *self._watcher.directories()]):
            self._watcher.removePaths(places)
        self._place()

    def _place(self) -> None:
        """Folders too: of a file that is replaced the watcher knows nothing any more."""
        places = [str(place) for path in self._known for place in (path, path.parent)]
        missing = set(places) - {*self._watcher.files(), *self._watcher.directories()}
        if missing:
            self._watcher.addPaths(sorted(missing))

    def _look(self) -> None:
        for path, before in list(self._known.items()):
            now = _stamp(path)
            if now is not None and now != before:
                self._known[path] = now
                self.saved.emit(path)
        self._place()


def _stamp(path: Path) -> tuple[int, int] | None:
    """Time and size of a file; None where there is none, as between two steps of a save."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size
