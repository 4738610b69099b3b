"""Where the explorer keeps what it remembers: recent files, its theme, and what a crash left."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
from platformdirs import user_state_dir

from app.explorer.state.session import ThemeChoice
from app.outputs import whole

FOLDER_VARIABLE = "RIDGEPOINT_STATE"
_MOST_RECENT = 10


def folder() -> Path:
    """The folder of the user's state; RIDGEPOINT_STATE names another."""
    told = os.environ.get(FOLDER_VARIABLE)
    return Path(told) if told else Path(user_state_dir("ridgepoint", appauthor=False))


class Remembered(msgspec.Struct, forbid_unknown_fields=True):
    """What is remembered from one start to the next."""

    recent: list[str] = []
    theme: ThemeChoice = "system"
    docks: dict[str, str] = {}
    keys: dict[str, str] = {}
    """Keys of the user's own, by the name of what they do."""

    @staticmethod
    def read() -> Remembered:
        """What was remembered; nothing where the file is missing or torn."""
        try:
            return msgspec.json.decode(_file().read_bytes(), type=Remembered)
        except (OSError, msgspec.MsgspecError):
            return Remembered()

    def used(self, path: Path) -> None:
        """A file was opened or saved: it is the most recent."""
        name = str(path.resolve())
        self.recent = [name, *(each for each in self.recent if each != name)][:_MOST_RECENT]

    def write(self) -> None:
        """Remember."""
        put(_file(), msgspec.json.format(msgspec.json.encode(self), indent=2).decode())


def _file() -> Path:
    return folder() / "explorer.json"


def put(path: Path, text: str) -> None:
    """Write a file of the state's folder; a folder that cannot be written costs the memory of it
    and nothing else."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        whole(path, lambda part: part.write_text(text, "utf-8"))
    except OSError:
        pass


def autosave() -> Path:
    """Where this process saves by itself."""
    return folder() / f"autosave-{os.getpid()}.ridge"


def left_behind() -> list[Path]:
    """What processes that are no more saved by themselves, the newest first."""
    found = [p for p in folder().glob("autosave-*.ridge") if not _runs(p)]
    return sorted(found, key=lambda p: p.stat().st_mtime, reverse=True)


def _runs(path: Path) -> bool:
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
