"""Commands are loaded when they are called, and the help's table agrees with their docstrings."""

import inspect
import subprocess
import sys

import pytest

from app.cli import SUMMARIES, function


@pytest.mark.parametrize("name", SUMMARIES)
def test_the_summary_is_the_first_line_of_the_docstring(name: str) -> None:
    assert SUMMARIES[name] == (inspect.getdoc(function(name)) or "").partition("\n")[0]


def test_help_loads_no_command() -> None:
    code = (
        "import sys\nfrom app.cli import app\n"
        "app(['--help'], standalone_mode=False)\n"
        "names = 'torch numpy scipy rich PySide6 app.commands'.split()\n"
        "print(*(name for name in names if name in sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "\n"
