"""Size-limited reading of files that people write: a few kilobytes of text."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from simulator.errors import InputError

LONGEST_LINE = 2000  # tomllib takes seconds over one dotted key of 20 000 characters


def absence(path: Path) -> str:
    """The reason why a path is not a file of the expected kind: "no such file", the kind of the
    object, or the end of a regular file's name."""
    try:
        mode = path.stat().st_mode
    except OSError as error:  # circular links, a locked folder
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG):
            return "no such file"
        return (error.strerror or str(error)).lower()
    except ValueError:  # a null byte, which no file name has
        return "no such file"
    if stat.S_ISREG(mode):
        return f"its name ends in {path.suffix}" if path.suffix else "its name has no suffix"
    kinds = {
        stat.S_ISDIR: "is a folder",
        stat.S_ISFIFO: "is a pipe",
        stat.S_ISCHR: "is a device",
        stat.S_ISBLK: "is a device",
        stat.S_ISSOCK: "is a socket",
    }
    return next((text for test, text in kinds.items() if test(mode)), "is not a regular file")


def contents(path: Path, what: str, most_bytes: int, longest_line: int | None = None) -> bytes:
    """The bytes of a file. `what` names its expected content with an article, such as "a scenario".

    Raises InputError if the file cannot be read or is too large.
    """
    name = what.partition(" ")[2]
    if path.exists() and not path.is_file():  # reading a pipe would block
        raise InputError(
            f"cannot read the {name} {path}: {absence(path)}: expected a regular file; check the "
            "path"
        )
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size or most_bytes  # 0 if the size is unknown
            raw = file.read(min(size, most_bytes) + 1)
    except (OSError, ValueError) as error:  # a ValueError for a null byte in the name
        reason = error.strerror if isinstance(error, OSError) else absence(path)
        raise InputError(
            f"cannot read the {name} {path}: {reason}: expected a readable file; check the path"
        ) from error
    long = longest_line is not None and max(map(len, raw.splitlines()), default=0) > longest_line
    if len(raw) > most_bytes or long:
        lines = f" and lines of {longest_line}" if longest_line is not None else ""
        raise InputError(
            f"{path}: too large: expected {most_bytes} bytes{lines} at most; check that it is "
            f"{what}"
        )
    return raw
