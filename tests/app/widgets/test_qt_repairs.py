from __future__ import annotations

import subprocess
import sys

PAINT = """
from app.widgets.qt_repairs import keep_none
keep_none()
from PySide6.QtGui import QPainterPath
path = QPainterPath()
for _ in range(100_000):
    path.moveTo(0.0, 0.0)
print("alive")
"""


def test_none_outlives_many_calls_of_qt() -> None:
    done = subprocess.run([sys.executable, "-c", PAINT], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr


EMIT = """
from app.widgets.qt_repairs import keep_none
keep_none()
from PySide6.QtCore import QObject, Signal
class Bell(QObject):
    rung = Signal(bool)
bell = Bell()
bell.rung.connect(lambda loud: None)
for number in range(100_000):
    bell.rung.emit(False)
    bell.signalsBlocked()
print("alive")
"""


def test_truth_values_outlive_many_calls_of_qt() -> None:
    done = subprocess.run([sys.executable, "-c", EMIT], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr


SOURCES = """
import inspect
from app.widgets.qt_installed import need_qt
need_qt()
read = []
inspect.getsource = lambda module: read.append(module) or ""
import colorsys  # not imported so far
print(read)
"""


def test_an_import_after_qt_does_not_read_the_source_of_the_module() -> None:
    done = subprocess.run([sys.executable, "-c", SOURCES], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr
