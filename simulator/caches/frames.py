"""Room for Python's call frames.

CPython stores frames in chunks of 16 KiB. A call that crosses the end of a chunk maps another one,
and its return unmaps it: a loop at such a call depth does so in each iteration, and takes several
times as long. A chunk is at least as large as the frame that it is mapped for, and remains until
that frame returns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_SLOTS = 1 << 17
"""Slots of 8 bytes in the large frame. Its chunk has 2 MiB, the next power of two. The remaining
1 MiB holds 128 slots for each of 1,000 nested calls, Python's limit. Unused parts take no
memory."""


def with_room(run: Callable[[], T]) -> T:
    """Call `run` with room for about a thousand nested calls in this thread, and return its
    result."""
    return run()


with_room.__code__ = with_room.__code__.replace(co_stacksize=_SLOTS)
