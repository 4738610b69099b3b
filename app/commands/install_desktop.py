"""`ridgepoint install-desktop`: add a menu entry, and open sessions and links by double click.

The app's other modules are imported when the command runs: the help does not need them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

_PLACES = {
    "ridgepoint.desktop": "applications",
    "ridgepoint.xml": "mime/packages",
    "ridgepoint.svg": "icons/hicolor/scalable/apps",
}
"""The folder of each file below the user's data folder (XDG base directories)."""
_UPDATES = (
    ("update-mime-database", "mime"),
    ("update-desktop-database", "applications"),
)
"""Programs that read the files, if installed; otherwise the desktop reads them at the next login.
"""


def install_desktop(
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove Ridgepoint from the desktop.")
    ] = False,
) -> None:
    """Add Ridgepoint to a Linux desktop: .ridge files and ridgepoint:// links open it."""
    from app.outputs import put
    from simulator.errors import InputError

    if sys.platform != "linux":
        raise InputError(
            f"install-desktop on {sys.platform}: expected Linux; open files with File → Open …"
        )
    data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    for name, place in _PLACES.items():
        path = data / place / name
        if remove:
            path.unlink(missing_ok=True)
            continue
        text = files("app").joinpath("desktop", name).read_text("utf-8")
        text = text.replace("@COMMAND@", _command())
        path.parent.mkdir(parents=True, exist_ok=True)
        put("install-desktop", str(path), lambda part, text=text: part.write_text(text, "utf-8"))
    for program, place in _UPDATES:
        if shutil.which(program):
            subprocess.run([program, str(data / place)], check=False, capture_output=True)
    typer.echo(
        f"Removed Ridgepoint from {data}"
        if remove
        else f"Installed Ridgepoint in {data}: .ridge files and ridgepoint:// links open it"
    )


def _command() -> str:
    """The quoted command of a desktop entry: this executable, or this Python with the app's
    module."""
    started = Path(sys.argv[0])
    if started.name == "ridgepoint":
        return _quoted(str(started.resolve()))
    return " ".join(map(_quoted, (sys.executable, "-m", "app.cli")))


def _quoted(word: str) -> str:
    """A word of Exec: reserved characters are escaped, and % is doubled (Desktop Entry, 1.5)."""
    escaped = "".join(f"\\{c}" if c in '"`$\\' else c for c in word).replace("\\", "\\\\")
    return f'"{escaped}"'.replace("%", "%%")
