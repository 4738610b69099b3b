"""The run of a sweep, with a fake stopwatch and a fake clock."""

import io
from pathlib import Path
from typing import Any

import pytest
import torch

from calibration.measure.instruments.kernels import Kernel
from calibration.measure.log import Log, read
from calibration.measure.run import BLOCK, Progress, Sweep, planned
from calibration.sweeps.registry import Point
from simulator.errors import InputError, RidgepointError
from tests.calibration.measure.conftest import Clock, swept


class FakeBench:
    """Takes one second per point and fails at the given points; `references` are the seconds of the
    reference copy, in order.
    """

    def __init__(self, clock: Clock | None = None, **fails: Any) -> None:
        self.clock = clock or Clock()
        self.fails = fails
        self.references: list[float] = []
        self.timed: list[str] = []
        self.read: list[str] = []
        self.held: list[Point] = []
        self.alive = True

    def time(self, point: Point) -> dict[str, Any]:
        self.clock.now_s += 1
        self.timed.append(point.name)
        if failure := self.fails.get(point.operation):
            raise failure
        if point not in self.held:
            self.held.append(point)
        return {"warm": {"median_s": float(len(self.timed))}}

    def hold(self, point: Point) -> None:
        self.held.append(point)

    def full(self) -> bool:
        return len(self.held) >= 60

    def kernels(self) -> list[tuple[Point, list[Kernel] | str]]:
        held, self.held = self.held, []
        self.read += [point.name for point in held]
        return [(point, [("k", 1e-6, 2e-6)]) for point in held]

    def reference(self) -> dict[str, float]:
        return {"product_s": 1.0, "copy_s": self.references.pop(0) if self.references else 1.0}

    def works(self) -> bool:
        return self.alive


def run(
    path: Path, bench: FakeBench, points: list[Point], until_s: float = 1e9
) -> tuple[bool, Progress]:
    with Log(path, {"gpu": "x"}) as log:
        log.write({"process": {}})
        done = log.measurements.measured - log.measurements.without_kernels
        points = [point for point in points if point.name not in done]
        progress = Progress(len(points), until_s, bench.clock, io.StringIO())
        return Sweep(log, bench, progress, lambda: 5.0).run(points), progress


def test_a_run_measures_all_and_a_second_nothing(tmp_path: Path) -> None:
    path, points = tmp_path / "s.jsonl", planned([swept("add", 45), swept("mul", 80)])
    bench = FakeBench()
    complete, progress = run(path, bench, points)
    assert complete and progress.done == 125
    assert sorted(bench.timed) == sorted(bench.read) == sorted(p.name for p in points)
    parsed = read(path)
    assert parsed.samples["add(n=3)"]["kernels"] == [["k", 1e-6, 2e-6]]
    assert parsed.samples["add(n=3)"]["process"] == 0 and parsed.samples["add(n=3)"]["at_s"] == 5.0
    assert len(parsed.references) == 1 + 125 // BLOCK + 1
    again = FakeBench()
    assert run(path, again, points)[0]
    assert again.timed == again.read == []


def test_a_limit_of_time_ends_early_and_the_rest_follows(tmp_path: Path) -> None:
    path, points = tmp_path / "s.jsonl", planned([swept("add", 50)])
    first = FakeBench()
    assert not run(path, first, points, until_s=38.0)[0]
    assert len(first.timed) == 31  # 8 s are reserved for the last profiler session
    assert sorted(first.read) == sorted(first.timed)
    second = FakeBench()
    assert run(path, second, points)[0]
    assert not set(first.timed) & set(second.timed)
    assert set(first.timed) | set(second.timed) == {p.name for p in points}
    assert read(path).samples[second.timed[0]]["process"] == 1


def test_kernels_lost_in_a_crash_are_read_without_timing_again(tmp_path: Path) -> None:
    path, points = tmp_path / "s.jsonl", planned([swept("add", 30)])

    class Killed(FakeBench):
        def kernels(self) -> Any:
            raise KeyboardInterrupt

    first = Killed()
    with pytest.raises(KeyboardInterrupt):
        run(path, first, points)
    assert len(first.timed) == 30
    second = FakeBench()
    assert run(path, second, points)[0]
    assert second.timed == [] and len(second.read) == 30
    assert not read(path).without_kernels


def test_failures_are_named_and_the_run_continues(tmp_path: Path) -> None:
    bench = FakeBench(bad=ValueError("no such shape\nand more"))
    complete, progress = run(
        tmp_path / "s.jsonl", bench, planned([swept("bad", 2), swept("add", 5)])
    )
    assert complete and progress.failures == 2
    parsed = read(tmp_path / "s.jsonl")
    assert parsed.failed["bad(n=0)"] == "ValueError: no such shape"
    assert "kernels" in parsed.samples["add(n=4)"] and "warm" not in parsed.samples["bad(n=0)"]


def test_out_of_memory_lets_go_and_tries_again(tmp_path: Path) -> None:
    class Small(FakeBench):
        def time(self, point: Point) -> dict[str, Any]:
            if self.held or point.operation == "huge":
                self.timed.append(point.name)
                raise torch.OutOfMemoryError("CUDA out of memory")
            return super().time(point)

    bench = Small()
    assert run(tmp_path / "s.jsonl", bench, planned([swept("add", 3), swept("huge", 1)]))[0]
    parsed = read(tmp_path / "s.jsonl")
    assert parsed.failed == {"huge(n=0)": "OutOfMemoryError: CUDA out of memory"}
    assert sorted(bench.read) == ["add(n=0)", "add(n=1)", "add(n=2)"]
    assert bench.timed.count("huge(n=0)") == 2


def test_a_broken_context_ends_the_run_with_the_sample_marked(tmp_path: Path) -> None:
    path, points = tmp_path / "s.jsonl", planned([swept("bad", 1), swept("add", 3)])
    bench = FakeBench(bad=RuntimeError("CUDA error: illegal memory access"))
    bench.alive = False
    with pytest.raises(RidgepointError, match=r"bad\(n=0\) left CUDA unusable .*run the same"):
        run(path, bench, points)
    second = FakeBench()
    assert run(path, second, points)[0]
    assert "bad(n=0)" not in second.timed and len(read(path).samples) == 4


def test_a_full_disk_is_not_a_failed_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = Log.write

    def full(log: Log, row: dict[str, Any]) -> None:
        if "warm" in row:
            raise InputError("the disk is full")
        write(log, row)

    monkeypatch.setattr(Log, "write", full)
    with pytest.raises(InputError, match="the disk is full"):
        run(tmp_path / "s.jsonl", FakeBench(), planned([swept("add", 3)]))


@pytest.mark.parametrize(
    ("copies", "twice", "drifted"),
    [
        ([1.0, 1.019], False, False),
        # the reference changed once, and the repeated time uses the current one
        ([1.0, 1.03, 1.03], True, False),
        ([1.0, 1.03, 1.0], True, False),  # a passing disturbance
        ([1.0, 1.03, 1.06], True, True),
        ([1.0, 0.97, 0.94], True, True),
    ],
)
def test_a_block_is_repeated_once_where_the_reference_moved(
    tmp_path: Path, copies: list[float], twice: bool, drifted: bool
) -> None:
    bench = FakeBench()
    bench.references = copies
    points = planned([swept("add", BLOCK)])
    run(tmp_path / "s.jsonl", bench, points)
    assert len(bench.timed) == BLOCK * (2 if twice else 1)
    samples = read(tmp_path / "s.jsonl").samples.values()
    assert [s.get("drifted", False) for s in samples] == [drifted] * BLOCK
    assert min(s["warm"]["median_s"] for s in samples) == (BLOCK + 1 if twice else 1)
