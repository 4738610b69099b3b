"""Write files atomically: a reader sees the old content or the new one, even if others write."""

from __future__ import annotations

import os
from pathlib import Path
from threading import get_ident

PART = ".part"


def part_of(path: Path) -> Path:
    """The temporary path of this thread for a file, used by no other writer of the file."""
    return path.with_name(f"{path.name}.{os.getpid()}.{get_ident()}{PART}")


def write_whole(path: Path, content: bytes) -> None:
    """Write a file under a temporary name, then rename it. Raises OSError if that fails, and then
    leaves no temporary file behind."""
    part = part_of(path)
    try:
        part.write_bytes(content)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
