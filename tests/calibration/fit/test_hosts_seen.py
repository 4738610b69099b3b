"""All hosts with measurements, and the default host as their median."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from datetime import date
from math import exp, hypot, log
from pathlib import Path

import pytest
from msgspec.structs import replace

from calibration.fit import hosts_seen
from calibration.fit.host import at_the_median
from calibration.fit.hosts_seen import STEPS, measured_hosts
from calibration.record.host_rounds import quiet, reference_index
from calibration.record.read import measured_on
from simulator.hardware.host import host
from simulator.hardware.host_speed import Parts, parts

_START = {"adds/fp32/inference/b4s0": 1.0}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of measurements."""
    monkeypatch.setattr(hosts_seen, "MEASUREMENTS", tmp_path)
    return tmp_path


def write(
    folder: Path, name: str, processes: Sequence[Sequence[float | tuple[float, float]]]
) -> None:
    """Write a file of processes, given the time factors of the host around each of their steps: one
    of all its rounds, or one before and one after the step."""
    path = folder / f"{name}.jsonl.gz"
    path.parent.mkdir(exist_ok=True)
    with gzip.open(path, "wt") as out:
        for steps in processes:
            out.write(json.dumps({"host_index": _START}) + "\n")
            for times in steps:
                row = (
                    {"rounds": [{"probes": probes(times)}]}
                    if isinstance(times, float)
                    else {"probes": [probes(each) for each in times]}
                )
                out.write(json.dumps({"case": {}, **row}) + "\n")


def probes(times: float) -> dict[str, list[float]]:
    """The probes of a host that takes `times` as long as the reference."""
    return {name: [seconds * times] for name, seconds in quiet().items()}


def test_the_default_host_is_the_median_of_all_within_two_percent() -> None:
    hosts, default = measured_hosts(), parts(host().reference, reference_index())
    assert hosts.processes == 42
    assert [round(x, 3) for x in hosts.median] == [1.577, 1.488, 1.488]
    assert [*default] == pytest.approx([*hosts.median], rel=0.02)
    # 10% of the steps took less than 0.67 times the median and 10% more than 1.35 times, including
    # the model's own errors
    assert hosts.spread == (0.67, 1.35)
    assert host().spread == pytest.approx(hosts.spread, rel=0.02)
    # machines with H100s were busy most of the time
    assert hosts.spread_with == {"h100_sxm": (0.72, 1.37), "h200_sxm": (0.65, 1.34)}
    for gpu, spread in hosts.spread_with.items():
        assert host().spread_with[gpu] == pytest.approx(spread, rel=0.02)
    # in a tenth of the moments, the slower of two ranks on a machine takes less than 0.67 times the
    # median; in another tenth, more than 1.34 times
    assert hosts.slowest[2] == (1.06, 0.67, 1.34)
    for ranks, slowest in hosts.slowest.items():
        assert host().slowest[ranks] == pytest.approx(slowest, rel=0.02)


def test_a_host_is_scaled_to_the_median() -> None:
    """A host that takes twice as long in all its work becomes the default host."""
    default = host()
    twice = {name: 2 * seconds for name, seconds in default.reference.items()}
    slow = replace(default.slower(2.0), reference=twice, spread=(0.5, 2.0))
    scaled = at_the_median(slow)
    assert scaled.seconds == pytest.approx(default.seconds, rel=2e-3)
    assert scaled.reference == pytest.approx(default.reference, rel=1e-4)
    assert (scaled.spread, scaled.slowest) == (default.spread, default.slowest)
    assert scaled.source.startswith("the median of 42 processes with H200s and H100s; ")


def test_each_process_counts_with_the_mean_of_its_steps(folder: Path) -> None:
    write(folder, "h200_sxm/packages", [[(1.0, 3.0), *[3.0] * 9], [2.0] * 40])
    write(folder, "h100_sxm/own", [[5.0] * STEPS])
    hosts = measured_hosts()
    assert hosts.processes == 3
    # the median of 2.9, 2 and 5; a step with probes before and after it counts with their mean
    assert [*hosts.median] == pytest.approx([2.9, 2.9, 2.9])


def test_a_process_without_enough_timed_steps_does_not_count(folder: Path) -> None:
    write(folder, "h200_sxm/own", [[9.0] * (STEPS - 1), [], [2.0] * STEPS])
    assert measured_hosts().processes == 1
    assert measured_hosts().median.driver == pytest.approx(2.0)


def test_a_gpu_has_a_spread_of_its_own_from_ten_processes_on(folder: Path) -> None:
    write(folder, "h100_sxm/samples", [[2.0] * STEPS] * 10)
    write(folder, "h200_sxm/samples", [[1.0] * STEPS] * 9)
    hosts = measured_hosts()
    assert hosts.median.driver == pytest.approx(2.0)
    assert hosts.spread_with == {"h100_sxm": (0.8, 1.25)}  # the model's error alone


def test_the_slowest_of_several_ranks_follows_from_independent_draws(folder: Path) -> None:
    # speeds spread evenly between 1 and 2
    write(folder, "h200_sxm/samples", [[1 + each / 100] * STEPS for each in range(101)])
    hosts = measured_hosts()
    assert hosts.median.driver == pytest.approx(1.5)
    # the median of the largest of two is 1 + √0.5, and of sixteen 1 + 0.5 ** (1 / 16)
    assert [hosts.slowest[n][0] for n in (2, 16)] == [
        round(1.7071 / 1.5, 2),
        round(1.9576 / 1.5, 2),
    ]


def test_ranks_of_one_machine_are_disturbed_independently(folder: Path) -> None:
    # one moment in ten is disturbed in the first process; the second, quiet process has the same
    # weight
    write(folder, "h200_sxm/samples", [[1.0] * 9 + [3.0], [1.0] * STEPS])
    hosts = measured_hosts()
    assert hosts.median.driver == pytest.approx(1.1)  # of 1.2 and 1
    # Of two ranks, at least one is disturbed in 1 - 0.9² = 19% of the moments of the first process,
    # which is 9.5% of all moments; of four ranks, in 1 - 0.9⁴ = 34%, which is 17% of all. Only the
    # latter exceeds a tenth.
    two, four = hosts.slowest[2], hosts.slowest[4]
    quiet_, disturbed = 1 / 1.1, 3 / 1.1
    middle = [(1 + 0.2 * 0.5 ** (1 / n)) / 1.1 for n in (2, 4)]
    assert [two[0], four[0]] == [round(each, 2) for each in middle]
    assert two[2] < 1.3 * quiet_ / middle[0]
    assert four[2] == pytest.approx(exp(hypot(log(disturbed / middle[1]), log(1.25))), abs=0.005)


def test_each_process_is_listed_with_the_day_of_its_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one = hosts_seen.Process("h100_sxm/own.jsonl.gz", [Parts(2.0, 1.5, 1.5)] * STEPS)
    monkeypatch.setattr(hosts_seen, "processes", lambda: [one])
    hosts_seen.main()
    line, _ = capsys.readouterr().out.splitlines()
    assert line == " 2.00  1.50  h100_sxm/own.jsonl.gz, during 10 steps on 2026-11-23"


def test_every_process_has_a_date() -> None:
    for process in hosts_seen.processes():
        gpu, _, name = process.file.partition("/")
        assert date(2026, 11, 21) <= measured_on(name.removesuffix(".jsonl.gz"), gpu)
