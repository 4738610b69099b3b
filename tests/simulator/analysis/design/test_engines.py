"""Sweeps run by real processes (joblib's, two Dask workers, a Ray instance on the loopback
interface), and how these end."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

from simulator.analysis.design.design import Design, design, predict_points, summed
from simulator.analysis.design.engines import DesignTask, engine, task
from simulator.analysis.design.release import release
from simulator.analysis.design.rows_file import RowsFile
from simulator.analysis.design.run import run
from simulator.errors import InputError
from simulator.isolated import ISOLATION
from simulator.isolated.limits import Limits
from simulator.networks.loading.watching import WATCH, Watch
from simulator.scenario.scenario import Scenario

SMALL = design(Scenario("mlp-tiny"), {"gpu": ["h100", "h200"], "batch": range(1, 101)})
LONG = design(
    Scenario("mlp-tiny"),
    {"gpu": ["h100", "h200"], "mode": ["eager", "compiled"], "batch": range(1, 101)},
)


HOSTILE = """
import sys, torch
from pathlib import Path

class Loops(torch.nn.Linear):
    def __init__(self): super().__init__(8, 8)
    def example_inputs(self, batch=1): return (torch.empty(batch, 8),)
    def forward(self, x):
        with Path(__file__).with_suffix(".log").open("a") as log:
            log.write(sys.orig_argv[-1] + "\\n")
        while True: pass
"""


@pytest.fixture
def unsupervised() -> Iterator[None]:
    """Restore the limits of this process."""
    token = WATCH.set(None)
    yield
    WATCH.reset(token)
    ISOLATION.end()


def need(package: str, extra: str) -> None:
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed: expected the extra {extra}")


def filled(path: Path, of: Design, name: str) -> None:
    """Run the design by an engine, with two local processes."""
    with RowsFile(path, of) as file:
        run(file, engine(name, 2))


def check(path: Path, of: Design) -> None:
    """Check that every point occurs once, with the row that this process predicts."""
    with RowsFile(path, of) as file:
        assert sorted(p for part in file.parts for p in part.points) == list(of.points)
        rows = summed(file.parts)
    own = predict_points(of, of.points)
    assert rows.refused == own.refused
    np.testing.assert_allclose(rows.table, own.table, rtol=1e-9, atol=1e-9)


def lines(path: Path, at_least: int) -> None:
    """Wait until the file has `at_least` lines: a header, and one line per part."""
    until = time.monotonic() + 60
    while not path.exists() or path.read_bytes().count(b"\n") < at_least:
        assert time.monotonic() < until, "no rows come"
        time.sleep(0.02)


def free_port() -> int:
    with closing(socket.socket()) as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def processes(text: str, parent: int | None = None) -> list[int]:
    """The processes that `parent` started and whose command line contains a text."""
    folders = [f for f in Path("/proc").glob("[0-9]*") if text in _read(f / "cmdline")]
    own = f"PPid:\t{parent}\n"
    return [int(f.name) for f in folders if parent is None or own in _read(f / "status")]


def _read(path: Path) -> str:
    try:
        return path.read_bytes().replace(b"\0", b" ").decode()
    except OSError:  # it has ended
        return ""


def test_another_engine_is_refused():
    with pytest.raises(InputError) as error:
        engine("spark://here", 2)
    assert str(error.value) == (
        "--engine 'spark://here': expected local, dask://HOST:PORT, ray or ray://HOST:PORT; "
        "choose one"
    )


@pytest.mark.parametrize(("name", "extra", "package"), [
    ("dask://127.0.0.1:9", "dask", "distributed"),
    ("ray", "ray", "ray"),
])  # fmt: skip
def test_an_engine_without_its_package_names_the_extra(
    tmp_path: Path, name: str, extra: str, package: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError) as error:
        filled(tmp_path / "rows", SMALL, name)
    assert str(error.value) == (
        f"--engine {extra}: needs {package}, which is not installed: "
        f'pip install "ridgepoint[{extra}]"'
    )


@pytest.mark.slow
def test_local_processes_predict_the_same_rows(tmp_path: Path):
    need("joblib", "none: it is a dependency")
    filled(tmp_path / "rows", SMALL, "local")
    check(tmp_path / "rows", SMALL)


@pytest.mark.slow
def test_the_rows_of_a_killed_local_process_are_predicted_again(tmp_path: Path):
    need("joblib", "none: it is a dependency")
    path = tmp_path / "rows"
    sweep = Thread(target=filled, args=(path, LONG, "local"))
    sweep.start()
    lines(path, 4)
    os.kill(processes("popen_loky", os.getpid())[0], signal.SIGKILL)
    sweep.join()
    check(path, LONG)


class Dask:
    """A scheduler and two workers with one thread each, which import this code."""

    def __init__(self) -> None:
        self.port = free_port()
        self.name = f"dask://127.0.0.1:{self.port}"
        self.scheduler = self._start("scheduler", "--port", str(self.port), "--host", "127.0.0.1")
        self.workers = [self.worker(), self.worker()]

    def worker(self) -> subprocess.Popen[bytes]:
        at = f"tcp://127.0.0.1:{self.port}"
        return self._start("worker", at, "--nthreads", "1", "--no-nanny")

    def _start(self, what: str, *options: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.dask_{what}", *options, "--no-dashboard"]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def end(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()


@pytest.fixture
def dask() -> Iterator[Dask]:
    need("distributed", "dask")
    cluster = Dask()
    time.sleep(3)
    yield cluster
    cluster.end()


@pytest.mark.slow
def test_two_dask_workers_predict_the_same_rows(tmp_path: Path, dask: Dask):
    filled(tmp_path / "rows", SMALL, dask.name)
    check(tmp_path / "rows", SMALL)


@pytest.mark.slow
def test_the_rows_of_a_killed_dask_worker_are_predicted_again(tmp_path: Path, dask: Dask):
    path = tmp_path / "rows"
    sweep = Thread(target=filled, args=(path, LONG, dask.name))
    sweep.start()
    lines(path, 4)
    dask.workers[0].kill()
    sweep.join()
    check(path, LONG)


@pytest.mark.slow
def test_a_scheduler_that_dies_leaves_the_rows_so_far(tmp_path: Path, dask: Dask):
    path = tmp_path / "rows"
    errors: list[str] = []

    def sweep() -> None:
        try:
            filled(path, LONG, dask.name)
        except InputError as error:
            errors.append(str(error))

    running = Thread(target=sweep)
    running.start()
    lines(path, 4)
    dask.scheduler.kill()
    running.join()
    with RowsFile(path, LONG) as file:
        done = len(file)
    assert 0 < done < len(LONG.points)
    assert errors[0].startswith("--engine local: no scheduler responds: ")
    assert errors[0].endswith(
        f": {done:,} of {len(LONG.points):,} rows are in {path}; run the same command again to "
        "continue"
    )
    with RowsFile(path, LONG) as file:
        run(file, engine("local", 1))
    check(path, LONG)


@pytest.fixture
def loopback_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    need("ray", "ray")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")


@pytest.mark.slow
@pytest.mark.usefixtures("loopback_ray")
def test_a_local_ray_predicts_the_same_rows(tmp_path: Path):
    filled(tmp_path / "rows", SMALL, "ray")
    check(tmp_path / "rows", SMALL)


@pytest.mark.slow
@pytest.mark.usefixtures("loopback_ray")
def test_the_rows_of_a_killed_ray_worker_are_predicted_again(tmp_path: Path):
    path = tmp_path / "rows"
    sweep = Thread(target=filled, args=(path, LONG, "ray"))
    sweep.start()
    lines(path, 4)
    os.kill(processes("ray::_called")[0], signal.SIGKILL)
    sweep.join()
    check(path, LONG)


@pytest.mark.usefixtures("unsupervised")
def test_a_worker_takes_the_limits_of_the_command():
    limits = Limits(memory_bytes=2**30)
    DesignTask(SMALL, release(), limits, 5.0)([0])
    assert ISOLATION.limits == limits and WATCH.get() == Watch(5.0)
    WATCH.set(watch := Watch(5.0, print))
    here = pickle.loads(pickle.dumps(task(SMALL)))
    assert here == DesignTask(SMALL, release(), limits, 5.0)
    here([0])
    assert WATCH.get() == watch  # progress is shown as in this process
    DesignTask(SMALL, release())([0])  # a task from a program without limits
    assert ISOLATION.limits is None and WATCH.get() is None


@pytest.mark.slow
@pytest.mark.usefixtures("unsupervised")
@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
def test_local_processes_run_a_users_code_in_children_with_a_time_limit(tmp_path: Path):
    need("joblib", "none: it is a dependency")
    nets, path = tmp_path / "nets.py", tmp_path / "rows"
    nets.write_text(HOSTILE)
    hostile = design(Scenario(f"{nets}:Loops"), {"batch": [1]})
    ISOLATION.begin()
    WATCH.set(Watch(8.0))  # parts of torch are imported in it
    with RowsFile(path, hostile) as file:
        run(file, engine("local", 2))
        refused = summed(file.parts).refused
    assert list(refused) == [0] and "Loops took more than 8 s; it was at nets.py:" in refused[0]
    assert set(nets.with_suffix(".log").read_text().split()) == {"simulator.isolated"}


def test_workers_of_another_release_are_refused():
    task = DesignTask(SMALL, "another")
    with pytest.raises(InputError) as error:
        task([0])
    assert str(error.value) == (
        "--engine: its workers run another release of Ridgepoint than this process: expected the "
        "same release; install it there"
    )
