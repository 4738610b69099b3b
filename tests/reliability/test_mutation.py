"""Mutants of a small file, and a run over a small tree."""

from __future__ import annotations

import ast
import io
import json
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.reliability import mutation, promises
from tests.reliability.answers import answered
from tests.reliability.copies.copied_tests import Outcome
from tests.reliability.equivalents import EQUIVALENTS, proof
from tests.reliability.mutants import mutants_of

SOURCE = '''"""1 < 2"""
def price(a: int = 3, *, strict=True):
    µ = (a + 2) * (4.0)
    if a < 5 and µ:
        raise ValueError(f"{a + 1}")
    return min(a, µ) if a not in (µ,) else not True
'''
LINES = [
    "def price(a: int = 4, *, strict=True):",
    "def price(a: int = 3, *, strict=False):",
    "µ = (a + 2) / (4.0)",
    "µ = (a - 2) * (4.0)",
    "µ = (a + 3) * (4.0)",
    "µ = (a + 2) * (8.0)",
    "if not (a < 5 and µ):",
    "if a < 5 or µ:",
    "if a <= 5 and µ:",
    "if a < 6 and µ:",
    "return min(a, µ) if not (a not in (µ,)) else not True",
    "return min(a, µ) if a in (µ,) else not True",
    "return max(a, µ) if a not in (µ,) else not True",
    "return min(a, µ) if a not in (µ,) else not False",
]


def test_one_place_is_changed_each_time(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text(SOURCE, "utf-8")
    mutants = mutants_of(path, tmp_path)
    assert sorted(m.line(SOURCE) for m in mutants) == sorted(LINES)
    for mutant in mutants:
        ast.parse(mutant.applied(SOURCE))
    assert mutants[2].key == "a.py:3:16 '*' -> '/'"


def test_the_sizes_of_caches_are_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text(
        "A: B[int] = ByIdentity(8)\nC = Derived[int](size=48)\nD = LRUCache(3)\n", "utf-8"
    )
    assert mutants_of(path, tmp_path) == []
    path.write_text("A = Blocks(8)\n", "utf-8")
    assert [mutant.text for mutant in mutants_of(path, tmp_path)] == ["9"]


def test_a_seed_draws_the_same_mutants_of_each_part() -> None:
    assert mutation.drawn("power", 5) == mutation.drawn("power", 9)[:5]
    assert mutation.drawn("power", 5) != mutation.drawn("power", 5, seed=1)
    for part, (_, tests) in mutation.PARTS.items():
        assert len(mutation.drawn(part, 50)) == 50
        assert (mutation.ROOT / tests).is_dir()


TESTS = "tests/simulator/costs"
DAY = "2026-11-28"


class Asked(NamedTuple):
    """The arguments of a run of tests."""

    tests: tuple[str, ...]
    left_out: tuple[str, ...]
    first_only: bool
    limit_s: int
    day: str


def outcomes(monkeypatch: pytest.MonkeyPatch, *each: Outcome) -> list[Asked]:
    """Fix the outcomes of the runs of a folder's tests; returns the list of their arguments."""
    runs: list[Asked] = []
    coming = iter(each)

    def fixed(
        tree: Path,
        tests: tuple[str, ...],
        left_out: tuple[str, ...],
        *,
        first_only: bool,
        limit_s: int,
        day: str = "",
    ) -> Outcome:
        runs.append(Asked(tests, left_out, first_only, limit_s, day))
        return next(coming)

    monkeypatch.setattr(mutation, "run_tests", fixed)
    return runs


def test_tests_that_fail_without_a_mutant_are_left_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "results.jsonl"
    runs = outcomes(monkeypatch, Outcome("failed", ("a::b",), 9.0), Outcome("passed", (), 7.0))
    with path.open("a") as file:
        assert mutation.baseline_of(path, tmp_path, TESTS, file) == (("a::b",), True)
        assert mutation.baseline_of(path, tmp_path, TESTS, file) == (("a::b",), True)  # stored
    assert runs == [
        Asked((TESTS,), (), False, 600, ""),
        Asked((TESTS,), ("a::b",), True, 60, ""),
    ]
    assert answered(path)[f"no mutant {TESTS}"]["seconds"] == 7.0


@pytest.mark.parametrize(("first", "second", "how"), [
    (Outcome("over time", (), 600.0), Outcome("over time", (), 60.4), "over time after 60.4 s"),
    (Outcome("passed", (), 70.0), Outcome("over time", ("a::b",), 60.4),
     "over time (a::b) after 60.4 s"),
    (Outcome("broken", (), 1.0), Outcome("broken", (), 1.1), "broken after 1.1 s"),
    (Outcome("failed", ("a::b",), 9.0), Outcome("failed", ("a::c",), 7.0),
     "failed (a::c) after 7.0 s"),
])  # fmt: skip
def test_a_folder_that_does_not_pass_without_a_mutant_kills_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, first: Outcome, second: Outcome, how: str
) -> None:
    path = tmp_path / "results.jsonl"
    earlier = {"key": f"no mutant {TESTS}", "part": "", "failed": [], "state": "over time"}
    path.write_text(json.dumps(earlier) + "\n", "utf-8")
    outcomes(monkeypatch, first, second)
    with pytest.raises(SystemExit) as error:
        mutation.baseline_of(path, tmp_path, TESTS, io.StringIO())
    assert error.value.code == (
        f"{TESTS} without a mutant: {how}: expected tests that pass, all together within 600 s of "
        "processor time, else every mutant counts as killed; correct them, or choose other --parts"
    )


@pytest.mark.parametrize(("baseline_s", "state"), [(40.0, "killed"), (90.0, "survived")])
def test_tests_that_take_too_long_without_a_mutant_kill_none_by_their_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, baseline_s: float, state: str
) -> None:
    path, source = tmp_path / "results.jsonl", tmp_path / "a.py"
    source.write_text("x = 1\n", "utf-8")
    unended = Outcome("over time", (), 60.4)
    alone = unended if baseline_s > 60 else Outcome("passed", (), baseline_s)
    outcomes(monkeypatch, Outcome("passed", (), baseline_s), alone, unended)
    with path.open("a") as file:
        baseline = mutation.baseline_of(path, tmp_path, TESTS, file)
        assert mutation.baseline_of(path, tmp_path, TESTS, file) == baseline  # stored
    (mutant,) = mutants_of(source, tmp_path)
    answer = mutation.run(mutant, "costs", tmp_path, baseline)
    assert (answer["state"], answer["by"]) == (state, "over time")
    assert source.read_text("utf-8") == "x = 1\n"


def test_a_survivor_of_a_day_is_run_against_all_cases(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path, source = tmp_path / "results.jsonl", tmp_path / "a.py"
    source.write_text("x = 1\ny = 2\n", "utf-8")
    killed, survived = mutants_of(source, tmp_path)
    passed, failed = Outcome("passed", (), 5.0), Outcome("failed", ("a::b",), 5.0)
    before = (passed, passed)
    runs = outcomes(monkeypatch, *before, failed, passed, *before, Outcome("failed", ("a::c",), 9))
    with path.open("a") as file:
        first = mutation.run_of_day(killed, "costs", tmp_path, path, DAY, file)
        second = mutation.run_of_day(survived, "costs", tmp_path, path, DAY, file)
    assert (first["state"], first["by"], first.get("all cases")) == ("killed", "a::b", None)
    assert (second["state"], second["all cases"], second["by"]) == ("survived", "killed", "a::c")
    assert [(run.limit_s, run.day) for run in runs] == [
        (600, DAY), (60, DAY), (60, DAY), (60, DAY), (600, ""), (60, ""), (600, "")
    ]  # fmt: skip
    assert list(answered(path)) == [f"no mutant {TESTS} {DAY}", f"no mutant {TESTS}"]


def test_without_a_day_a_mutant_is_run_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "a.py").write_text("x = 1\n", "utf-8")
    (mutant,) = mutants_of(tmp_path / "a.py", tmp_path)
    outcomes(monkeypatch, *[Outcome("passed", (), 5.0)] * 3)
    answer = mutation.run_of_day(mutant, "costs", tmp_path, tmp_path / "r", "", io.StringIO())
    assert answer["state"] == "survived" and "all cases" not in answer


@pytest.fixture
def results(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A file with one killed and one surviving mutant, and a table of promises beside it."""
    path, readme = tmp_path / "results.jsonl", tmp_path / "README.md"
    readme.write_text("<!-- promises -->\n<!-- /promises -->\n", "utf-8")
    lines = [
        {"key": f"no mutant {TESTS}", "part": "", "failed": [], "state": "passed"},
        {"key": "a.py:1", "part": "costs", "state": "killed"},
        {"key": "a.py:2", "part": "costs", "state": "survived", "line": "x = 1"},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    monkeypatch.setattr(promises.write, "__defaults__", (readme,))
    return path


def row(monkeypatch: pytest.MonkeyPatch, path: Path, *options: str) -> str:
    arguments = ["mutation", str(path), "--summary", "--record", *options]
    monkeypatch.setattr(sys, "argv", arguments)
    assert mutation.main() == 0
    return path.with_name("README.md").read_text("utf-8").splitlines()[3]


def test_the_row_records_the_mutants_that_were_run(
    monkeypatch: pytest.MonkeyPatch, results: Path
) -> None:
    line = row(monkeypatch, results, "--seed", "7", "--parts", "costs", "power")
    assert line.startswith("| tests of a folder kill its mutants |")
    command, figure = line.split("|")[2:4]
    assert command.endswith(" RESULTS.jsonl --mutants 2 --parts costs power --seed 7` ")
    assert figure == " 1 of 2 mutants killed (50%): costs 1 of 2 "


def test_the_row_of_a_day_says_how_many_more_all_cases_kill(
    monkeypatch: pytest.MonkeyPatch, results: Path
) -> None:
    answers = [{**a, "day": DAY} if a["part"] else a for a in answered(results).values()]
    answers[2]["all cases"] = "killed"
    results.write_text("".join(json.dumps(line) + "\n" for line in answers), "utf-8")
    line = row(monkeypatch, results, "--day", DAY)
    assert line.startswith("| tests of a folder on one day kill its mutants |")
    assert f"--day {DAY}` | 1 of 2 mutants killed (50%): costs 1 of 2; all cases kill 1 of " in line
    with pytest.raises(SystemExit, match="has answers of another --day: expected a file for each"):
        row(monkeypatch, results)


def test_each_proof_is_of_a_mutant_that_could_be_drawn() -> None:
    for each in EQUIVALENTS:
        source = (mutation.ROOT / each.path).read_text("utf-8")
        mutants = mutants_of(mutation.ROOT / each.path, mutation.ROOT)
        drawn = [m for m in mutants if (m.key.partition(" ")[2], m.line(source)) == each[1:3]]
        assert len(drawn) == 1, each.line
        assert proof({"key": drawn[0].key, "line": each.line}) == each.why
        assert proof({"key": drawn[0].key, "line": "x = 1"}) == ""


def test_survivors_that_change_no_result_stay_survivors_and_are_named(tmp_path: Path) -> None:
    path, proven = tmp_path / "results.jsonl", EQUIVALENTS[0]
    lines = [
        {"key": f"{proven.path}:9:9 {proven.change}", "part": "costs", "state": "survived",
         "line": proven.line},
        {"key": "a.py:1:0 '<' -> '<='", "part": "costs", "state": "survived", "line": "x <= 1"},
        {"key": "a.py:2:0 '<' -> '<='", "part": "costs", "state": "killed", "line": "x <= 2"},
    ]  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    figure = mutation.figure(path)
    assert figure.startswith("1 of 3 mutants killed (33%): costs 1 of 3;")
    assert figure.endswith("; 1 of the others proven to change no result")
