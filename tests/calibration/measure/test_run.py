"""The run of a sweep, with a stopwatch and a clock that are not real."""

import io
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from calibration import __main__ as command
from calibration.measure import run as measure
from calibration.measure.host_index import ON_CPU, ON_GPU, index, suite
from calibration.measure.kernels import Kernel
from calibration.measure.log import Log, read
from calibration.measure.run import BLOCK, Progress, Sweep, load, planned, spoken
from calibration.sweeps.registry import Operation, Point
from simulator.errors import InputError, RidgepointError

ROOT = Path(__file__).parents[3]


def swept(name: str, count: int) -> Operation:
    return Operation(
        name, "library", lambda n: int, tuple(Point(name, {"n": n}) for n in range(count))
    )


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


class FakeBench:
    """Takes a second a point; fails as told; `references` are its copy's seconds, in turn."""

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
        done = log.found.measured - log.found.without_kernels
        points = [point for point in points if point.name not in done]
        progress = Progress(len(points), until_s, bench.clock, io.StringIO())
        return Sweep(log, bench, progress, lambda: 5.0).run(points), progress


def test_every_prefix_of_the_plan_covers_all_operations() -> None:
    operations = [swept("many", 900), swept("some", 90), swept("one", 1)]
    points = planned(operations)
    assert len({point.name for point in points}) == len(points) == 991
    assert {point.operation for point in points[:3]} == {"many", "some", "one"}
    half = [point.operation for point in points[:496]]
    assert 430 <= half.count("many") <= 470 and 35 <= half.count("some") <= 55
    assert points == planned(operations)
    assert points != planned(operations, seed=1)
    assert [p.params["n"] for p in points if p.operation == "many"] != [*range(900)]


def test_a_quick_plan_is_thin_everywhere() -> None:
    operations = [swept(f"op{i}", 100) for i in range(60)]
    points = planned(operations, quick=True)
    assert len(points) == 600  # 600 over 60 operations are 10 each, every tenth point
    assert {point.params["n"] % 10 for point in points} == {0}
    assert len(planned([swept("op", 3)], quick=True)) == 3


def test_only_some_names() -> None:
    operations = [swept("add", 12), swept("mul", 12)]
    assert {p.name for p in planned(operations, only=r"^add\(n=1.?\)")} == {
        "add(n=1)",
        "add(n=10)",
        "add(n=11)",
    }
    with pytest.raises(InputError, match=r"leaves no point of 24: .* such as 'add\(n=0\)'"):
        planned(operations, only="nothing")
    with pytest.raises(InputError, match=r"--only '\(': not a regular expression"):
        planned(operations, only="(")


def test_what_cannot_be_imported_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "OPERATIONS", {"add": swept("add", 1)})
    monkeypatch.setattr(measure, "PACKAGES", {"library": "json", "triton": "no_such_package"})
    said: list[str] = []
    assert [each.name for each in load(None, said.append)] == ["add"]
    assert said == ["triton points are left out: No module named 'no_such_package'"]
    with pytest.raises(InputError, match="nothing to measure: expected triton points"):
        load("triton", said.append)


def test_progress_says_what_is_left() -> None:
    clock = Clock()
    out = io.StringIO()
    progress = Progress(100, until_s=500.0, clock=clock, out=out)
    assert progress.eta_s == pytest.approx(10.0)  # 0.1 s a point, before any was timed
    clock.now_s, progress.done = 40.0, 20
    assert progress.eta_s == 160.0  # 2 s each for 80
    assert progress.line("add") == "20/100 points, 2 min 40 s left: add"
    progress.failures, clock.now_s = 3, 480.0
    assert progress.line("add") == "20/100 points, 3 failed, 20 s left: add"  # then time is over
    for clock.now_s in (480.0, 485.0, 491.0):
        progress.show("add")
    assert len(out.getvalue().splitlines()) == 2  # one in 10 s
    assert spoken(59.6) == "1 min 0 s" and spoken(9.4) == "9 s"


def test_a_run_measures_all_and_a_second_nothing(tmp_path: Path) -> None:
    path, points = tmp_path / "s.jsonl", planned([swept("add", 45), swept("mul", 80)])
    bench = FakeBench()
    complete, progress = run(path, bench, points)
    assert complete and progress.done == 125
    assert sorted(bench.timed) == sorted(bench.read) == sorted(p.name for p in points)
    found = read(path)
    assert found.samples["add(n=3)"]["kernels"] == [["k", 1e-6, 2e-6]]
    assert found.samples["add(n=3)"]["process"] == 0 and found.samples["add(n=3)"]["at_s"] == 5.0
    assert len(found.references) == 1 + 125 // BLOCK + 1
    again = FakeBench()
    assert run(path, again, points)[0]
    assert again.timed == again.read == []


def test_a_limit_of_time_ends_early_and_the_rest_follows(tmp_path: Path) -> None:
    path, points = tmp_path / "s.jsonl", planned([swept("add", 50)])
    first = FakeBench()
    assert not run(path, first, points, until_s=38.0)[0]
    assert len(first.timed) == 31  # 8 s are kept for the last profiler session
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


def test_failures_are_named_and_the_run_goes_on(tmp_path: Path) -> None:
    bench = FakeBench(bad=ValueError("no such shape\nand more"))
    complete, progress = run(
        tmp_path / "s.jsonl", bench, planned([swept("bad", 2), swept("add", 5)])
    )
    assert complete and progress.failures == 2
    found = read(tmp_path / "s.jsonl")
    assert found.failed["bad(n=0)"] == "ValueError: no such shape"
    assert "kernels" in found.samples["add(n=4)"] and "warm" not in found.samples["bad(n=0)"]


def test_out_of_memory_lets_go_and_tries_again(tmp_path: Path) -> None:
    class Small(FakeBench):
        def time(self, point: Point) -> dict[str, Any]:
            if self.held or point.operation == "huge":
                self.timed.append(point.name)
                raise torch.OutOfMemoryError("CUDA out of memory")
            return super().time(point)

    bench = Small()
    assert run(tmp_path / "s.jsonl", bench, planned([swept("add", 3), swept("huge", 1)]))[0]
    found = read(tmp_path / "s.jsonl")
    assert found.failed == {"huge(n=0)": "OutOfMemoryError: CUDA out of memory"}
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


def test_a_full_disk_is_no_failed_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
        ([1.0, 1.03, 1.03], True, False),  # it moved once, and the repeat stands where it is now
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


def test_the_host_suite_on_the_cpu() -> None:
    asked: list[tuple[float, str]] = []

    def timed(step: Any, budget_s: float, device: str) -> Any:
        step()
        asked.append((budget_s, device))
        return SimpleNamespace(median_s=len(asked) * 1e-3)

    threads = torch.get_num_threads()
    found = suite(False, timed)
    assert torch.get_num_threads() == threads
    assert [name.split("/")[0] for name in found] == [*ON_CPU]
    assert found["views/fp32/inference/b4s0@cpu"] == 1e-3
    assert set(asked) == {(0.25, "cpu")}
    assert 0.25 * (len(ON_CPU) + len(ON_GPU)) <= 5


def test_the_index_is_a_median_of_ratios() -> None:
    reference = {"a": 1.0, "b": 2.0, "c": 4.0, "other": 1.0}
    assert index({"a": 2.0, "b": 3.0, "c": 40.0, "more": 9.0}, reference) == 2.0  # of 2, 1.5, 10
    assert index(reference, reference) == 1.0
    with pytest.raises(InputError, match="no host case in common: x came, expected some of a, b"):
        index({"x": 1.0}, reference)


def test_measuring_the_host_needs_no_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        "calibration.measure.host_index.suite", lambda gpu: {"views@cpu": 2e-6, "gpu": gpu}
    )
    for _ in range(2):
        command.run(["measure", str(tmp_path), "--host-only"])
    found = read(tmp_path / "host.jsonl")
    assert found.header["gpu"] is None and "logical cores" in found.header["cpu"]
    assert [p["host_index"]["views@cpu"] for p in found.processes] == [2e-6, 2e-6]
    assert [p["host_index"]["gpu"] for p in found.processes] == [False, False]
    assert "2.0 µs  views@cpu" in capsys.readouterr().err


def test_fit_and_validate_pass_their_options_on(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []
    fake = SimpleNamespace(main=lambda: seen.append([*sys.argv]))
    for name in ("fit.host", "fit.gpu", "fit.folder", "validate.report"):
        monkeypatch.setitem(sys.modules, f"calibration.{name}", fake)
    before = [*sys.argv]
    command.run(["fit"])
    command.run(["fit", "a folder"])
    command.run(["validate", "--write", "--json", "a file"])
    assert seen == [
        ["fit.host"],
        ["fit.gpu"],
        ["fit.folder", "a folder"],
        ["validate.report", "--write", "--json", "a file"],
    ]
    monkeypatch.setattr(command, "measure", lambda options: seen.append([str(options.folder)]))
    seen.clear()
    command.run(["all", "here", "--quick"])
    assert seen == [["here"], ["fit.folder", "here"], ["validate.report"]]
    assert sys.argv == before


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        raise ModuleNotFoundError(name="msgspec")

    monkeypatch.setattr("importlib.import_module", absent)
    with pytest.raises(InputError, match=r"fit.host needs the package msgspec, .*copy the meas"):
        command.run(["fit"])


@pytest.mark.parametrize("arguments", [["measure", "--speed"], ["measure", "--seconds", "-1"], []])
def test_wrong_options(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        command.run(arguments)
    assert caught.value.code == 2
    assert re.search(r"unknown: --speed|expected seconds above 0|COMMAND", capsys.readouterr().err)


INTERRUPTED = """
import signal, sys, time
from calibration import __main__ as command
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
def measure(options):
    print("go", flush=True)
    time.sleep(60)
command.measure = measure
sys.argv = ["calibration", "measure"]
command.main()
"""


def test_ctrl_c_ends_cleanly() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "go\n"
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "everything measured so far is kept" in said and "Traceback" not in said
