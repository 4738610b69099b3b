"""Gives Python back its own `import` statement, which PySide6 replaces.

PySide6's statement checks after each import whether the module asks for Qt's names in snake case,
and for that it reads the source of every new module. Ridgepoint uses Qt's names as they are. In the
explorer's process, this took a quarter of the time of its imports, and each trace executes
thousands of import statements within functions of torch.
"""

from __future__ import annotations

import builtins

import PySide6.QtCore  # noqa: F401 (it replaces the statement)


def plain_import() -> None:
    """Restore the import statement that Python had before PySide6 was imported."""
    builtins.__import__ = getattr(builtins, "__orig_import__", builtins.__import__)
