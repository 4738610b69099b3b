"""Keeps `None`, `True` and `False` alive under Qt.

On CPython 3.11 PySide6 6.12 drops one reference to `None` with each call that returns nothing, and
one reference to a boolean with each call that returns or emits it. Some thousands of paints or
clicks later the interpreter aborts ("none_dealloc", "bool_dealloc"). Since Python 3.12, these
objects are immortal (PEP 683)."""

from __future__ import annotations

import ctypes
import sys

_PLENTY = 1 << 40


def keep_none() -> None:
    """Add more references to each object than a program can drop. Call this before creating a
    window."""
    for constant in (None, True, False):
        if sys.version_info < (3, 12) and sys.getrefcount(constant) < _PLENTY // 2:
            ctypes.c_ssize_t.from_address(id(constant)).value += _PLENTY
