"""Entry point of the bundle: run the command, or a module of the app for a child process. Without
arguments, as after a double click, open the explorer.

The command is imported only if it runs: a module of a child process does not need it.
"""

from __future__ import annotations

import sys
from multiprocessing import freeze_support
from runpy import run_module

_MODULES = ("app.explorer.background.tracer", "app.explorer.background.factories")
"""The modules that the window starts as `python -m MODULE`; here `sys.executable` is the bundle."""


def main() -> None:
    """Run the command or module that the arguments name."""
    freeze_support()
    if sys.argv[1:2] == ["-m"] and sys.argv[2] in _MODULES:
        module = sys.argv[2]
        del sys.argv[1:3]
        run_module(module, run_name="__main__")
        return
    from app.cli import main as command  # a child process does not need it

    if not sys.argv[1:]:
        sys.argv.append("explore")
    command()


if __name__ == "__main__":
    main()
