"""`ridgepoint explore`: the window in which a scenario is turned and looked at."""

from __future__ import annotations

from typing import Annotated

import typer

from app.commands.options import Opening, Theme, expanded
from app.display import INSTEAD, need_display
from app.plots import need_qt


@expanded
def explore(
    asked: Opening, theme: Annotated[Theme | None, typer.Option(help="dark or light")] = None
) -> None:
    """A window: change batch, precision or GPU, and see at once what comes of it."""
    wanted = asked.scenario
    need_qt("the explorer needs", f", {INSTEAD}")
    need_display()
    from app.window.start import run

    raise typer.Exit(run(wanted, theme.value if theme else None))
