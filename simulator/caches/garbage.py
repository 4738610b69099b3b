"""How often Python's garbage collector runs, and when free memory returns to the system. A
collection visits objects that live on, such as imported modules and the rows of a sweep, and takes
a tenth to a fifth of the time of a short process."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache

_NEW_OBJECTS = 200_000
"""New objects between two collections; Python's default is 700."""
_RETURN_S = 30.0


def collect_seldom() -> None:
    """Run the garbage collector rarely for the rest of the process; call this only in processes
    that Ridgepoint starts."""
    gc.set_threshold(_NEW_OBJECTS)


@contextmanager
def few_collections() -> Generator[None]:
    """Run the garbage collector rarely within this context, also in a user's process."""
    young, *older = gc.get_threshold()
    gc.set_threshold(max(young, _NEW_OBJECTS) if young else 0, *older)
    try:
        yield
    finally:
        gc.set_threshold(young, *older)


class MemoryReturn:
    """Returns free memory to the system when it is called, at most every 30 s."""

    def __init__(self) -> None:
        self._next_s = time.monotonic() + _RETURN_S

    def __call__(self) -> None:
        now_s = time.monotonic()
        if now_s >= self._next_s:
            self._next_s = now_s + _RETURN_S
            return_memory()


def return_memory() -> None:
    """Return free pages of the heap to the system, which takes a few milliseconds. The GNU C
    library keeps pages below the last block in use, so short peaks would add up over hours. Does
    nothing with other C libraries."""
    trim = of_libc("malloc_trim")
    if trim is not None:
        trim(0)


@cache
def of_libc(name: str) -> Callable[..., int] | None:
    """A function of the C library on Linux; None if it lacks the function."""
    import ctypes  # `--help` does not need it

    return getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None
