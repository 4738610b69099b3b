"""Keeps `None` alive under Qt.

On CPython 3.11 PySide6 6.12 drops one reference to `None` with each call that returns nothing; some
thousands of paints later the interpreter aborts ("none_dealloc"). From Python 3.12 on `None` cannot
die (PEP 683).
"""

from __future__ import annotations

import ctypes
import sys

_PLENTY = 1 << 40


def keep_none() -> None:
    """Give `None` more references than a program can drop; to be called before a window is made."""
    if sys.version_info < (3, 12) and sys.getrefcount(None) < _PLENTY:
        ctypes.c_ssize_t.from_address(id(None)).value += _PLENTY
