"""How often Python looks for garbage. A search visits objects that live on, such as imported
modules and the rows of a sweep, and takes a tenth to a fifth of the time of a short process."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager

_NEW_OBJECTS = 200_000
"""New objects between two searches; Python's default is 700."""


def collect_seldom() -> None:
    """Look for garbage seldom from now on, in a process of this project's own."""
    gc.set_threshold(_NEW_OBJECTS)


@contextmanager
def few_collections() -> Generator[None]:
    """Look for garbage seldom in this context, in a process that may be a user's."""
    young, *older = gc.get_threshold()
    gc.set_threshold(max(young, _NEW_OBJECTS) if young else 0, *older)
    try:
        yield
    finally:
        gc.set_threshold(young, *older)
