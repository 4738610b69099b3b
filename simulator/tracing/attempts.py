"""Trace a step again if it failed because of an assumption of the tracer.

A condition that depends on data is assumed to be true. A check such as `if (x < 0).any(): raise`
then fails. The step then runs again with this condition false, and the trace lists the assumption.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Set
from contextlib import contextmanager
from typing import TypeVar

from simulator.errors import InputError
from simulator.tracing.data_sizes import DataSizes
from simulator.tracing.flex_attention import MODULE

T = TypeVar("T")
_MOST = 8  # conditions that are tried as false


class UntrueError(InputError):
    """A network failed after the condition at `place` was assumed to be true."""

    def __init__(self, text: str, place: str) -> None:
        super().__init__(text)
        self.place = place


@contextmanager
def may_be_untrue(data_sizes: DataSizes) -> Generator[None]:
    """Replace an InputError by an UntrueError if a condition was assumed to be true before it."""
    try:
        yield
    except InputError as error:
        place = data_sizes.latest_truth
        if place is None or isinstance(error.__cause__, NotImplementedError):
            raise
        raise UntrueError(str(error), place) from error.__cause__


def run_that_succeeds(run: Callable[[Set[str]], T]) -> T:
    """The result of the first call of `run(false_at)`, which traces a step, that does not fail.

    Raises the error of the first run if no choice of up to 8 conditions helps.
    """
    if MODULE not in sys.modules:
        try:
            return _with_conditions(run)
        except InputError:
            if MODULE not in sys.modules:  # else the step has just imported it
                raise
    return _with_conditions(run)


def _with_conditions(run: Callable[[Set[str]], T]) -> T:
    false_at: set[str] = set()
    first: UntrueError | None = None
    while True:
        try:
            return run(frozenset(false_at))
        except UntrueError as error:
            first = first or error
            if error.place in false_at or len(false_at) == _MOST:
                raise first from first.__cause__
            false_at.add(error.place)
        except InputError as error:
            raise (first or error) from error.__cause__
