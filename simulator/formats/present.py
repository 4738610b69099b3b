"""Check whether a file or folder exists, even under a folder without access (where pathlib may
raise), and whether a file has changed."""

from __future__ import annotations

import os
from pathlib import Path


def is_file(path: Path | str) -> bool:
    """Whether a path is a regular file; False without access."""
    return os.path.isfile(path)  # noqa: PTH113


def is_folder(path: Path | str) -> bool:
    """Whether a path is a folder; False without access."""
    return os.path.isdir(path)  # noqa: PTH112


def files(folder: Path, pattern: str) -> list[Path]:
    """The files of a folder that match a pattern, by name; an empty list if the folder cannot be
    read."""
    try:
        return sorted(folder.glob(pattern))
    except OSError:
        return []


Stamp = tuple[int, int, int]


def stamp(path: Path) -> Stamp | None:
    """A key of a file's contents: its time, its size and its inode; None without access. It changes
    when the file is edited or replaced."""
    try:
        stat = path.stat()
    except (OSError, ValueError):
        return None
    return stat.st_mtime_ns, stat.st_size, stat.st_ino
