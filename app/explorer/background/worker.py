"""Background jobs of the window: predictions run in threads, tracing in a child process.

    worker.ask("current", lambda cancelled: answered(scenario), done, failed)

A later job with the same key cancels the earlier one, whose result is dropped. A job that needs a
trace waits until the child process has written it to disk, and then runs again.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from app.explorer.background.garbage import Collector, another_program_has_focus
from app.explorer.background.tracing import Tracing, key_of
from app.time_left import RUNNING, Running
from simulator.caches.cancelling import CancelledError, checking
from simulator.caches.frames import with_room
from simulator.errors import InputError, RidgepointError, UntracedError
from simulator.scenario import trace_source

Run = Callable[[Callable[[], bool]], Any]
_CALM_MS, _LONGEST_S = 100, 1.0
"""Pause of slow jobs after a prediction, which is painted first, and the limit of each pause."""
_PAINT_MS = 5
"""Pause of slow jobs after one of them has a result, which is painted first."""
_REFUSALS = 256
"""Number of cached reasons why there is no trace."""
_TURN_S = 0.001
"""Python's thread switch interval: bounds how long the window waits for a worker thread."""
LIVE, SLOW, PLAN, CLUSTER = "live", "slow", "plan", "cluster"
"""Lanes, each with a thread: jobs that the user waits for, slower ones, plans, and steps over
several GPUs. The views of each page have a lane too: a page waits for no job of a hidden one."""


@dataclass(eq=False)
class Job:
    """A computation with the callbacks for its result. `background` jobs never delay others."""

    key: str
    run: Run
    done: Callable[[Any], None]
    failed: Callable[[RidgepointError], None]
    lane: str
    background: bool
    cancelled: threading.Event = field(default_factory=threading.Event)
    since_s: float = field(default_factory=time.monotonic)
    report: Running = field(default_factory=Running)
    on_part: Callable[[Any], None] | None = None
    on_traced: Callable[[str], None] | None = None
    traced: set[Any] = field(default_factory=set[Any])
    """Keys of the finished traces that the job waited for."""


class Worker(QObject):
    """The threads, the tracing process, and the unfinished jobs by key."""

    progressed = Signal()
    """The running jobs, or their progress, have changed."""
    _returned = Signal(object, object, object)
    _came = Signal(object, object)

    def __init__(self) -> None:
        super().__init__()
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        if os.environ.get(trace_source.FOLDER_VARIABLE) == "off":
            self._folder = tempfile.TemporaryDirectory(prefix="ridgepoint-")
        folder = self._folder.name if self._folder else ""
        trace_source.keep_on_disk(folder or None, even_if_off=bool(folder))
        trace_source.trace_elsewhere()
        self.tracing = Tracing(folder)
        self.tracing.progressed.connect(self.progressed)
        self.jobs: dict[str, Job] = {}
        self._refused: dict[Any, str] = {}
        self._returned.connect(self._on_returned)
        self._came.connect(self._on_part)
        sys.setswitchinterval(_TURN_S)
        self._calm = threading.Event()
        self._calm.set()
        self._calming = later(_CALM_MS, self._calm_down, self)
        self._lanes = defaultdict[str, _Lane](lambda: _Lane(self._run, self._returned.emit))
        self._collector = Collector(self, lambda: self._lanes[LIVE].busy, another_program_has_focus)

    def ask(
        self,
        key: str,
        run: Run,
        done: Callable[[Any], None],
        failed: Callable[[RidgepointError], None] = lambda error: None,
        lane: str = LIVE,
        background: bool = False,
        on_part: Callable[[Any], None] | None = None,
    ) -> None:
        """Run a job in the background; cancel an earlier one with this key. `on_part` receives
        what the job passes to `running().show`."""
        self.cancel(key)
        job = self.jobs[key] = Job(key, run, done, failed, lane, background, on_part=on_part)
        self._lanes[lane].put(job)
        if lane == LIVE:
            self.pause_slow()
            self._collector.postpone()
        self.progressed.emit()

    def cancel(self, key: str) -> None:
        """Cancel the job with this key, if there is one."""
        job = self.jobs.pop(key, None)
        if job is not None:
            job.cancelled.set()
            if job.on_traced is not None:
                self.tracing.drop(job.on_traced)
                job.on_traced = None  # the callback refers to the job

    def cancel_all(self) -> None:
        """Cancel all jobs and the running trace."""
        for key in list(self.jobs):
            self.cancel(key)
        self.tracing.cancel()
        self._calm.set()

    def busy(self, *keys: str) -> bool:
        """Whether a job with one of these keys is unfinished; any job if no keys are given."""
        return any(key in self.jobs for key in keys) if keys else bool(self.jobs)

    def close(self) -> bool:
        """End the threads and the child process. Returns False if a thread still runs."""
        self.cancel_all()
        self.tracing.close()
        ended = [lane.close() for lane in self._lanes.values()]
        if all(ended):
            self._collector.close()
        if self._folder is not None:
            self._folder.cleanup()
        return all(ended)

    def pause_slow(self) -> None:
        """Pause slow jobs until the next prediction is computed and painted, or a page is shown."""
        self._calm.clear()
        self._calming.start(_CALM_MS)

    def _calm_down(self) -> None:
        if self._lanes[LIVE].busy:
            self._calming.start(_CALM_MS)
        else:
            self._calm.set()

    def _is_cancelled(self, job: Job) -> bool:
        """Whether a job is cancelled; blocks while slow jobs are paused."""
        if job.lane != LIVE:
            self._calm.wait(_LONGEST_S)
        return job.cancelled.is_set()

    def _run(self, job: Job) -> tuple[Any, RidgepointError | None]:
        """Run a job in a lane's thread. Returns its result or its error."""
        if job.on_part is not None:
            job.report.show = lambda part: self._came.emit(job, part)
        token = RUNNING.set(job.report)

        def check() -> None:
            if self._is_cancelled(job):
                raise CancelledError

        try:
            check()  # may be cancelled during the pause: it would delay its successor
            with checking(check):
                return job.run(lambda: self._is_cancelled(job)), None
        except CancelledError:
            return None, None
        except UntracedError as need:
            reason = self._refused.get(key_of(need))
            return None, InputError(reason) if reason else _without_frames(need)
        except RidgepointError as error:
            return None, _without_frames(error)
        except Exception as error:
            return None, InputError(
                f"internal error in Ridgepoint: {type(error).__name__}: {error}; please report "
                "it, with the command from `Copy as command`"
            )
        finally:
            RUNNING.reset(token)
            job.report.show = Running.show  # the callback refers to the job

    def _on_part(self, job: Job, part: Any) -> None:
        if self.jobs.get(job.key) is job and job.on_part is not None:
            job.on_part(part)

    def _on_returned(self, job: Job, result: Any, error: RidgepointError | None) -> None:
        if self.jobs.get(job.key) is not job:
            return
        if job.lane == LIVE:
            self.pause_slow()
        elif not self._calming.isActive():
            self._calm.clear()
            self._calming.start(_PAINT_MS)
        if isinstance(error, UntracedError):
            need = error

            def on_traced(reason: str) -> None:
                job.on_traced = None
                self._note_traced(job, need, reason)
                if self.jobs.get(job.key) is job:
                    self._lanes[job.lane].put(job)

            job.on_traced = on_traced
            self.tracing.request(need, not job.background, on_traced)
            return
        del self.jobs[job.key]
        if error is None:
            job.done(result)
        else:
            job.failed(error)
        self.progressed.emit()

    def _note_traced(self, job: Job, need: UntracedError, reason: str) -> None:
        """Record that a tracing request ended, for which other jobs may also wait. A job that
        requests the same trace a second time could not read it from the cache."""
        key = key_of(need)
        lost = key in job.traced
        job.traced.add(key)
        if need.line is not None:
            if reason or lost:
                trace_source.give_up(need.request, need.gpu, need.line)
        elif reason or lost:
            self._refused[key] = reason or (
                f"the trace of {need.request.network} could not be written to disk: expected space "
                f"in the cache; free some, or set {trace_source.FOLDER_VARIABLE} to another folder"
            )
            while len(self._refused) > _REFUSALS:
                del self._refused[next(iter(self._refused))]


class _Lane:
    """A thread with its queue of jobs."""

    def __init__(self, run: Callable[[Job], tuple[Any, Any]], done: Callable[..., None]) -> None:
        self._run, self._done = run, done
        self._waiting: OrderedDict[int, Job] = OrderedDict()
        self._ready = threading.Condition()
        self._open, self._working = True, False
        self._thread = threading.Thread(target=with_room, args=(self._work,), daemon=True)
        self._thread.start()

    def put(self, job: Job) -> None:
        with self._ready:
            self._waiting[id(job)] = job
            self._ready.notify()

    @property
    def busy(self) -> bool:
        """Whether a job runs or waits."""
        return self._working or bool(self._waiting)

    def close(self) -> bool:
        with self._ready:
            self._open = False
            self._waiting.clear()
            self._ready.notify()
        self._thread.join(2.0)
        return not self._thread.is_alive()

    def _work(self) -> None:
        while True:
            with self._ready:
                while self._open and not self._waiting:
                    self._ready.wait()
                if not self._open:
                    return
                _, job = self._waiting.popitem(last=False)
            self._finish(job)
            del job  # otherwise the job lives until the next one starts

    def _finish(self, job: Job) -> None:
        if job.cancelled.is_set():
            return
        self._working = True
        result, error = self._run(job)
        self._working = False
        if self._open and not job.cancelled.is_set():
            self._done(job, result, error)


def _without_frames(error: RidgepointError) -> RidgepointError:
    """An error without its traceback, whose frames keep the arrays of a prediction alive."""
    error.__traceback__ = error.__context__ = error.__cause__ = None
    return error


def later(ms: int, then: Callable[[], None], parent: QObject) -> QTimer:
    """A single-shot timer that calls `then` `ms` milliseconds after its last start."""
    timer = QTimer(parent, singleShot=True, interval=ms)
    timer.timeout.connect(then)
    return timer
