"""`ridgepoint cache`: show or clear the traces on disk.

Modules of the simulator are imported when the command runs: the help does not need them.
"""

from __future__ import annotations

import os
import time
from enum import StrEnum
from typing import Annotated

import typer


class Action(StrEnum):
    """An action on the cache."""

    SHOW = "show"
    CLEAR = "clear"


def cache(
    action: Annotated[
        Action, typer.Argument(help="show, or clear to delete all traces.")
    ] = Action.SHOW,
) -> None:
    """Show or clear the traces on disk: their folder, number, size and age."""
    from simulator.formats.trace_folder import FOLDER_VARIABLE, TRACE_FOLDER
    from simulator.symbols.cache import LIMIT_BYTES, clear, contents

    folder = TRACE_FOLDER.path
    if folder is None:
        typer.echo(
            f"The trace cache is off: {FOLDER_VARIABLE} is {os.environ.get(FOLDER_VARIABLE, '')!r}."
        )
        return
    if action is Action.CLEAR:
        deleted = clear(folder)
        typer.echo(f"{folder}: {deleted.files:,} files deleted, {_size(deleted.nbytes)}.")
        return
    cached = contents(folder)
    typer.echo(f"folder   {folder}")
    typer.echo(f"traces   {cached.files:,} files")
    typer.echo(f"size     {_size(cached.nbytes)} of at most {_size(LIMIT_BYTES)}")
    if cached.oldest_s is not None:
        typer.echo(f"oldest   {time.strftime('%Y-%m-%d %H:%M', time.localtime(cached.oldest_s))}")


def _size(nbytes: int) -> str:
    return f"{nbytes / 1e6:.1f} MB"
