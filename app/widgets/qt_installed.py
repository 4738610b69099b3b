"""Check that Qt is installed, before the work that needs it starts."""

from __future__ import annotations

from importlib import import_module

from app.widgets.qt_repairs import plain_import
from simulator.errors import InputError

_MODULES = ("PySide6.QtWidgets", "PySide6.QtSvg")


def need_qt(what: str = "a PNG needs", instead: str = "") -> None:
    """Raises InputError if Qt is not installed, or does not run here. `what` names the work that
    needs Qt; `instead` is the alternative without Qt."""
    try:
        for name in _MODULES:
            import_module(name)
    except ImportError as error:
        raise InputError(
            f"{what} PySide6: {error}: expected an installed PySide6; "
            f'pip install "ridgepoint[gui]"{instead}'
        ) from None
    plain_import()
