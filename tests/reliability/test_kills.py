"""Files under `kill -9`, on a full disk, in a read-only folder, and with two writers."""

from __future__ import annotations

import os
import random
import resource
import signal
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from app.explorer.state.places import FOLDER_VARIABLE, ended_autosaves
from app.lessons import lessons
from simulator.errors import InputError
from simulator.hardware.gpu import gpus
from simulator.symbols.cache import TraceCache, contents
from simulator.timing.profile import learned
from tests.reliability import kills
from tests.reliability.kills import STORES

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows cannot fork")
NOBODY = 65534


def in_child(run: Callable[[], object]) -> str:
    """The error that `run` raises in a separate process."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            run()
            os.write(writer, b"nothing")
        except BaseException as error:
            os.write(writer, f"{type(error).__name__}: {error}".encode()[:4000])
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        text = pipe.read().decode()
    os.waitpid(child, 0)
    return text


@pytest.mark.parametrize("name", STORES)
def test_a_killed_process_leaves_the_old_file_or_the_new_one(name: str, tmp_path: Path) -> None:
    store = STORES[name]
    path = tmp_path / f"file{store.suffix}"
    assert kills.killed(store, path, 8, random.Random(name)) == kills.Outcome(8, [])


@pytest.mark.parametrize("name", STORES)
def test_a_full_disk_keeps_the_old_file(name: str, tmp_path: Path) -> None:
    store = STORES[name]
    path = tmp_path / f"file{store.suffix}"
    store.write(path, 1)
    held = path.stat().st_size

    def fill() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        most = held + 10 if name == "calibration" else 10
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        store.write(path, 2)

    text = in_child(fill)
    assert text.startswith("InputError: ") and "File too large" in text, text
    assert store.read(path) == 1
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("name", STORES)
def test_a_folder_that_cannot_be_written_keeps_the_old_file(name: str) -> None:
    store = STORES[name]
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"file{store.suffix}"
        store.write(path, 1)
        path.chmod(0o444)
        Path(folder).chmod(0o555)

        def write() -> None:
            os.environ.pop("RIDGEPOINT_GPUS", None)
            if os.geteuid() == 0:
                os.setuid(NOBODY)
            store.write(path, 2)

        text = in_child(write)
        Path(folder).chmod(0o755)
        assert text.startswith("InputError: ") and "ermission" in text, text
        assert store.read(path) == 1
        assert [each.name for each in Path(folder).iterdir()] == [path.name]


@pytest.mark.parametrize("name", [name for name in STORES if name != "calibration"])
def test_two_processes_that_write_one_file_leave_one_of_theirs(name: str, tmp_path: Path) -> None:
    store = STORES[name]
    path = tmp_path / f"file{store.suffix}"
    store.write(path, 1)
    children: list[int] = []
    for first in (2, 3):
        child = os.fork()
        children.append(child)
        if child == 0:
            try:
                for n in range(40):
                    store.write(path, first + 2 * n)
                os._exit(0)
            finally:
                os._exit(1)
    while os.waitid(os.P_PID, children[0], os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        assert 1 <= store.read(path) <= 81
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]
    assert store.read(path) in (80, 81)
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_a_second_process_does_not_write_a_log_that_is_open(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with kills.log.Log(path, {"gpu": "Killed"}):
        text = in_child(lambda: kills.log.Log(path, {"gpu": "Killed"}))
    assert text.startswith(InputError.__name__) and "another process" in text, text


LOCKED = [
    lambda folder: learned("h200_sxm"),
    lambda folder: gpus(),
    lambda folder: lessons(),
    lambda folder: contents(folder / "traces"),
    lambda folder: ended_autosaves(),
    lambda folder: TraceCache(folder / "traces").get("name", lambda: kills.EMPTY),
]


@pytest.mark.parametrize("run", LOCKED)
def test_a_users_folder_without_permission_counts_as_empty(run: Callable[[Path], Any]) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name) / "own"
        folder.mkdir(mode=0)

        def locked() -> None:
            for variable in ("RIDGEPOINT_GPUS", "RIDGEPOINT_LESSONS", FOLDER_VARIABLE):
                os.environ.pop(variable, None)
            for variable in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
                os.environ[variable] = str(folder)
            if os.geteuid() == 0:
                os.setuid(NOBODY)
            run(folder)

        assert in_child(locked) == "nothing"
