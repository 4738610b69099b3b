"""`ridgepoint explore`: the window in which a scenario is turned and looked at."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated

import typer

from app.commands.options import Opening, Theme, expanded
from app.plots import QT, need_qt
from app.widgets.display import INSTEAD, need_display

_BEFORE_QT = (
    "app.examples",
    "app.answers.answer",
    "app.formulas.step",
    "simulator.analysis.advice",
)
"""What needs no Qt comes first: Qt reads the source of each module that is imported after it, which
took a sixteenth of the start."""


@expanded
def explore(
    asked: Opening, theme: Annotated[Theme | None, typer.Option(help="dark or light")] = None
) -> None:
    """A window: change batch, precision or GPU, and see at once what comes of it."""
    wanted = asked.scenario
    for name in _BEFORE_QT:
        import_module(name)
    need_qt("the explorer needs", f", {INSTEAD}", QT)
    need_display()
    from app.explorer.window.start import run

    raise typer.Exit(run(wanted, theme.value if theme else None))
