"""Columns of many points in two threads: numpy computes long columns without holding Python's lock.

More threads gain little, because Python runs between the columns.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextvars import copy_context
from threading import Thread
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_two_threads(
    work: Callable[[Item], Result], items: Sequence[Item], worth: bool = True
) -> list[Result]:
    """The result of `work` for each item, in order; this thread and a second one each take the next
    item. Without a second core, or if it is not `worth` a thread (0.1 ms), this thread does all.
    Raises the error of the first item that fails, after both threads have ended."""
    if not worth or len(items) < 2 or _cores() < 2:
        return [work(item) for item in items]
    results: dict[int, Result] = {}
    errors: dict[int, BaseException] = {}
    places = iter(range(len(items)))

    def run() -> None:
        for place in places:
            if errors:
                return
            try:
                results[place] = work(items[place])
            except BaseException as error:
                errors[place] = error

    # numpy's handling of overflows is part of the context
    thread = Thread(target=copy_context().run, args=(run,), name="columns", daemon=True)
    thread.start()
    run()
    thread.join()
    if errors:
        raise errors[min(errors)]
    return [results[place] for place in range(len(items))]


def _cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
