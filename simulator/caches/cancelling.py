"""Cancellation of long work from within.

    with checking(check):      # in the thread that works
        predict(scenario)      # calls `check` many times; `check` raises CancelledError to cancel

Without `checking`, as in the commands, a check costs a tenth of a microsecond.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar

_CHECK: ContextVar[Callable[[], None] | None] = ContextVar("check", default=None)


class CancelledError(Exception):
    """The work was cancelled. It is no RidgepointError, so that nothing takes it for a refusal."""


@contextmanager
def checking(check: Callable[[], None]) -> Generator[None]:
    """Let the work of this thread call `check`, which may raise or wait, in between."""
    token = _CHECK.set(check)
    try:
        yield
    finally:
        _CHECK.reset(token)


def check_cancelled() -> None:
    """Call the check of this thread, if there is one. No lock may be held."""
    check = _CHECK.get()
    if check is not None:
        check()
