"""Questions answered beside the window: in threads what is quick, in a process what traces.

    worker.ask("current", lambda cancelled: answered(scenario), done, failed)

A later question under the same key makes the earlier one stale: its result is dropped. What needs a
trace waits until the child process has left it on disk, and is then asked again.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from app import examples
from app.explorer.background.tracing import Tracing, key_of
from simulator.errors import InputError, RidgepointError, UntracedError
from simulator.scenario import trace_source

Run = Callable[[Callable[[], bool]], Any]
_CALM_MS, _LONGEST_S = 60, 1.0
"""Views think on so long after the last prediction, when it is painted; and wait no longer."""
_TURN_S = 0.001
"""How long a thread may keep the others from running Python: the window waits for its turn."""
LIVE, SLOW = 0, 1
"""Lanes: what the user waits for, and what views think about meanwhile."""


@dataclass(eq=False)
class Job:
    """A question, and who is told its answer. `background` ones never hold up the others."""

    key: str
    run: Run
    done: Callable[[Any], None]
    failed: Callable[[RidgepointError], None]
    lane: int
    background: bool
    cancelled: threading.Event = field(default_factory=threading.Event)
    told: Callable[[str], None] | None = None
    made: set[Any] = field(default_factory=set[Any])
    """What it waited for and was told that it is made."""


class Worker(QObject):
    """Threads, the tracing process, and the jobs that are not answered yet, by key."""

    moved = Signal()
    """What is under way has changed."""
    _returned = Signal(object, object, object)

    def __init__(self) -> None:
        super().__init__()
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        if os.environ.get(trace_source.FOLDER_VARIABLE) == "off":
            self._folder = tempfile.TemporaryDirectory(prefix="ridgepoint-")
        own = self._folder.name if self._folder else ""
        trace_source.keep_on_disk(own or None, even_if_off=bool(own))
        trace_source.trace_elsewhere()
        self.tracing = Tracing(own)
        self.tracing.moved.connect(self.moved)
        self.jobs: dict[str, Job] = {}
        self._refused: dict[Any, str] = {}
        self._loaded: set[Any] = set()
        self._returned.connect(self._on_returned)
        sys.setswitchinterval(_TURN_S)
        self._calm = threading.Event()
        self._calm.set()
        self._calming = later(_CALM_MS, self._calm_down, self)
        self._lanes = [_Lane(self._answer, self._returned.emit) for _ in (LIVE, SLOW)]

    def ask(
        self,
        key: str,
        run: Run,
        done: Callable[[Any], None],
        failed: Callable[[RidgepointError], None] = lambda error: None,
        lane: int = LIVE,
        background: bool = False,
    ) -> None:
        """Have a question answered; an earlier one under this key is stale from now on."""
        self.cancel(key)
        job = self.jobs[key] = Job(key, run, done, failed, lane, background)
        self._lanes[lane].put(job)
        if lane == LIVE:
            self._hurry()
        self.moved.emit()

    def cancel(self, key: str) -> None:
        """Nobody waits for the question of this key any more."""
        job = self.jobs.pop(key, None)
        if job is not None:
            job.cancelled.set()
            if job.told is not None:
                self.tracing.drop(job.told)

    def cancel_all(self) -> None:
        """Give up whatever is under way."""
        for key in list(self.jobs):
            self.cancel(key)
        self.tracing.cancel()
        self._calm.set()

    def busy(self, *keys: str) -> bool:
        """Is one of these questions (of all, without a key) not answered yet?"""
        return any(key in self.jobs for key in keys) if keys else bool(self.jobs)

    def close(self) -> bool:
        """End the threads and the child; False where a thread goes on for now."""
        self.cancel_all()
        self.tracing.close()
        ended = [lane.close() for lane in self._lanes]
        if self._folder is not None:
            self._folder.cleanup()
        return all(ended)

    def _hurry(self) -> None:
        """Views let a prediction be made and painted first."""
        self._calm.clear()
        self._calming.start()

    def _calm_down(self) -> None:
        if self._lanes[LIVE].busy:
            self._calming.start()
        else:
            self._calm.set()

    def _given_up(self, job: Job) -> bool:
        """In a lane's thread, again and again: does nobody wait any more?"""
        if job.lane == SLOW:
            self._calm.wait(_LONGEST_S)
        return job.cancelled.is_set()

    def _answer(self, job: Job) -> tuple[Any, RidgepointError | None]:
        """In a lane's thread: the answer, or why there is none."""
        while True:
            try:
                self._given_up(job)
                return job.run(lambda: self._given_up(job)), None
            except UntracedError as need:
                reason = self._refused.get(key_of(need))
                if reason:
                    return None, InputError(reason)
                place = key_of(need)[:2], need.line
                if place in self._loaded or not examples.load(need.ask, need.gpu):
                    return None, need
                self._loaded.add(place)
            except RidgepointError as error:
                return None, error
            except Exception as error:
                return None, InputError(
                    f"a fault of Ridgepoint's own: {type(error).__name__}: {error}; expected an "
                    "answer; please report it with `copy as command`"
                )

    def _on_returned(self, job: Job, found: Any, error: RidgepointError | None) -> None:
        if self.jobs.get(job.key) is not job:
            return
        if job.lane == LIVE:
            self._hurry()
        if isinstance(error, UntracedError):
            need = error

            def told(reason: str) -> None:
                job.told = None
                self._over(job, need, reason)
                if self.jobs.get(job.key) is job:
                    self._lanes[job.lane].put(job)

            job.told = told
            self.tracing.need(need, not job.background, told)
            return
        del self.jobs[job.key]
        if error is None:
            job.done(found)
        else:
            job.failed(error)
        self.moved.emit()

    def _over(self, job: Job, need: UntracedError, reason: str) -> None:
        """A request of the tracing process is over. A job that is told so twice of the same could
        not read what was made; another job may well wait for it too."""
        key = key_of(need)
        lost = key in job.made
        job.made.add(key)
        if need.line is not None:
            if reason or lost:
                trace_source.give_up(need.ask, need.gpu, need.line)
        elif reason or lost:
            self._refused[key] = reason or (
                f"the trace of {need.ask.network} could not be kept on disk: expected room in "
                f"the cache; free some, or name another folder in {trace_source.FOLDER_VARIABLE}"
            )


class _Lane:
    """One thread, and the jobs that wait for it."""

    def __init__(self, answer: Callable[[Job], tuple[Any, Any]], back: Callable[..., None]) -> None:
        self._answer, self._back = answer, back
        self._waiting: OrderedDict[int, Job] = OrderedDict()
        self._some = threading.Condition()
        self._open, self._working = True, False
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def put(self, job: Job) -> None:
        with self._some:
            self._waiting[id(job)] = job
            self._some.notify()

    @property
    def busy(self) -> bool:
        """Is anything answered, or waiting to be?"""
        return self._working or bool(self._waiting)

    def close(self) -> bool:
        with self._some:
            self._open = False
            self._waiting.clear()
            self._some.notify()
        self._thread.join(2.0)
        return not self._thread.is_alive()

    def _work(self) -> None:
        while True:
            with self._some:
                while self._open and not self._waiting:
                    self._some.wait()
                if not self._open:
                    return
                _, job = self._waiting.popitem(last=False)
            if job.cancelled.is_set():
                continue
            self._working = True
            found, error = self._answer(job)
            self._working = False
            if self._open and not job.cancelled.is_set():
                self._back(job, found, error)


def later(ms: int, then: Callable[[], None], parent: QObject) -> QTimer:
    """A timer that runs `then` once, so many milliseconds after it was started last."""
    timer = QTimer(parent)
    timer.setSingleShot(True)
    timer.setInterval(ms)
    timer.timeout.connect(then)
    return timer
