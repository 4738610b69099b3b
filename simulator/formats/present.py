"""What is at a path, also where a folder above may not be entered: pathlib raises there."""

from __future__ import annotations

import os
from pathlib import Path


def is_file(path: Path | str) -> bool:
    """Whether a regular file is there, as far as this process may see."""
    return os.path.isfile(path)  # noqa: PTH113


def is_folder(path: Path | str) -> bool:
    """Whether a folder is there, as far as this process may see."""
    return os.path.isdir(path)  # noqa: PTH112


def files(folder: Path, pattern: str) -> list[Path]:
    """The files of a folder that match a pattern, by name; none where it may not be read."""
    try:
        return sorted(folder.glob(pattern))
    except OSError:
        return []
