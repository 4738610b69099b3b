"""Work done in a copy of this process, beside it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable

import msgspec

from simulator.inductor.refusal import RefusalError
from simulator.inductor.schedule import Schedule


class Forked:
    """A schedule that is being made in a copy of this process, which shares its standard input and
    ends when that is closed. For a process that has run nothing in other threads yet."""

    def __init__(self, make: Callable[[], Schedule]) -> None:
        self._reading, writing = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                threading.Thread(target=end_with_input, daemon=True).start()
                with os.fdopen(writing, "wb") as out:
                    out.write(_made(make))
            finally:
                os._exit(0)
        os.close(writing)
        self._over = False

    def result(self) -> Schedule:
        """Waits for it. RefusalError where there is none, or the copy ended without a word."""
        with os.fdopen(self._reading, "rb") as answer:
            said = answer.read()
        self.end()
        if not said:
            raise RefusalError("a copy of the process ended")
        found = msgspec.msgpack.decode(said, type=Schedule | str)
        if isinstance(found, str):
            raise RefusalError(found)
        return found

    def end(self) -> None:
        """End it, whatever it does."""
        if not self._over:
            self._over = True
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)


def end_with_input() -> None:
    """Wait until the other end of standard input is closed, then end the process."""
    while os.read(0, 1 << 12):
        pass
    os._exit(1)


def _made(make: Callable[[], Schedule]) -> bytes:
    try:
        return msgspec.msgpack.encode(make())
    except RefusalError as refusal:
        return msgspec.msgpack.encode(str(refusal))
