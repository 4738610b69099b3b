"""Which cases of a suite are left to record."""

from __future__ import annotations

import json
from pathlib import Path

from calibration.cases.suites import SUITES
from calibration.record.write import planned

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
    found = [case.name for case in planned("validation", path, spread=True)]
    assert sorted(found) == sorted(NAMES)
    assert found == [case.name for case in planned("validation", path, spread=True)]
    # 22 of the 62 are training steps; the first 20 hold some of both
    assert 3 <= sum("training" in name for name in found[:20]) <= 12


def test_only_names_that_match_are_run(tmp_path: Path) -> None:
    found = planned("validation", tmp_path / "none.jsonl", only="^resnet18/")
    assert [case.name for case in found] == [n for n in NAMES if n.startswith("resnet18/")]
