"""`ridgepoint explore`: the window in which a scenario is turned and looked at."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Annotated

import typer

from app.options import Opening, Theme, expanded
from simulator.errors import InputError


@expanded
def explore(
    asked: Opening, theme: Annotated[Theme | None, typer.Option(help="dark or light")] = None
) -> None:
    """A window: change batch, precision or GPU, and see at once what comes of it."""
    wanted = asked.scenario
    need_window()
    from app.start import run

    raise typer.Exit(run(wanted, theme.value if theme else None))


def need_window() -> None:
    """InputError where Qt is missing, or there is no screen to open a window on."""
    instead = "or ask without a window: `ridgepoint predict` takes the same options"
    try:
        for name in ("PySide6.QtWidgets", "PySide6.QtSvg", "pyqtgraph"):
            import_module(name)
    except ImportError as error:
        raise InputError(
            f"the explorer needs PySide6 and pyqtgraph: {error}: expected both; "
            f'pip install "ridgepoint[gui]", {instead}'
        ) from None
    screens = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    if sys.platform.startswith("linux") and not any(os.environ.get(name) for name in screens):
        raise InputError(
            "there is no display: expected DISPLAY or WAYLAND_DISPLAY to name a screen; start it "
            f"on a desktop, {instead}"
        )
