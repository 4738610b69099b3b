"""Pictures, one class each. Qt is imported only when one is drawn."""

from __future__ import annotations

from importlib import import_module

from simulator.errors import InputError


def need_qt() -> None:
    """InputError where Qt or pyqtgraph is not installed, or does not run here."""
    try:
        for name in ("PySide6.QtWidgets", "PySide6.QtSvg", "pyqtgraph"):
            import_module(name)
    except ImportError as error:
        raise InputError(
            f"pictures need PySide6 and pyqtgraph: {error}: expected both; "
            'pip install "ridgepoint[gui]"'
        ) from None
