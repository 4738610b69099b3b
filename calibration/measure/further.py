"""Measure the kernels of many more points, drawn as those of the sweeps.

`python -m calibration.measure.further FILE --kind blind --times 30 --seconds 300` draws 30 times as
many points as the sweeps have, all different from theirs. It writes a log with the kernels of each
point, warm and cold. Calls are not timed separately: a point takes about 10 ms. Run it again to
continue after a call that left CUDA unusable.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterable
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import torch

from calibration.measure.instruments.device import find, versions
from calibration.measure.instruments.kernels import Kernel, kernels_of
from calibration.measure.instruments.timing import profiled
from calibration.measure.log import Log
from calibration.measure.run import error_line, load
from calibration.sweeps.registry import Call, Operation, Point

_AT_ONCE = 120
"""The number of points in one profiler session."""
_RUNS = 3


def drawn(
    operations: Iterable[Operation], times: float, only: str, word: str = "further"
) -> list[Point]:
    """Further points, with all operations interleaved evenly, so that every prefix covers them
    all."""
    rng = random.Random(0)
    placed: list[tuple[float, Point]] = []
    for each in operations:
        further = each.further(times, word) if re.search(only, each.name) else ()
        placed += [((i + rng.random()) / len(further), p) for i, p in enumerate(further)]
    return [point for _, point in sorted(placed, key=lambda pair: pair[0])]


def read(path: str, points: int) -> list[list[Kernel]]:
    """The kernels of a session's points; the session's file is deleted."""
    events = json.loads(Path(path).read_text(encoding="utf-8"))["traceEvents"]
    Path(path).unlink()
    return kernels_of(events, points)


class Sessions:
    """Collects calls and profiles them together. Other processes read each session, and this class
    writes their results."""

    def __init__(self, log: Log, readers: ProcessPoolExecutor, folder: str) -> None:
        self.log, self.readers, self.folder = log, readers, Path(folder)
        self.calls: list[tuple[Point, Call]] = []
        self.reading: deque[tuple[list[Point], Future[list[list[Kernel]]]]] = deque()
        self.count = 0

    def add(self, point: Point) -> None:
        """Make a point's call and run it once. Raises the errors of the call."""
        with torch.device("cuda"):
            call = point.make()
        call()
        self.calls.append((point, call))
        if len(self.calls) >= _AT_ONCE or torch.cuda.memory_allocated() > 30e9:
            self.profile()

    def profile(self) -> None:
        """Run all calls under the profiler and release them."""
        points = [point for point, _ in self.calls]
        path = self.folder / f"{self.count}.json"
        self.count += 1
        try:
            profiled([call for _, call in self.calls], [_RUNS] * len(points), path)
            self.reading.append((points, self.readers.submit(read, str(path), len(points))))
        except Exception as error:  # a call may raise any error; its whole session is lost
            for point in points:
                self.write(point, {"kernels": [], "kernels_failed": error_line(error)})
        self.calls.clear()
        torch.cuda.empty_cache()
        self.collect(most=8)

    def collect(self, most: int = 0) -> None:
        """Write the sessions that have been read; wait until at most `most` are left."""
        while self.reading and (len(self.reading) > most or self.reading[0][1].done()):
            points, future = self.reading.popleft()
            for point, kernels in zip(points, future.result(), strict=True):
                self.write(point, {"kernels": kernels})

    def write(self, point: Point, row: dict[str, object]) -> None:
        """Add a line about a point to the log."""
        self.log.write({"point": {"operation": point.operation, "params": point.params}, **row})


def main() -> int:
    """Measure until the time limit. Returns exit status 3 if CUDA became unusable."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--kind", choices=("library", "blind"), default="library")
    parser.add_argument("--times", type=float, default=1.0)
    parser.add_argument("--only", default="", help="regular expression on operations")
    parser.add_argument("--word", default="further", help="seed of the drawn points")
    parser.add_argument("--seconds", type=float, default=300.0)
    options = parser.parse_args()
    until_s = time.perf_counter() + options.seconds
    points = drawn(load(options.kind, print), options.times, options.only, options.word)
    return measure(points, options.file, until_s)


def measure(points: Iterable[Point], path: Path, until_s: float) -> int:
    """Measure the points that the log lacks, in order, until the time limit. Returns exit status 3
    if CUDA became unusable."""
    device = find()
    header = {"gpu": device.name, "sheet": device.sheet, **versions()}
    torch.cuda.set_stream(torch.cuda.Stream())
    with (
        Log(path, header) as log,
        ProcessPoolExecutor(4, get_context("spawn")) as readers,
        tempfile.TemporaryDirectory() as folder,
    ):
        sessions = Sessions(log, readers, folder)
        remaining = [point for point in points if point.name not in log.measurements.samples]
        print(f"{len(remaining)} points are left", flush=True)
        for count, point in enumerate(remaining):
            if time.perf_counter() > until_s:
                break
            if count % 2000 == 0:
                print(f"{count} points, {until_s - time.perf_counter():.0f} s left", flush=True)
            try:
                sessions.add(point)
            except Exception as error:  # a draw may be a call without a kernel
                sessions.write(point, {"failed": error_line(error)})
                if not works():
                    sessions.collect()
                    return 3
        sessions.profile()
        sessions.collect()
    return 0


def works() -> bool:
    """Whether CUDA still works in this process."""
    try:
        torch.cuda.synchronize()
    except RuntimeError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
