"""Start, read and cancel the process in which Inductor's scheduler runs. The process ends when its
parent ends."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from simulator.inductor.answer import Answer
from simulator.inductor.question import Question, encoded
from simulator.inductor.refusal import RefusalError
from simulator.isolated.limits import Limits

LIMIT_S = 600.0
_WAIT_S = 0.05
_TAIL = 300  # characters of a child's last line that an error shows

Progress = Callable[[str], None]


class Message(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line from the child: its progress, the reason for a refusal, or the end of its output."""

    step: str = ""
    refused: str = ""
    done: bool = False


class Child:
    """A process that starts at once; `cancel` ends it from any thread, `result` waits for it.

    `limits` are the resources that the process may use, None for all.

    Raises RefusalError on systems other than POSIX.
    """

    def __init__(
        self, question: Question, limit_s: float = LIMIT_S, limits: Limits | None = None
    ) -> None:
        if os.name != "posix":
            raise RefusalError(f"it needs Linux, got {sys.platform}")
        self._began, self._limit_s = time.monotonic(), limit_s
        self._cancelled = False
        self._folder = tempfile.TemporaryDirectory(prefix="ridgepoint-")
        self._target = Path(self._folder.name) / "answer.msgpack"
        self._errors = (Path(self._folder.name) / "errors").open("w+b")
        paths = (str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", ""))
        environment = {
            **os.environ,
            "TORCHINDUCTOR_CACHE_DIR": self._folder.name,
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        }
        confined = [] if limits is None else [msgspec.json.encode(limits).decode()]
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "simulator.inductor", str(self._target), *confined],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=environment,
            start_new_session=True,  # in the same folder: a network's path may be relative
        )
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(encoded(question))
            self._process.stdin.flush()  # the pipe stays open: the child ends when it is closed
        except BrokenPipeError:
            pass  # `result` reports how it ended

    def cancel(self) -> None:
        """End the process, and those that it started, at once."""
        self._cancelled = True
        self._kill()

    def result(self, progress: Progress = lambda _: None) -> Answer:
        """Wait for the answer and return it. Raises RefusalError, with the reason, if the process
        gives no answer."""
        try:
            return self._read_answer(progress)
        finally:
            self._kill()
            cleaning = threading.Thread(target=self._clean_up, daemon=True)
            cleaning.start()
            cleaning.join(_WAIT_S)  # a busy system needs a long time to free its memory

    def _clean_up(self) -> None:
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._errors):
            if pipe is not None:
                pipe.close()
        self._folder.cleanup()

    def _read_answer(self, progress: Progress) -> Answer:
        assert self._process.stdout is not None
        pipe, rest = self._process.stdout.fileno(), b""
        os.set_blocking(pipe, False)
        with selectors.DefaultSelector() as waiting:
            waiting.register(pipe, selectors.EVENT_READ)
            while True:
                if self._cancelled:
                    raise RefusalError("it was cancelled")
                if time.monotonic() - self._began > self._limit_s:
                    raise RefusalError(f"it took more than {self._limit_s:.0f} s; try fewer layers")
                ended = self._process.poll() is not None
                if not waiting.select(_WAIT_S):
                    if ended:  # even if copies of the process keep the pipe open
                        raise RefusalError(self._how_it_ended())
                    continue
                chunk = os.read(pipe, 1 << 16)
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    answer = self._answer(line, progress)
                    if answer is not None:
                        return answer
                if not chunk:
                    raise RefusalError(self._how_it_ended())

    def _answer(self, line: bytes, progress: Progress) -> Answer | None:
        message = msgspec.json.decode(line, type=Message)
        if message.refused:
            raise RefusalError(message.refused)
        if message.done:
            return msgspec.msgpack.decode(self._target.read_bytes(), type=Answer)
        progress(message.step)
        return None

    def _how_it_ended(self) -> str:
        if self._cancelled:
            return "it was cancelled"
        code = self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode("utf-8", "replace").strip().splitlines()
        if code == -signal.SIGKILL:
            return "its process was killed, possibly out of memory; free some memory and try again"
        how = f"signal {-code}" if code < 0 else f"exit status {code}"
        last = f": {lines[-1].strip()[-_TAIL:]}" if lines else ""
        return f"its process ended with {how}{last}"

    def _kill(self) -> None:
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
