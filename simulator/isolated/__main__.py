"""The process that runs a user's code: `python -m simulator.isolated`."""

from __future__ import annotations

import faulthandler
import io
import os
import pickle
import signal
import sys
import traceback
from pathlib import Path
from typing import BinaryIO

from simulator.caches.frames import with_room
from simulator.caches.garbage import collect_seldom
from simulator.errors import InputError
from simulator.formats.trace_file import encoded as encoded_trace
from simulator.isolated.limits import confine
from simulator.isolated.messages import (
    Answered,
    Job,
    Message,
    Printed,
    Progress,
    Refused,
    Start,
    encoded,
)
from simulator.isolated.rank_ops import rank_ops
from simulator.isolated.read_files import ReadFiles
from simulator.networks.loading.loaded import Facts
from simulator.networks.loading.watching import WATCH, Watch

_READ_FILES = ReadFiles()
_PRINTED = 2**20
"""Maximum number of characters of a message."""


class _Channel:
    """The pipe to the parent."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe

    def send(self, message: Message) -> None:
        data = memoryview(encoded(message))
        while data:
            data = data[os.write(self._pipe, data) :]


class _Printing(io.TextIOBase):
    """Standard output or standard error of the user's code."""

    encoding = "utf-8"

    def __init__(self, channel: _Channel) -> None:
        self._channel = channel

    def writable(self) -> bool:
        return True

    def write(self, text: str, /) -> int:
        for at in range(0, len(text), _PRINTED):
            self._channel.send(Printed(text[at : at + _PRINTED]))
        return len(text)

    def fileno(self) -> int:
        return 2


def _serve(requests: BinaryIO, channel: _Channel) -> None:
    while True:
        try:
            job: Job = pickle.load(requests)
        except EOFError:
            return
        WATCH.set(_watch(job.limit_s, channel))
        try:
            channel.send(_answer(job))
        except InputError as error:
            # a time limit may stop an import, which leaves half a module behind
            over_time = isinstance(error.__context__, KeyboardInterrupt)
            channel.send(Refused(str(error), ends=over_time))
            if over_time:
                return
        except KeyboardInterrupt as error:
            if os.name != "posix":
                raise
            channel.send(Refused(_interrupted(error), ends=True))
            return


def _interrupted(error: KeyboardInterrupt) -> str:
    """The error of code that raises KeyboardInterrupt itself; Ctrl-C ends this process directly."""
    ours = Path(__file__).parents[1]
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if ours not in Path(frame.filename).parents
    ]
    where = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return f"the network's code raised KeyboardInterrupt{where}; correct the network"


def _watch(limit_s: float | None, channel: _Channel) -> Watch | None:
    if limit_s is None:
        return None
    return Watch(limit_s, lambda text: channel.send(Progress(text)))


def _answer(job: Job) -> Answered:
    result = job.work()
    if isinstance(result, Facts):
        return Answered(result, b"")
    trace, facts = result
    return Answered(facts, encoded_trace(trace), rank_ops(trace), _READ_FILES.take())


def main() -> None:
    """Serve requests until the parent closes the pipe. Ctrl-C ends the process at once."""
    collect_seldom()
    if os.name == "posix":
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    requests, channel = os.fdopen(os.dup(0), "rb"), _Channel(os.dup(1))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    start: Start = pickle.load(requests)
    confine(start.limits)
    faulthandler.enable(os.open(start.crash_file, os.O_WRONLY), all_threads=False)
    sys.stdout = sys.stderr = _Printing(channel)
    _READ_FILES.begin()
    with_room(lambda: _serve(requests, channel))


if __name__ == "__main__":
    main()
