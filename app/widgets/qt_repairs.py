"""Repairs two side effects of PySide6.

Python's `import` statement: PySide6 replaces it, and then checks after each import whether the
module asks for Qt's names in snake case. For that it reads the source of every new module.
Ridgepoint uses Qt's names as they are. In the explorer's process, this took a quarter of the time
of its imports, and each trace executes thousands of import statements within functions of torch.

`None`, `True` and `False`: on CPython 3.11 PySide6 6.12 drops one reference to `None` with each
call that returns nothing, and one reference to a boolean with each call that returns or emits it.
Some thousands of paints or clicks later the interpreter aborts ("none_dealloc", "bool_dealloc").
Since Python 3.12, these objects are immortal (PEP 683).
"""

from __future__ import annotations

import builtins
import ctypes
import sys

_PLENTY = 1 << 40


def plain_import() -> None:
    """Restore the import statement that Python had before PySide6 was imported."""
    builtins.__import__ = getattr(builtins, "__orig_import__", builtins.__import__)


def keep_none() -> None:
    """Add more references to each object than a program can drop. Call this before creating a
    window."""
    for constant in (None, True, False):
        if sys.version_info < (3, 12) and sys.getrefcount(constant) < _PLENTY // 2:
            ctypes.c_ssize_t.from_address(id(constant)).value += _PLENTY
