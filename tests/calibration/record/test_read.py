"""The times measured after PyTorch's profiler had run in the process, the cost of its hooks, and
the processes and the day of a file."""

from __future__ import annotations

import gzip
import json
from datetime import date
from pathlib import Path

import pytest

from calibration.record import read
from calibration.record.profiler_hooks import hooked
from calibration.record.read import host_indexes, measured_on, timed
from simulator.errors import InputError
from simulator.hardware.host import host

TIMES = {"period": {"median_s": 1.0}, "latency": {"median_s": 1.0}}
ROW = {**TIMES, "case": {"name": "a"}, "gpu_busy_s": 1.0, "kernels": 1, "peak_bytes": 1}


def test_the_first_case_of_a_process_alone_was_timed_before_the_profiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = {"host_index": {"adds": 1.0}}
    failed = {"case": {"name": "b"}, "failed": "no such layer"}
    rows = [process, failed, ROW, ROW, process, ROW]
    (tmp_path / "gpu").mkdir()
    with gzip.open(tmp_path / "gpu" / "suite.jsonl.gz", "wt") as out:
        out.write("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.setattr(read, "MEASUREMENTS", tmp_path)
    profiled = [(step.profiled, step.twin_profiled) for step in timed("suite", "gpu")]
    assert profiled == [(False, True), (True, True), (False, True)]


def test_no_case_was_where_all_were_timed_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = {"host_index": {"adds": 1.0}, "profiled": "after all cases were timed"}
    (tmp_path / "gpu").mkdir()
    with gzip.open(tmp_path / "gpu" / "suite.jsonl.gz", "wt") as out:
        out.write("".join(json.dumps(row) + "\n" for row in (process, ROW, ROW)))
    monkeypatch.setattr(read, "MEASUREMENTS", tmp_path)
    profiled = [(step.profiled, step.twin_profiled) for step in timed("suite", "gpu")]
    assert profiled == [(False, False)] * 2


def test_hooks_lengthen_launches_as_much_as_the_host_is_slow() -> None:
    calm = host()
    assert hooked(calm).launch_s == pytest.approx(calm.launch_s + 3.9e-6)
    assert hooked(calm.slower(2)).launch_s == pytest.approx(2 * (calm.launch_s + 3.9e-6))
    rest = {name: s for name, s in calm.seconds.items() if name != "launch"}
    assert rest.items() <= hooked(calm).seconds.items()


def test_each_process_of_a_file_has_its_host_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"host_index": {"adds": 1.0}}, ROW, {"host_index": {"adds": 2.0}}, ROW]
    (tmp_path / "gpu").mkdir()
    with gzip.open(tmp_path / "gpu" / "suite.jsonl.gz", "wt") as out:
        out.write("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.setattr(read, "MEASUREMENTS", tmp_path)
    assert host_indexes("suite", "gpu") == [{"adds": 1.0}, {"adds": 2.0}]


def test_a_file_without_a_date_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dates.toml").write_text("[gpu]\nsuite = 2026-11-22\nother = 'yesterday'\n")
    monkeypatch.setattr(read, "MEASUREMENTS", tmp_path)
    assert measured_on("suite", "gpu") == date(2026, 11, 22)
    for name, gpu in (("other", "gpu"), ("suite", "card")):
        with pytest.raises(InputError) as caught:
            measured_on(name, gpu)
        assert str(caught.value) == (
            f"{tmp_path}/dates.toml: no date of {gpu}/{name}: expected the day of its measurement; "
            f"add a line `{name} = 2026-11-21` under [{gpu}], with the day of yours"
        )
