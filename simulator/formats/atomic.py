"""Write files whole: a reader sees the old content or the new one, whoever else writes."""

from __future__ import annotations

import os
from pathlib import Path
from threading import get_ident

PART = ".part"


def write_whole(path: Path, content: bytes) -> None:
    """Write a file under a name of this thread's own, then rename it. Raises OSError, with no file
    left behind."""
    part = path.with_name(f"{path.name}.{os.getpid()}.{get_ident()}{PART}")
    try:
        part.write_bytes(content)
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise
