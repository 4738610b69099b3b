"""Write files whole: a reader sees the old content or the new one, whoever else writes."""

from __future__ import annotations

import os
from pathlib import Path
from threading import get_ident

PART = ".part"


def part_of(path: Path) -> Path:
    """Where this thread writes the content of a file before it is renamed: no other writer of the
    same file uses that name."""
    return path.with_name(f"{path.name}.{os.getpid()}.{get_ident()}{PART}")


def write_whole(path: Path, content: bytes) -> None:
    """Write a file under a name of this thread's own, then rename it. Raises OSError, with no file
    left behind."""
    part = part_of(path)
    try:
        part.write_bytes(content)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
