"""Supervision of user code: progress, a time limit, and protection against silent exits."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import FrameType
from typing import Any, NoReturn

from simulator.errors import InputError

DEFAULT_LIMIT_S = 120.0
_TICK_S = 1.0
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Watch:
    """Time limit of one trace in seconds, and a callback that gets its progress every second."""

    limit_s: float = DEFAULT_LIMIT_S
    progress: Progress = lambda _: None


WATCH: ContextVar[Watch | None] = ContextVar("watch", default=None)
"""Set by a command; None if there is no limit, as in a user's program."""


class _TimeUpError(KeyboardInterrupt):
    """Raised at a time limit; like Ctrl-C, it is not caught by `except Exception`."""


@contextmanager
def watched(what: str, place_of: Callable[[FrameType | None], str]) -> Generator[None]:
    """Run `what` ("tracing nets.py:make") under the current watch. `place_of` names the line of a
    frame ("nets.py:31").

    Raises InputError with that line if the time limit is exceeded.
    """
    watch = WATCH.get()
    with _no_silent_end():
        if watch is None or threading.current_thread() is not threading.main_thread():
            yield
            return
        over = threading.Event()
        places: list[str] = [""]
        main = threading.get_ident()

        def look() -> None:
            waited_s = 0.0
            while not over.wait(_TICK_S):
                waited_s += _TICK_S
                place = place_of(sys._current_frames().get(main))
                places[0] = place or places[0]
                at = f", at {places[0]}" if places[0] else ""
                watch.progress(f"{what} ({waited_s:.0f} s{at})")
                if waited_s >= watch.limit_s:
                    _interrupt(main)

        looking = threading.Thread(target=look, name="watch", daemon=True)
        with _handler():
            looking.start()
            try:
                yield
            except _TimeUpError:
                at = f"; it was at {places[0]}" if places[0] else ""
                raise InputError(
                    f"{what} took more than {watch.limit_s:g} s{at}: expected the code to end by "
                    "then; correct the network, give smaller sizes, or allow more with --time-limit"
                ) from None
            finally:
                over.set()
                looking.join()


def _interrupt(thread: int) -> None:
    if hasattr(signal, "SIGALRM"):
        signal.pthread_kill(thread, signal.SIGALRM)  # also interrupts a sleep
    else:
        import _thread  # only where there is no SIGALRM

        _thread.interrupt_main()


@contextmanager
def _handler() -> Generator[None]:
    def expired(*_: Any) -> None:
        raise _TimeUpError

    number = signal.SIGALRM if hasattr(signal, "SIGALRM") else signal.SIGINT
    before = signal.signal(number, expired)
    try:
        yield
    finally:
        signal.signal(number, before)


@contextmanager
def _no_silent_end() -> Generator[None]:
    before, os._exit = os._exit, _refuse_exit
    try:
        yield
    finally:
        os._exit = before


def _refuse_exit(status: int) -> NoReturn:
    raise SystemExit(f"it called os._exit({status}), which ends the process")
