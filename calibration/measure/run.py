"""Run the sweeps: their order, checks for drift, time limit and progress."""

from __future__ import annotations

import importlib
import random
import re
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TextIO, get_args

import torch

from calibration.measure.instruments.kernels import Kernel
from calibration.measure.log import Log
from calibration.sweeps.registry import OPERATIONS, Kind, Operation, Point
from simulator.errors import InputError, RidgepointError

PACKAGES: dict[str, str] = {
    "library": "calibration.sweeps",
    "cuda": "calibration.cuda",
    "triton": "calibration.fused",
    "generated": "calibration.generated",
    "blind": "calibration.blind",
}
APART = ("generated", "blind")
"""Kinds that are measured only if they are named: generated kernels take minutes to compile, and no
fit uses blind calls."""
BLOCK = 20
"""Points between two timings of the reference."""

DRIFT = 0.02
"""The relative change of the reference above which a block is measured again."""

QUICK_POINTS = 600


def load(kind: Kind | None, say: Callable[[str], None]) -> list[Operation]:
    """Register the points of a kind, or of all kinds except those in `APART`, and return their
    operations. Packages that cannot be imported are skipped, each with a message. Raises InputError
    if no operation is left."""
    for each, package in PACKAGES.items():
        if each in APART and kind != each:
            continue
        try:
            importlib.import_module(package)
        except ImportError as error:
            say(f"{each} points are skipped: {error}")
    every = [each for each in get_args(Kind) if each not in APART]
    kinds = {"triton": ("triton", "chain"), None: every}.get(kind, (kind,))
    operations = [each for each in OPERATIONS.values() if each.kind in kinds]
    if not operations:
        raise InputError(
            f"there is nothing to measure: expected {kind or 'library, cuda or triton'} points, "
            "but none could be imported. Install the missing packages (printed above) or choose "
            "another --kind"
        )
    return operations


def planned(
    operations: Iterable[Operation], quick: bool = False, only: str = "", seed: int = 0
) -> list[Point]:
    """Points in the order of measurement: one of each operation, then all operations interleaved
    evenly, so that every prefix covers them all. `only` is a regular expression on the point's
    name; `quick` thins each sweep evenly. The same arguments give the same order."""
    try:
        pattern = re.compile(only)
    except re.error as error:
        raise InputError(
            f"--only {only!r}: not a regular expression ({error}); expected a pattern for names, "
            "such as 'softmax.*bf16'"
        ) from None
    order = list(operations)
    most = max(2, QUICK_POINTS // max(len(order), 1))
    chance = random.Random(seed)
    keyed: list[tuple[float, Point]] = []
    for each in order:
        points = list(each.quick(most) if quick else each.points)
        chance.shuffle(points)
        points = [point for point in points if pattern.search(point.name)]
        for i, point in enumerate(points):
            place = (i + chance.random()) / len(points)
            keyed.append((place - 1 if i == 0 else place, point))
    if not keyed:
        raise InputError(
            f"--only {only!r} matches none of {sum(len(each.points) for each in order)} points: "
            f"expected part of a name such as {order[0].points[0].name!r}. Change the pattern"
        )
    return [point for _, point in sorted(keyed, key=lambda pair: pair[0])]


class Bench(Protocol):
    """The interface of a bench that times points. `time` and `hold` keep a point's call until its
    kernels are read."""

    def time(self, point: Point) -> dict[str, Any]: ...
    def hold(self, point: Point) -> None: ...
    def full(self) -> bool: ...
    def kernels(self) -> list[tuple[Point, list[Kernel] | str]]: ...
    def reference(self) -> dict[str, float]: ...
    def works(self) -> bool: ...


class Progress:
    """Progress: points done, their total and the time left. Rewrites its line on a terminal;
    elsewhere prints a line every 10 s."""

    def __init__(
        self,
        total: int,
        until_s: float,
        clock: Callable[[], float] = time.perf_counter,
        out: TextIO | None = None,
    ) -> None:
        self.total, self.until_s, self.clock = total, until_s, clock
        self.done = self.failures = 0
        self._began_s = clock()
        self._printed_s = float("-inf")
        self.out = out or sys.stderr

    @property
    def eta_s(self) -> float:
        """Seconds until all points are done at the pace so far, or until the time is up."""
        now_s = self.clock()
        pace_s = (now_s - self._began_s) / self.done if self.done else 0.1
        return max(0.0, min(pace_s * (self.total - self.done), self.until_s - now_s))

    def line(self, name: str) -> str:
        """The text of the progress, such as `120/600 points, 2 failed, 1 min 5 s left:
        softmax(…)`."""
        failed = f", {self.failures} failed" if self.failures else ""
        return f"{self.done}/{self.total} points{failed}, {spoken(self.eta_s)} left: {name}"

    def show(self, name: str) -> None:
        now_s = self.clock()
        terminal = self.out.isatty()
        if now_s - self._printed_s < (0.1 if terminal else 10.0):
            return
        self._printed_s = now_s
        text = self.line(name)
        self.out.write(f"\r\033[K{text[:79]}" if terminal else f"{text}\n")
        self.out.flush()

    def end(self) -> None:
        if self.out.isatty():
            self.out.write("\r\033[K")
            self.out.flush()


def spoken(seconds: float) -> str:
    """The text of a waiting time, such as `4 min 10 s`."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


class Sweep:
    """Measures points into a log, block by block.

    After each block the reference is timed again. If it changed by more than 2%, the block is
    measured a second time, and marked `drifted` if the reference after the second measurement
    agrees with neither of the two earlier references.
    """

    def __init__(
        self, log: Log, bench: Bench, progress: Progress, wall: Callable[[], float] = time.time
    ) -> None:
        self.log, self.bench, self.progress, self.wall = log, bench, progress, wall
        self.process = len(log.measurements.processes) - 1
        self._reserve_s = (
            8.0  # seconds of the longest profiler session so far; the first session is the slowest
        )

    def run(self, points: Sequence[Point]) -> bool:
        """Measure the points that the log lacks; returns False if the time was up before the
        end."""
        before = self._reference()
        block: list[Point] = []
        complete = True
        for point in points:
            if self.progress.clock() + self._reserve_s > self.progress.until_s:
                complete = False
                break
            self.progress.show(point.name)
            if self._one(point):
                block.append(point)
            self.progress.done += 1
            if self.bench.full():
                self._read_kernels()
            if len(block) == BLOCK:
                before = self._close(block, before)
                block = []
        if block:
            self._close(block, before)
        self._read_kernels()
        self.progress.end()
        return complete

    def _one(self, point: Point) -> bool:
        """Time a point; if only its kernels are missing, keep its operands for later. Returns
        whether it was timed.

        If memory is too small, the operands kept so far are released and the point is tried once
        more.
        """
        timed_before = "warm" in self.log.measurements.samples.get(point.name, {})
        attempt = self._hold if timed_before else self._time
        failure, full = attempt(point)
        if full:
            self._read_kernels()
            failure, _ = attempt(point)
        if failure:
            lost = {"kernels": [], "kernels_failed": failure} if timed_before else {}
            self._write(point, lost or {"failed": failure})
            self.progress.failures += 1
            self._go_on(point, failure)
        return not (failure or timed_before)

    def _time(self, point: Point) -> tuple[str, bool]:
        """The reason why a point could not be timed ("" if it was), and whether memory ran out."""
        try:
            sample = self.bench.time(point)
        except Exception as error:  # a sweep's call may raise any error
            return error_line(error), isinstance(error, torch.OutOfMemoryError)
        self._write(point, sample)
        return "", False

    def _hold(self, point: Point) -> tuple[str, bool]:
        try:
            self.bench.hold(point)
        except Exception as error:
            return error_line(error), isinstance(error, torch.OutOfMemoryError)
        return "", False

    def _go_on(self, point: Point, failure: str) -> None:
        if not self.bench.works():
            raise RidgepointError(
                f"{point.name} left CUDA unusable in this process ({failure}). It is marked as "
                "failed, and all samples are kept. To continue, run the same command again"
            )

    def _write(self, point: Point, what: dict[str, Any]) -> None:
        about = {"operation": point.operation, "params": point.params}
        row = {"point": about, **what, "process": self.process, "at_s": round(self.wall(), 1)}
        self.log.write(row)

    def _reference(self) -> dict[str, float]:
        seconds = self.bench.reference()
        self.log.write({"reference": {**seconds, "process": self.process}})
        return seconds

    def _close(self, block: Sequence[Point], before: dict[str, float]) -> dict[str, float]:
        """Time the reference after a block, and measure the block again if the reference changed.
        Return the last reference."""
        after = self._reference()
        if moved(before, after) <= DRIFT:
            return after
        for point in block:
            failure, _ = self._time(point)
            if failure:  # the first timing is used, and marked if the reference changes again
                self._go_on(point, failure)
            if self.bench.full():
                self._read_kernels()
        second = self._reference()
        if min(moved(before, second), moved(after, second)) > DRIFT:
            for point in block:
                self._write(point, {"drifted": True})
        return second

    def _read_kernels(self) -> None:
        began_s = self.progress.clock()
        for point, kernels in self.bench.kernels():
            if isinstance(kernels, str):
                self._write(point, {"kernels": [], "kernels_failed": kernels})
                self._go_on(point, kernels)
            else:
                self._write(point, {"kernels": kernels})
        self._reserve_s = 2.0 + 1.5 * (self.progress.clock() - began_s)


def error_line(error: Exception) -> str:
    """An error in one line, such as `OutOfMemoryError: CUDA out of memory. …`."""
    first = (str(error).splitlines() or [""])[0]
    return f"{type(error).__name__}: {first[:300]}"


def moved(before: dict[str, float], after: dict[str, float]) -> float:
    """The largest relative change of a reference's times."""
    return max(abs(after[name] / before[name] - 1) for name in before)
