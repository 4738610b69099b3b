"""Write files atomically, and "-" to standard output."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from simulator.errors import InputError

STDOUT = "-"


def check_all(texts: Mapping[str, str | None], pictures: Mapping[str, str | None]) -> None:
    """Check all targets, each under the name of its option. Raises InputError if one is not
    writable.

    At most one text may go to standard output, pictures need a file, and no two options may name
    the same file.
    """
    on_stdout = [option for option, target in texts.items() if target == STDOUT]
    if len(on_stdout) > 1:
        both = " and ".join(f"{option} -" for option in on_stdout)
        raise InputError(
            f"{both}: expected one target on standard output; name a file for the other"
        )
    for option, target in texts.items():
        check(option, target)
    for option, target in pictures.items():
        if target == STDOUT:
            raise InputError(
                f"{option} -: expected a file name, because a picture needs a file; add one"
            )
        check(option, target)
        _check_suffix(option, target)
    taken: dict[Path, str] = {}
    for option, target in {**texts, **pictures}.items():
        if target not in (None, STDOUT):
            other = taken.setdefault(Path(target).resolve(), option)
            if other != option:
                raise InputError(
                    f"{other} and {option} both write {target}: expected a file each; rename one"
                )


def _check_suffix(option: str, target: str | None) -> None:
    suffix = Path(target).suffix.lower() if target else ""
    if suffix in (".png", ".svg") and suffix != f".{option[2:]}":
        raise InputError(
            f"{option} {target}: ends in {suffix}: expected .{option[2:]}; use --{suffix[1:]}, or "
            "rename it"
        )


def check(option: str, target: str | None) -> None:
    """Check a target before the work starts. Raises InputError if it is not writable."""
    if target is None or target == STDOUT:
        return
    path = Path(target)
    folder = path.resolve().parent
    if path.is_dir():
        raise InputError(f"{option} {target}: is a folder: expected a file; add a file name")
    if path.exists() and not path.is_file():
        raise InputError(
            f"{option} {target}: is not a regular file: expected a regular file; name another"
        )
    if not folder.is_dir():
        raise InputError(f"{option} {target}: no folder {str(folder)!r}: create it first")
    if not os.access(folder, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise InputError(f"{option} {target}: no permission to write: choose another place")


def write(option: str, target: str, text: str) -> None:
    """Write a text to a file atomically, or to standard output for "-"."""
    if target == STDOUT:
        sys.stdout.write(text)
        return
    put(option, target, lambda part: part.write_text(text, encoding="utf-8", newline=""))


def put(option: str, target: str, writer: Callable[[Path], object]) -> None:
    """Write a file atomically with `writer`. Raises InputError if it cannot be written."""
    try:
        whole(Path(target).resolve(), writer)
    except OSError as error:
        raise InputError(f"{option} {target}: cannot write: {error.strerror}") from error


def whole(path: Path, writer: Callable[[Path], object]) -> None:
    """Write a file atomically: `writer` writes a temporary file beside it, which then replaces it.

    A reader sees either the old or the new file, even after a crash. Raises OSError on failure.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part{path.suffix}")
    try:
        writer(part)
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
