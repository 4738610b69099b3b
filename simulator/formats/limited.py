"""Files that people write: a few kilobytes of text, read whole, and refused where they are more."""

from __future__ import annotations

import errno
import stat
from pathlib import Path

from simulator.errors import InputError

LONGEST_LINE = 2000  # tomllib takes seconds over one dotted key of 20 000 characters


def absence(path: Path) -> str:
    """Why no file can be read here: "no such file", or what stands in its place."""
    try:
        mode = path.stat().st_mode
    except OSError as error:  # links that lead in a circle, a locked folder
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG):
            return "no such file"
        return (error.strerror or str(error)).lower()
    kinds = {
        stat.S_ISDIR: "is a folder",
        stat.S_ISFIFO: "is a pipe",
        stat.S_ISCHR: "is a device",
        stat.S_ISBLK: "is a device",
        stat.S_ISSOCK: "is a socket",
    }
    return next((text for test, text in kinds.items() if test(mode)), "is no regular file")


def contents(path: Path, what: str, most_bytes: int, longest_line: int | None = None) -> bytes:
    """What a file holds. `what` says with its article what it should be: "a scenario". InputError
    where it cannot be read, or holds more."""
    try:
        with path.open("rb") as file:
            raw = file.read(most_bytes + 1)
    except OSError as error:
        name = what.partition(" ")[2]
        raise InputError(f"cannot read the {name} {path}: {error.strerror}") from error
    long = longest_line is not None and max(map(len, raw.splitlines()), default=0) > longest_line
    if len(raw) > most_bytes or long:
        lines = f" and lines of {longest_line}" if longest_line is not None else ""
        raise InputError(
            f"{path}: too large: expected {most_bytes} bytes{lines} at most; check that it is "
            f"{what}"
        )
    return raw
