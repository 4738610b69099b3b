"""The cases of a suite that remain to be recorded; all are timed before any is profiled."""

from __future__ import annotations

import gc
import json
from pathlib import Path
from typing import Any

import pytest

from calibration.cases.case import Case
from calibration.cases.suites import SUITES
from calibration.record import write
from calibration.record.write import planned, times_of, waiting

NAMES = [case.name for case in SUITES["validation"]]


def _file(folder: Path, names: list[str], end: str = "\n") -> Path:
    rows = [{"machine": {}}, *({"case": {"name": name}} for name in names)]
    path = folder / "validation.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows) + end)
    return path


def test_cases_that_the_file_has_are_not_run_again(tmp_path: Path) -> None:
    path = _file(tmp_path, NAMES[:3])
    assert [case.name for case in planned("validation", path)] == NAMES[3:]


def test_a_case_whose_line_was_cut_off_is_run_again(tmp_path: Path) -> None:
    path = _file(tmp_path, NAMES[:3], end="")
    assert [case.name for case in planned("validation", path)] == NAMES[2:]


def test_a_spread_suite_has_the_same_cases_in_one_order(tmp_path: Path) -> None:
    path = tmp_path / "none.jsonl"
    names = [case.name for case in planned("validation", path, spread=True)]
    assert sorted(names) == sorted(NAMES)
    assert names == [case.name for case in planned("validation", path, spread=True)]
    # 22 of the 62 are training steps; the first 20 hold some of both
    assert 3 <= sum("training" in name for name in names[:20]) <= 12


def test_only_names_that_match_are_run(tmp_path: Path) -> None:
    planned_cases = planned("validation", tmp_path / "none.jsonl", only="^resnet18/")
    assert [case.name for case in planned_cases] == [n for n in NAMES if n.startswith("resnet18/")]


def test_cases_that_were_timed_are_not_timed_again(tmp_path: Path) -> None:
    path = _file(tmp_path, NAMES[:3])
    times_of(path).write_text(json.dumps({"case": {"name": NAMES[3]}}) + "\n")
    assert [case.name for case in planned("validation", path)] == NAMES[4:]


def test_timed_cases_are_profiled_in_the_order_of_their_processes(tmp_path: Path) -> None:
    """Two processes timed three cases, and only the first case was profiled. The rows left to
    profile are the other cases, each after the row of the process that timed it."""
    path = tmp_path / "host.jsonl"
    first, second = {"host_index": {"adds": 1.0}}, {"host_index": {"adds": 2.0}}
    one, two, three = ({"case": {"name": name}} for name in ("one", "two", "three"))
    times_of(path).write_text(
        "".join(json.dumps(r) + "\n" for r in (first, one, two, second, three))
    )
    path.write_text("".join(json.dumps(r) + "\n" for r in (first, one)))
    begun, *left = [{k: v for k, v in row.items() if k != "profiled"} for row in waiting(path)]
    assert [begun, *left] == [two, second, three]
    path.unlink()
    assert [row.get("profiled") is not None for row in waiting(path)] == [1, 0, 0, 1, 0]


def test_all_cases_are_timed_before_any_is_profiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gc.freeze()  # each recording collects garbage: leave out the objects of other tests
    done: list[str] = []

    def times(case: Case, watch: object, whole: bool, budget: float) -> dict[str, Any]:
        done.append("time")
        if len(done) == 2:
            raise RuntimeError("no such layer")
        return {"case": case.record(), "period": {"median_s": 1.0}, "power_w": 1.0}

    def profiled(row: dict[str, Any], case: Case) -> dict[str, Any]:
        assert case.record() == row["case"]
        done.append("profile")
        return {**row, "gpu_busy_s": 0.5, "kernels": 1}

    device = type("Device", (), {"name": "a GPU", "driver": "1"})
    for name, fake in (
        ("times", times),
        ("profiled", profiled),
        ("find", device),
        ("Watch", lambda found: found),
        ("versions", dict),
        ("suite", lambda gpu: {"adds": 1.0}),
    ):
        monkeypatch.setattr(write, name, fake)
    monkeypatch.setattr("sys.argv", ["write", str(tmp_path), "--suite", "host", "--limit", "4"])
    write.main()
    assert done == ["time"] * 4 + ["profile"] * 3
    process, *cases = write.rows(tmp_path / "host.jsonl")
    assert process["profiled"] and process["host_index"] == {"adds": 1.0}
    assert ["failed" in row for row in cases] == [False, True, False, False]
