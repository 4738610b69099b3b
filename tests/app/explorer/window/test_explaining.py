"""Popups and dialogs whose window no longer exists."""

import subprocess
import sys

import pytest

_DROP_THE_WINDOW = """
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication, QWidget
from app.explorer.window.explaining import Explanation
from app.formulas.formula import Formula

application = QApplication([])
window = QWidget()
Explanation(Formula("name", "rule", "sum", "means"), None, window).close()
del window
QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
"""


_DROP_THE_WINDOW_OF_THE_PALETTE = """
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication, QWidget
from app.explorer.window.dialogs.palette import Command, CommandPalette

application = QApplication([])
window = QWidget()
palette = CommandPalette([Command("Do", "Close", "", window.close)], window)
palette.run()
del window, palette
QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
"""
_DROP_THE_WINDOW_OF_A_DIALOG = """
from types import SimpleNamespace
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication, QWidget
from app.explorer.window.dialogs.leaving import Leaving

application = QApplication([])
window = QWidget()
window.files = SimpleNamespace(path=None, edited=False)
leaving = Leaving(window)
leaving.close()
assert not [name for name, value in vars(leaving).items() if value is window]
del window, leaving
QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
"""


@pytest.mark.parametrize(
    "program",
    [_DROP_THE_WINDOW_OF_THE_PALETTE, _DROP_THE_WINDOW_OF_A_DIALOG],
    ids=["palette", "leaving"],
)
def test_a_closed_dialog_may_be_deleted_after_the_last_use_of_its_window(program: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_closed_explanation_may_be_deleted_after_the_last_use_of_its_window() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _DROP_THE_WINDOW], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
