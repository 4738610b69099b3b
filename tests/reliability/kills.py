"""Processes that are killed while they write: is each file the old one or the new one?

    python -m tests.reliability.kills --points 500 --record

A child process writes one version after the other, until `kill -9` at a random moment; the file
must then hold the last version that was written, or the one after it. A calibration's log must hold
every sample that was written, each once. The exit status is 1 if a file is neither.
"""

from __future__ import annotations

import argparse
import mmap
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import msgspec

from app import outputs
from app.explorer.state import session_file
from app.explorer.state.session import NamedScenario, State
from calibration.measure import log
from simulator.formats import trace_file
from simulator.hardware import gpu_keys
from simulator.hardware.gpu import gpu
from simulator.hardware.gpu_file import read as read_gpu
from simulator.records import Trace
from simulator.scenario import scenario
from simulator.scenario.scenario import Scenario
from tests.reliability import promises

_LINES = 2000
EMPTY = Trace((), (), "inference", None, 1, None, 0, 0, (), "2.13", "h200_sxm")  # pyright: ignore
_GPU = gpu_keys.table(gpu("h200"))


class Store(NamedTuple):
    """A kind of file: `write(path, version)`, and `read(path)`, which returns the version."""

    suffix: str
    write: Callable[[Path, int], object]
    read: Callable[[Path], int]


class Outcome(NamedTuple):
    """The number of kills, and the faults of the file after them."""

    kills: int
    faults: list[str]


def _write_gpu(path: Path, version: int) -> None:
    gpu_keys.save({**_GPU, "name": "Killed", "aliases": (), "tdp_w": 100 + version}, path)


def _write_session(path: Path, version: int) -> None:
    state = State((NamedScenario("Today", Scenario("mlp-tiny", batch=version)),))
    session_file.save(path, state)


def _read_session(path: Path) -> int:
    return session_file.load(path)[0].sides[0].scenario.batch or 0


def _write_lines(path: Path, version: int) -> None:
    outputs.write("--csv", str(path), f"{version}\n" * _LINES)


def _read_lines(path: Path) -> int:
    lines = path.read_text("utf-8").splitlines()
    if len(lines) != _LINES or len(set(lines)) != 1:
        raise ValueError(f"{len(lines)} lines of {sorted(set(lines))}")
    return int(lines[0])


def _write_log(path: Path, version: int) -> None:
    with log.Log(path, {"gpu": "Killed"}) as file:
        file.write({"name": f"sample {version}", "warm": [1e-6] * 50})


def _read_log(path: Path) -> int:
    """The number of samples, which must be 1, 2, 3 …"""
    decoded = map(log.decoded, path.read_bytes().splitlines(keepends=True))
    names = [row["name"] for row in decoded if row is not None and "name" in row]
    if names != [f"sample {n + 1}" for n in range(len(names))]:
        raise ValueError(f"rows {names[-3:]}")
    return len(names)


STORES = {
    "scenario": Store(
        ".toml",
        lambda path, n: scenario.save(Scenario("mlp-tiny", batch=n), path),
        lambda path: scenario.load(path).batch or 0,
    ),
    "session": Store(".ridge", _write_session, _read_session),
    "trace": Store(
        ".rpt",
        lambda path, n: trace_file.save(msgspec.structs.replace(EMPTY, samples=n), path),
        lambda path: trace_file.load(path).samples,
    ),
    "GPU": Store(".toml", _write_gpu, lambda path: round(read_gpu(path)["tdp_w"]) - 100),
    "table": Store(".csv", _write_lines, _read_lines),
    "calibration": Store(".jsonl", _write_log, _read_log),
}


def killed(store: Store, path: Path, points: int, random_s: random.Random) -> Outcome:
    """Kill the writer of a file at `points` random moments, and read the file each time."""
    written = mmap.mmap(-1, 8)  # the last version that was written in full, shared with the child
    faults: list[str] = []
    version = 1
    store.write(path, version)
    for _ in range(points):
        written[:] = version.to_bytes(8, "little")
        child = os.fork()
        if child == 0:
            _write_for_ever(store, path, written, version)
        while int.from_bytes(written[:], "little") == version and not _ended(child):
            time.sleep(1e-4)
        time.sleep(random_s.uniform(0, 5e-3))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        ended = int.from_bytes(written[:], "little")
        try:
            version = store.read(path)
        except Exception as error:
            faults.append(f"after version {ended}: {error!r}")
            path.unlink(missing_ok=True)
            version = 1
            store.write(path, version)
            continue
        if version not in (ended, ended + 1):
            faults.append(f"version {version} after version {ended} was written")
    return Outcome(points, faults)


def _write_for_ever(store: Store, path: Path, written: mmap.mmap, version: int) -> None:
    try:
        while True:
            version += 1
            store.write(path, version)
            written[:] = version.to_bytes(8, "little")
    finally:
        os._exit(1)


def _ended(child: int) -> bool:
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--points", type=int, default=500, help="kills of all kinds of files")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--record", action="store_true", help="write the row of tests/README.md")
    options = parser.parse_args()
    seeded = random.Random(options.seed)
    points = -(-options.points // len(STORES))
    faults: list[str] = []
    with TemporaryDirectory() as folder:
        for name, store in STORES.items():
            path = Path(folder) / f"{name}{store.suffix}"
            outcome = killed(store, path, points, seeded)
            faults += [f"{name}: {fault}" for fault in outcome.faults]
            print(f"{name}: {outcome.kills} kills, {len(outcome.faults)} faults", flush=True)
    print(*faults, sep="\n")
    figure = f"{points * len(STORES)} kills of the writers of {', '.join(STORES)}: "
    figure += f"{len(faults)} faults"
    if options.record:
        command = f"python -m tests.reliability.kills --points {options.points}"
        promises.write("a killed process leaves the old file or the new one", command, figure)
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
