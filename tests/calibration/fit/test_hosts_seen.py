"""All hosts with measurements, and the default host as their median."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from calibration.fit import hosts_seen
from calibration.fit.hosts_seen import measured_hosts
from calibration.record.host_rounds import quiet, reference_index
from simulator.hardware.host import host
from simulator.hardware.host_speed import parts

INDEX = {"adds/fp32/inference/b4s0": 1.0}


def test_files_of_one_night_count_once_and_others_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = {
        "h200_sxm/recordings": [1.0, 3.0],  # one process together with the next, with the median 2
        "h200_sxm/compiled_validation": [2.0],
        "h200_sxm/compiled_validation_second": [4.0],
        "h100_sxm/recordings": [8.0],  # another machine
    }
    for name, seconds in times.items():
        path = tmp_path / f"{name}.jsonl.gz"
        path.parent.mkdir(exist_ok=True)
        with gzip.open(path, "wt") as out:
            for each in seconds:
                out.write(json.dumps({"host_index": dict.fromkeys(INDEX, each)}) + "\n")
    monkeypatch.setattr(hosts_seen, "MEASUREMENTS", tmp_path)
    hosts = measured_hosts(INDEX)
    assert (hosts.processes, hosts.median.driver) == (3, 4.0)  # of 2, 4 and 8


def test_the_default_host_is_the_median_of_all_within_three_percent() -> None:
    reference = reference_index()
    hosts, default = measured_hosts(reference), parts(host().reference, reference)
    # the default is that of the first 81 processes; three came later, two of them on a slow machine
    assert hosts.processes == 84
    assert [round(x, 3) for x in hosts.median] == [1.332, 1.32, 1.32]
    assert [round(x, 3) for x in default] == [1.289, 1.289, 1.289]
    # 10% of the steps took less than 0.74 of the median, 10% more than 1.44 times, with the
    # model's own errors
    assert hosts.spread == (0.74, 1.44)
    assert host().spread == pytest.approx(hosts.spread, rel=0.03)
    # machines with H100s were busy most of the time
    assert hosts.spread_with == {"h100_sxm": (0.81, 1.56), "h200_sxm": (0.72, 1.37)}
    for gpu, spread in hosts.spread_with.items():
        assert host().spread_with[gpu] == pytest.approx(spread, rel=0.03)
    # of two draws with a median of 1, a tenth of the largest ones are below the 32nd percentile
    assert hosts.slowest[2] == (1.15, 0.71, 1.31)
    for ranks, slowest in hosts.slowest.items():
        assert host().slowest[ranks] == pytest.approx(slowest, rel=0.03)


def test_a_gpu_has_a_spread_of_its_own_from_ten_processes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for gpu, seconds in {"h100_sxm": [2.0] * 10, "h200_sxm": [1.0] * 9}.items():
        path = tmp_path / gpu / "samples.jsonl.gz"
        path.parent.mkdir()
        with gzip.open(path, "wt") as out:
            for each in seconds:
                out.write(json.dumps({"host_index": dict.fromkeys(INDEX, each)}) + "\n")
    monkeypatch.setattr(hosts_seen, "MEASUREMENTS", tmp_path)
    monkeypatch.setattr(hosts_seen, "_ONE_PROCESS", ())
    hosts = measured_hosts({**INDEX})
    assert hosts.median.driver == 2.0
    assert hosts.spread_with == {"h100_sxm": (0.84, 1.19)}  # the model's errors alone


def test_the_slowest_of_several_ranks_follows_from_independent_draws(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "h200_sxm" / "samples.jsonl.gz"
    path.parent.mkdir()
    with gzip.open(path, "wt") as out:
        for each in range(101):  # evenly between 1 and 2
            out.write(json.dumps({"host_index": dict.fromkeys(INDEX, 1 + each / 100)}) + "\n")
    monkeypatch.setattr(hosts_seen, "MEASUREMENTS", tmp_path)
    monkeypatch.setattr(hosts_seen, "_ONE_PROCESS", ())
    hosts = measured_hosts(INDEX)
    assert hosts.median.driver == 1.5
    # the median of the largest of two is 1 + √0.5, and of sixteen 1 + 0.5 ** (1 / 16)
    assert [hosts.slowest[n][0] for n in (2, 16)] == [
        round(1.7071 / 1.5, 2),
        round(1.9576 / 1.5, 2),
    ]


def test_probes_beside_the_steps_count_before_the_index_of_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick, slow = ({name: [s * times] for name, s in quiet().items()} for times in (1.0, 3.0))
    path = tmp_path / "h200_sxm" / "packages.jsonl.gz"
    path.parent.mkdir()
    with gzip.open(path, "wt") as out:
        for row in (
            {"host_index": dict.fromkeys(INDEX, 9.0)},
            {"case": {}, "probes": [quick, slow]},
            {"case": {}, "rounds": [{"probes": slow}]},
        ):
            out.write(json.dumps(row) + "\n")
    monkeypatch.setattr(hosts_seen, "MEASUREMENTS", tmp_path)
    hosts = measured_hosts(INDEX)
    assert hosts.processes == 1  # whose steps took 2, the mean of 1 and 3, and 3
    assert [round(x, 6) for x in hosts.median] == [2.5, 2.5, 2.5]


def test_a_process_without_probes_is_scaled_by_those_that_have_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One process took 1.5 times as long beside its steps as at its start, so the others did."""
    slow = {name: [1.5 * s] for name, s in quiet().items()}
    files = {
        "packages": [{"host_index": INDEX}, *[{"case": {}, "probes": [slow, slow]}] * 2],
        "own": [{"host_index": dict.fromkeys(INDEX, 2.0)}],
        "mixtures": [{"host_index": dict.fromkeys(INDEX, 4.0)}],
    }
    (tmp_path / "h200_sxm").mkdir()
    for name, rows in files.items():
        with gzip.open(tmp_path / "h200_sxm" / f"{name}.jsonl.gz", "wt") as out:
            out.writelines(json.dumps(row) + "\n" for row in rows)
    monkeypatch.setattr(hosts_seen, "MEASUREMENTS", tmp_path)
    assert measured_hosts(INDEX).median.driver == pytest.approx(3.0)  # of 1.5, 2 × 1.5, 4 × 1.5
