"""Pictures, one class each. Qt is imported only when one is drawn.

May import scenes, report, answers, and fonts and patterns of widgets; no view.
"""

from __future__ import annotations

from importlib import import_module

from simulator.errors import InputError

QT = ("PySide6.QtWidgets", "PySide6.QtSvg")
PICTURES = (*QT, "pyqtgraph")
"""What windows need, and what pictures do."""


def need_qt(
    what: str = "pictures need", instead: str = "", modules: tuple[str, ...] = PICTURES
) -> None:
    """InputError where one of these is not installed, or does not run here: `what` needs it, and
    `instead` is what can be done without."""
    try:
        for name in modules:
            import_module(name)
    except ImportError as error:
        raise InputError(
            f"{what} PySide6 and pyqtgraph: {error}: expected both; "
            f'pip install "ridgepoint[gui]"{instead}'
        ) from None
