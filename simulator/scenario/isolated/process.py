"""The child process that runs a user's code, seen from its parent."""

from __future__ import annotations

import atexit
import os
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec
from simulator.scenario.isolated.limits import Limits
from simulator.scenario.isolated.messages import (
    LENGTH_BYTES,
    MOST_BYTES,
    Answered,
    Job,
    Message,
    Printed,
    Progress,
    Refused,
    Start,
    decoded,
)

from simulator.errors import InputError
from simulator.formats.trace_file import decoded as decoded_trace
from simulator.hardware.gpu import GPU
from simulator.networks.loading.loaded import Facts
from simulator.networks.loading.watching import WATCH
from simulator.records import Trace
from simulator.scenario.resolved import TraceRequest

_GRACE_S = 30.0
"""Time after which the parent ends the child, on top of the time limit. The child keeps the limit
itself unless its code blocks signals; its time begins after the import of torch."""
_KILLED = 9
_DEBUG = "or run it with --no-sandbox, where a debugger can follow it"


class IsolatedProcess:
    """A child that starts at the first request, and restarts after a request that ended it."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._crash_file = Path()

    def trace(self, request: TraceRequest, gpu: GPU) -> tuple[Trace, Facts]:
        """`trace_module` in the child; the output of the network goes to standard error. Raises
        InputError as `trace_module` does, and if the child ends before it answers.
        """
        answer = self._ask(request, gpu, facts_only=False)
        return decoded_trace(answer.trace, f"the trace of {request.network}"), answer.facts

    def facts(self, request: TraceRequest, gpu: GPU) -> Facts:
        """The facts of a network, loaded but not traced. Raises InputError as `trace` does."""
        return self._ask(request, gpu, facts_only=True).facts

    def close(self) -> None:
        """End the child, whatever it does."""
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            self._crash_file.unlink(missing_ok=True)

    def _ask(self, request: TraceRequest, gpu: GPU, *, facts_only: bool) -> Answered:
        watch = WATCH.get()
        with self._lock:
            child = self._started()
            overtime = threading.Timer((watch.limit_s if watch else 0) + _GRACE_S, child.kill)
            try:
                job = Job(request, gpu, facts_only, watch and watch.limit_s)
                with suppress(BrokenPipeError):  # `_answer` reads how the child ended
                    _send(child, job)
                if watch is not None:
                    overtime.start()
                return self._answer(child, request.network, watch.progress if watch else None)
            except InputError:
                raise
            except BaseException:  # Ctrl-C included
                self.close()
                raise
            finally:
                overtime.cancel()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._child is None:
            number, path = tempfile.mkstemp(prefix="ridgepoint-")
            os.close(number)
            self._crash_file = Path(path)
            paths = (str(Path(__file__).parents[3]), os.environ.get("PYTHONPATH", ""))
            self._child = subprocess.Popen(
                [sys.executable, "-P", "-m", "simulator.scenario.isolated"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
            )
            atexit.register(self.close)
            with suppress(BrokenPipeError):
                _send(self._child, Start(self._limits, path))
        return self._child

    def _answer(
        self, child: subprocess.Popen[bytes], network: str, told: Callable[[str], None] | None
    ) -> Answered:
        for message in _messages(child):
            match message:
                case Printed(text):
                    sys.stderr.write(text)
                case Progress(text) if told is not None:
                    told(text)
                case Refused(text):
                    raise InputError(text)
                case Answered():
                    return message
                case _:
                    pass
        child.kill()  # in case it wrote an invalid message
        status, stack = child.wait(), _stack(self._crash_file)
        self._child = None
        self._crash_file.unlink(missing_ok=True)
        if status == -signal.SIGINT:
            raise KeyboardInterrupt
        raise InputError(_ending(network, status, stack))


def _send(child: subprocess.Popen[bytes], job: Start | Job) -> None:
    assert child.stdin is not None
    pickle.dump(job, child.stdin)
    child.stdin.flush()


def _messages(child: subprocess.Popen[bytes]) -> Iterator[Message]:
    """The messages of a child, until it ends or writes an invalid one."""
    assert child.stdout is not None
    while True:
        length = int.from_bytes(child.stdout.read(LENGTH_BYTES))
        data = child.stdout.read(length) if 0 < length <= MOST_BYTES else b""
        if not data:
            return
        try:
            yield decoded(data)
        except msgspec.MsgspecError:
            return


def _stack(path: Path) -> str:
    with suppress(OSError):
        return path.read_text("utf-8", "replace")
    return ""


def _ending(network: str, status: int, stack: str) -> str:
    """The error text for a child that ended without an answer: the reason, and what to do."""
    name = Path(network).name
    file = Path(network.rpartition(":")[0] if ".py:" in network else network).name
    lines = re.findall(rf'File "[^"]*{re.escape(file)}", line (\d+)', stack)
    at = f" at {file}:{lines[0]}" if lines else ""
    if status == -_KILLED:
        return (
            f"the process that traced {name} was killed{at}, perhaps because memory or its time "
            "ran out: expected a network that the machine can hold; give smaller sizes, or allow "
            "more time with --time-limit"
        )
    if status < 0:
        how = signal.Signals(-status).name if -status in [*signal.Signals] else f"signal {-status}"
        return (
            f"the process that traced {name} crashed with {how}{at}: expected code that returns; "
            f"correct the network, {_DEBUG}"
        )
    return (
        f"the process that traced {name} ended with status {status}: expected code that returns "
        f"and does not end its process; correct the network, {_DEBUG}"
    )
