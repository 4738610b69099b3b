"""`ridgepoint explore` opens the explorer's window.

The window and Qt are imported when the command runs: the help does not need them.
"""

from __future__ import annotations

from typing import Annotated

import typer

from app.commands.option_types import ThemeName
from app.commands.options import Opening, expanded


@expanded
def explore(
    opening: Opening,
    theme: Annotated[ThemeName | None, typer.Option(help="Theme of the window.")] = None,
) -> None:
    """Open the explorer: change batch, precision or GPU and see the effect at once.

    NETWORK may also be a session (.ridge), the file of a scenario or a plan (.toml), or a link.
    """
    from app.widgets.display import INSTEAD, need_display
    from app.widgets.qt_installed import need_qt

    scenario_to_open = opening.scenario
    need_qt("the explorer needs", f", {INSTEAD}")
    need_display()
    from app.explorer.window.start import run

    raise typer.Exit(run(scenario_to_open, theme.value if theme else None, opening.file))
