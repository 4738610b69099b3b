"""Compute a schedule in a forked copy of this process."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable

import msgspec

from simulator.inductor.refusal import RefusalError
from simulator.inductor.schedule import Schedule


class Forked:
    """A schedule that a forked copy of this process computes. The copy shares standard input, and
    ends when this is closed. The process must not have run other threads yet."""

    def __init__(self, make: Callable[[], Schedule]) -> None:
        self._reading, writing = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                threading.Thread(target=end_with_input, daemon=True).start()
                with os.fdopen(writing, "wb") as out:
                    out.write(_encoded_result(make))
            finally:
                os._exit(0)
        os.close(writing)
        self._ended = False

    def result(self) -> Schedule:
        """Wait for the schedule. Raises RefusalError if the copy makes no schedule or ends
        early."""
        with os.fdopen(self._reading, "rb") as answer:
            data = answer.read()
        self.end()
        if not data:
            raise RefusalError("a copy of the process ended")
        result = msgspec.msgpack.decode(data, type=Schedule | str)
        if isinstance(result, str):
            raise RefusalError(result)
        return result

    def end(self) -> None:
        """Kill the copy."""
        if not self._ended:
            self._ended = True
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)


def end_with_input() -> None:
    """Wait until the other end of standard input is closed, then end the process."""
    while os.read(0, 1 << 12):
        pass
    os._exit(1)


def _encoded_result(make: Callable[[], Schedule]) -> bytes:
    try:
        return msgspec.msgpack.encode(make())
    except RefusalError as refusal:
        return msgspec.msgpack.encode(str(refusal))
