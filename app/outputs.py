"""Files that appear whole or not at all, and "-" for standard output."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from simulator.errors import InputError

STDOUT = "-"


def check(option: str, target: str | None) -> None:
    """Can this be written? Asked before the work starts; InputError where it cannot."""
    if target is None or target == STDOUT:
        return
    path = Path(target)
    folder = path.resolve().parent
    if path.is_dir():
        raise InputError(f"{option} {target}: is a folder: expected a file; add a file name")
    if path.exists() and not path.is_file():
        raise InputError(f"{option} {target}: is no regular file: expected one, or - for stdout")
    if not folder.is_dir():
        raise InputError(f"{option} {target}: no folder {str(folder)!r}: create it first")
    if not os.access(folder, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise InputError(f"{option} {target}: may not be written: choose another place")


def write(option: str, target: str, text: str) -> None:
    """Write a file in one piece, or print to standard output for "-"."""
    if target == STDOUT:
        sys.stdout.write(text)
        return
    path = Path(target).resolve()
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_text(text, encoding="utf-8", newline="")
        part.replace(path)
    except OSError as error:
        raise InputError(f"{option} {target}: cannot be written: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)
