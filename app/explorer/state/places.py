"""The state folder of the explorer: settings, recent files and autosaves."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
from platformdirs import user_state_dir

from app.explorer.state.session import ThemeChoice
from app.outputs import whole
from simulator.formats.present import files

FOLDER_VARIABLE = "RIDGEPOINT_STATE"
_MOST_RECENT = 10


def folder() -> Path:
    """The state folder; the environment variable RIDGEPOINT_STATE overrides it."""
    override = os.environ.get(FOLDER_VARIABLE)
    return Path(override) if override else Path(user_state_dir("ridgepoint", appauthor=False))


class Remembered(msgspec.Struct, forbid_unknown_fields=True):
    """Settings that persist between starts."""

    recent: list[str] = []
    theme: ThemeChoice = "system"
    docks: dict[str, str] = {}
    keys: dict[str, str] = {}
    """Custom shortcuts, by the name of the action."""

    @staticmethod
    def read() -> Remembered:
        """Read the settings; the defaults if the file is missing or invalid."""
        try:
            return msgspec.json.decode(_file().read_bytes(), type=Remembered)
        except (OSError, msgspec.MsgspecError):
            return Remembered()

    def used(self, path: Path) -> None:
        """Put a file first in the list of recent files."""
        name = str(path.resolve())
        self.recent = [name, *(recent for recent in self.recent if recent != name)][:_MOST_RECENT]

    def forget(self, path: Path) -> None:
        """Remove a file from the list of recent files."""
        name = str(path.resolve())
        self.recent = [recent for recent in self.recent if recent != name]

    def write(self) -> None:
        """Write the settings."""
        put(_file(), msgspec.json.format(msgspec.json.encode(self), indent=2).decode())


def _file() -> Path:
    return folder() / "explorer.json"


def put(path: Path, text: str) -> None:
    """Write a file in the state folder; do nothing if the folder is not writable."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        whole(path, lambda part: part.write_text(text, "utf-8"))
    except OSError:
        pass


def autosave() -> Path:
    """The autosave file of this process."""
    return folder() / f"autosave-{os.getpid()}.ridge"


def ended_autosaves() -> list[Path]:
    """The autosaves of processes that ended, newest first."""
    ended = [p for p in files(folder(), "autosave-*.ridge") if not _runs(p)]
    return sorted(ended, key=lambda p: p.stat().st_mtime, reverse=True)


def _runs(path: Path) -> bool:
    """Whether the process that writes an autosave still runs."""
    number = path.stem.rpartition("-")[2]
    if not number.isdecimal():
        return False
    if int(number) == os.getpid():
        return True
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
