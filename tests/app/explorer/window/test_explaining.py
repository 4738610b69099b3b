"""Explanations of figures after their window is gone."""

import subprocess
import sys

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


def test_a_closed_explanation_may_be_deleted_after_the_last_use_of_its_window() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _DROP_THE_WINDOW], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
