"""A line on standard error that says what is being done, where somebody is there to read it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager


@contextmanager
def shown() -> Generator[Callable[[str], None]]:
    """A function that shows a step; it shows nothing where standard error is no terminal."""
    if not sys.stderr.isatty():
        yield lambda step: None
        return
    from rich.console import Console

    with Console(stderr=True).status("starting") as status:
        yield lambda step: status.update(f"{step} …")
