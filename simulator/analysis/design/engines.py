"""Where a design is predicted: processes of this machine, or a cluster of Dask or Ray.

An engine maps a task over chunks of points and yields the rows of each, in any order. joblib, Dask
and Ray start the processes, balance the load and return results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, wait
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import islice
from logging import CRITICAL, getLogger
from pathlib import Path
from sys import stderr
from threading import Lock
from typing import Any

from simulator.analysis.design.design import Design, Rows, predict_points
from simulator.analysis.design.release import release
from simulator.errors import InputError
from simulator.formats.trace_folder import TRACE_FOLDER
from simulator.isolated import ISOLATION
from simulator.isolated.limits import Limits
from simulator.networks.loading.watching import WATCH, Watch

Chunk = Sequence[int]
Task = Callable[[Chunk], Rows]
Engine = Callable[[Task, Iterable[Chunk]], Iterator[Rows]]

NAMES = "local, dask://HOST:PORT, ray or ray://HOST:PORT"
_CONNECT_TIMEOUT_S = 15.0  # a cluster that does not answer in this time is unreachable
_AHEAD = 3  # chunks handed out to each worker in advance
_ONE_AT_A_TIME = Lock()  # threads of one process would wait for each other


class EngineLostError(Exception):
    """The processes of an engine ended, or the engine cannot be reached; the rows so far are
    valid."""


@dataclass(frozen=True)
class DesignTask:
    """Predict chunks of a design, in the process to which the task is sent.

    `limits` bound the process that runs a user's code; None if the predicting process runs that
    code itself. `limit_s` is the time limit of a trace. `traces` is the folder in which the sending
    process stores traces, or None; a machine without this folder stores them in its user's cache.
    Raises InputError in a process that runs another release of the simulator.
    """

    design: Design
    release: str
    limits: Limits | None = None
    limit_s: float | None = None
    traces: Path | None = None

    def __call__(self, chunk: Chunk) -> Rows:
        """The rows of points of the design."""
        if self.release != release():
            raise InputError(
                "--engine: its workers run another release of Ridgepoint than this process: "
                "expected the same release; install it there"
            )
        import_module("simulator.whatif")  # registers the what-ifs that the design names
        self._supervise()
        self._store_traces()
        with _ONE_AT_A_TIME, redirect_stdout(stderr):
            return predict_points(self.design, chunk)

    def _supervise(self) -> None:
        """Run a user's code under the same supervision as in the process that created the task."""
        if self.limits is None:
            ISOLATION.end()
        else:
            ISOLATION.begin(self.limits)
        if self.limit_s != _limit_s():
            WATCH.set(None if self.limit_s is None else Watch(self.limit_s))

    def _store_traces(self) -> None:
        """Store traces if the process that created the task does, so that its stored traces are not
        made again in each process."""
        if self.traces is None:
            TRACE_FOLDER.close()
        elif TRACE_FOLDER.path is None:
            TRACE_FOLDER.keep(self.traces if self.traces.is_dir() else None)


def task(design: Design) -> DesignTask:
    """The task that predicts a design's points with this release, and with this process's limits on
    a user's code and its folder of traces."""
    return DesignTask(design, release(), ISOLATION.limits, _limit_s(), TRACE_FOLDER.path)


def _limit_s() -> float | None:
    watch = WATCH.get()
    return None if watch is None else watch.limit_s


def engine(name: str, workers: int) -> Engine:
    """The engine of this name; `workers` is the number of local processes. Raises InputError for an
    unknown name."""
    if name == "local":
        return partial(local, workers)
    if name.startswith("dask://") and name != "dask://":
        return partial(dask, name.removeprefix("dask://"))
    if name == "ray" or (name.startswith("ray://") and name != "ray://"):
        return partial(ray, None if name == "ray" else name, workers)
    raise InputError(f"--engine {name!r}: expected {NAMES}; choose one")


def local(workers: int, run: Task, chunks: Iterable[Chunk]) -> Iterator[Rows]:
    """Predict in processes of this machine, by joblib's loky; with one worker, in this process."""
    if workers == 1:
        yield from map(run, chunks)
        return
    loky = import_module("joblib.externals.loky")
    executor = loky.get_reusable_executor(max_workers=workers, reuse=False)
    left, idle = iter(chunks), False
    waiting = {executor.submit(run, chunk) for chunk in islice(left, _AHEAD * workers)}
    try:
        while waiting:
            ready, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in ready:
                rows = future.result()
                waiting |= {executor.submit(run, chunk) for chunk in islice(left, 1)}
                yield rows
        idle = True
    except BrokenExecutor as error:
        raise EngineLostError("a process ended, perhaps because memory ran out") from error
    finally:  # if idle processes were killed, loky would warn about semaphores that are gone
        executor.shutdown(wait=idle, kill_workers=not idle)


def dask(address: str, run: Task, chunks: Iterable[Chunk]) -> Iterator[Rows]:
    """Predict on the workers of the scheduler at `address`, by Dask. If a worker ends, Dask gives
    its tasks to another one."""
    distributed = _extra("dask", "distributed")
    getLogger("distributed").setLevel(CRITICAL)  # a loss is reported once, below
    try:
        client = distributed.Client(
            f"tcp://{address}", timeout=_CONNECT_TIMEOUT_S, set_as_default=False
        )
    except (OSError, ValueError) as error:
        raise EngineLostError(f"no scheduler responds: {error}") from error
    lost = (OSError, CancelledError, distributed.client.FutureCancelledError)
    lost += (distributed.KilledWorker, distributed.comm.CommClosedError)
    with client:
        try:
            client.wait_for_workers(1, timeout=_CONNECT_TIMEOUT_S)
            threads = sum(client.nthreads().values())
            left = iter(chunks)
            first = islice(left, _AHEAD * threads)
            futures = distributed.as_completed(
                [client.submit(run, chunk, pure=False) for chunk in first], loop=client.loop
            )
            for future in futures:
                rows = future.result()
                futures.update([client.submit(run, c, pure=False) for c in islice(left, 1)])
                yield rows
        except TimeoutError as error:
            raise EngineLostError("its scheduler has no workers") from error
        except lost as error:
            raise EngineLostError(_first_line(error)) from error
        except ModuleNotFoundError as error:
            raise EngineLostError(
                f"its workers cannot import {error.name}; install Ridgepoint on their machines"
            ) from error


def ray(address: str | None, workers: int, run: Task, chunks: Iterable[Chunk]) -> Iterator[Rows]:
    """Predict on the workers of the Ray cluster at `address`, or of a cluster started here. If a
    worker ends, Ray repeats its tasks."""
    package = _extra("ray", "ray")
    try:
        quiet: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False}
        if address is None:
            package.init(num_cpus=workers, include_dashboard=False, **quiet)
        else:
            package.init(address, **quiet)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise EngineLostError(f"no cluster responds: {_first_line(error)}") from error
    failures = package.exceptions
    try:
        remote = package.remote(_called)
        left = iter(chunks)
        cores = int(package.cluster_resources().get("CPU", 1))
        waiting: list[Any] = [remote.remote(run, chunk) for chunk in islice(left, _AHEAD * cores)]
        while waiting:
            ready, waiting = package.wait(waiting)
            waiting += [remote.remote(run, chunk) for chunk in islice(left, len(ready))]
            yield from package.get(ready)
    except failures.RayTaskError as error:
        raise error.as_instanceof_cause() from error
    except (failures.RayError, ConnectionError) as error:
        raise EngineLostError(_first_line(error)) from error
    finally:
        package.shutdown()


def _called(run: Task, chunk: Chunk) -> Rows:
    return run(chunk)


def _extra(name: str, package: str) -> Any:
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        raise InputError(
            f"--engine {name}: needs {error.name}, which is not installed: "
            f'pip install "ridgepoint[{name}]"'
        ) from None


def _first_line(error: BaseException) -> str:
    return f"{error}".strip().partition("\n")[0] or type(error).__name__
