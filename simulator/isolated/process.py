"""The child process that runs a user's code, seen from its parent."""

from __future__ import annotations

import atexit
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from simulator.errors import InputError
from simulator.formats.trace_file import decoded as decoded_trace
from simulator.isolated.endings import ending, overran, unreadable
from simulator.isolated.limits import Limits
from simulator.isolated.messages import (
    LENGTH_BYTES,
    MOST_BYTES,
    Answered,
    Job,
    Message,
    Printed,
    Progress,
    Refused,
    Start,
    Work,
    decoded,
)
from simulator.isolated.rank_ops import with_rank_ops
from simulator.networks.loading.loaded import Facts
from simulator.networks.loading.watching import WATCH
from simulator.records import Trace

_GRACE_S = 30.0
"""Time after which the parent ends the child, on top of the time limit. The child enforces the
limit itself unless its code blocks signals; the limit starts after torch is imported."""


class IsolatedProcess:
    """A child that starts at the first request, and restarts after a request that ended it."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._crash_file = Path()
        self.read_files: list[str] = []
        """The data files that the child's code read for the last trace."""
        # Linux kills the child when the thread that started it ends, so this thread lives as long
        # as the process
        self._starter = ThreadPoolExecutor(1, "starts the process of a user's code")

    def trace(self, network: str, work: Callable[[], tuple[Trace, Facts]]) -> tuple[Trace, Facts]:
        """The result of `work`, which traces this network; its output goes to standard error.

        Raises InputError as `work` does, and if the child ends before it answers.
        """
        answer = self._answer_to(network, work)
        self.read_files = answer.read_files
        trace = decoded_trace(answer.trace, f"the trace of {network}")
        return with_rank_ops(trace, answer.rank_ops), answer.facts

    def facts(self, network: str, work: Callable[[], Facts]) -> Facts:
        """The facts of a network, which `work` loads. Raises InputError as `trace` does."""
        return self._answer_to(network, work).facts

    def close(self) -> None:
        """End the child, even if it is working."""
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            self._crash_file.unlink(missing_ok=True)
            atexit.unregister(self.close)

    def _answer_to(self, network: str, work: Work) -> Answered:
        watch = WATCH.get()
        limit_s = watch and watch.limit_s
        over_time = threading.Event()

        def stop() -> None:
            over_time.set()
            child.kill()

        with self._lock:
            child = self._started()
            timer = threading.Timer((limit_s or 0) + _GRACE_S, stop)
            try:
                with suppress(BrokenPipeError):  # the reason is read below
                    _send(child, Job(work, limit_s))
                if watch is not None:
                    timer.start()
                answer = self._read(child, watch.progress if watch else None)
                if isinstance(answer, Answered):
                    return answer
                raise InputError(self._ending(child, network, answer, over_time.is_set(), limit_s))
            except InputError:
                raise
            except BaseException:  # such as Ctrl-C
                self.close()
                raise
            finally:
                timer.cancel()
                if over_time.is_set():  # perhaps after the answer
                    self.close()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._child is None:
            number, path = tempfile.mkstemp(prefix="ridgepoint-")
            os.close(number)
            self._crash_file = Path(path)
            self._child = self._starter.submit(_new_child).result()
            atexit.register(self.close)
            with suppress(BrokenPipeError):
                _send(self._child, Start(self._limits, path))
        return self._child

    def _read(
        self, child: subprocess.Popen[bytes], progress: Callable[[str], None] | None
    ) -> Answered | Literal["ended", "unreadable"]:
        """The answer. Raises InputError, with the reason, if the process gives no answer or
        refuses."""
        for message in _messages(child):
            match message:
                case Printed(text):
                    sys.stderr.write(text)
                case Progress(text):
                    if progress is not None:
                        progress(text)
                case Refused(text, ends):
                    if ends:
                        self.close()
                    raise InputError(text)
                case Answered():
                    return message
                case None:
                    return "unreadable"
        return "ended"

    def _ending(
        self,
        child: subprocess.Popen[bytes],
        network: str,
        why: Literal["ended", "unreadable"],
        over_time: bool,
        limit_s: float | None,
    ) -> str:
        """End a child that gave no answer. Return the reason, and what to do."""
        if why == "unreadable":
            child.kill()
        status, stack = child.wait(), _stack(self._crash_file)
        self.close()
        if status == -signal.SIGINT:
            raise KeyboardInterrupt
        if over_time:
            return overran(network, limit_s or 0.0)
        if why == "unreadable":
            return unreadable(network)
        return ending(network, status, stack)


def _new_child() -> subprocess.Popen[bytes]:
    paths = (str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", ""))
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "simulator.isolated"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
    )


def _send(child: subprocess.Popen[bytes], job: Start | Job) -> None:
    assert child.stdin is not None
    pickle.dump(job, child.stdin)
    child.stdin.flush()


def _messages(child: subprocess.Popen[bytes]) -> Iterator[Message | None]:
    """The messages of a child until it ends; None for an invalid message."""
    assert child.stdout is not None
    while len(head := child.stdout.read(LENGTH_BYTES)) == LENGTH_BYTES:
        length = int.from_bytes(head)
        if not 0 < length <= MOST_BYTES:
            yield None
            return
        data = child.stdout.read(length)
        if len(data) < length:
            return
        try:
            message = decoded(data)
        except msgspec.MsgspecError:
            message = None
        yield message


def _stack(path: Path) -> str:
    with suppress(OSError):
        return path.read_text("utf-8", "replace")
    return ""
