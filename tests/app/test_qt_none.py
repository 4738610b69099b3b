from __future__ import annotations

import subprocess
import sys

PAINT = """
from app.qt_none import keep_none
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
