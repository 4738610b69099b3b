"""Python's own import statement after Qt is imported."""

import subprocess
import sys

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
