"""Whether a file or folder exists, also under a folder without access, where pathlib may raise."""

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
    """The files of a folder that match a pattern, by name; none if the folder cannot be read."""
    try:
        return sorted(folder.glob(pattern))
    except OSError:
        return []
