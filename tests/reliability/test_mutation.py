"""Mutants of a small file, and a run over a small tree."""

from __future__ import annotations

import ast
import io
import json
import os
import sys
from pathlib import Path

import pytest

from tests.reliability import mutation, promises
from tests.reliability.answers import answered
from tests.reliability.equivalents import EQUIVALENTS, proof
from tests.reliability.mutants import mutants_of
from tests.reliability.mutation import Outcome

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


def test_the_tests_of_a_module_are_run_before_those_of_its_package_and_of_others(
    tmp_path: Path,
) -> None:
    (tmp_path / "tests" / "below").mkdir(parents=True)
    files = {
        "test_a.py": "a longer file of other tests",
        "test_b.py": "other tests",
        "test_c.py": "from simulator.costs.indexing import masks, sorting\n",
        "test_indexing.py": "from simulator.costs import works\n",
        "below/test_sorting_of_rows.py": "from simulator.costs import works; works()\n",
    }
    for name, text in files.items():
        (tmp_path / "tests" / name).write_text(text, "utf-8")
    assert mutation.nearest_first(tmp_path, "tests", "simulator/costs/indexing/sorting.py") == (
        "tests/below/test_sorting_of_rows.py",
        "tests/test_c.py",
        "tests/test_indexing.py",
        "tests/test_b.py",
        "tests/test_a.py",
    )


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="each run is forked")
def test_a_test_kills_a_mutant(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_one():\n    assert 1 + 1 == 2\n", "utf-8")
    assert mutation.run_tests(tmp_path, ("test_it.py",), (), True)[:2] == ("passed", ())
    (tmp_path / "test_it.py").write_text("def test_one():\n    assert 1 - 1 == 2\n", "utf-8")
    failed = mutation.run_tests(tmp_path, ("test_it.py",), (), True)
    assert failed[:2] == ("failed", ("test_it.py::test_one",))
    left_out = mutation.run_tests(tmp_path, ("test_it.py",), failed.failed, True)
    assert left_out.state == "broken"  # no test is left


def test_a_mutant_is_not_run_from_the_bytecode_of_another(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Bytecode counts as that of a source of the same size and second."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", None)
    code, test = tmp_path / "tests" / "code.py", tmp_path / "test_it.py"
    code.parent.mkdir()
    test.write_text("from tests.code import x\n\ndef test_it():\n    assert x == 1\n", "utf-8")
    for number, state in ((1, "passed"), (2, "failed")):
        code.write_text(f"x = {number}\n", "utf-8")
        os.utime(code, (1e9, 1e9))
        assert mutation.run_tests(tmp_path, ("test_it.py",), (), True).state == state


TESTS = "tests/simulator/costs"


def outcomes(monkeypatch: pytest.MonkeyPatch, *each: Outcome) -> list[tuple[tuple[str, ...], bool]]:
    """Fix the outcomes of the runs of a folder's tests; returns the list of their arguments."""
    runs: list[tuple[tuple[str, ...], bool]] = []
    coming = iter(each)

    def run_tests(
        tree: Path, tests: tuple[str, ...], left_out: tuple[str, ...], first_only: bool
    ) -> Outcome:
        runs.append((left_out, first_only))
        return next(coming)

    monkeypatch.setattr(mutation, "run_tests", run_tests)
    return runs


def test_tests_that_fail_without_a_mutant_are_left_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "results.jsonl"
    runs = outcomes(monkeypatch, Outcome("failed", ("a::b",), 9.0), Outcome("passed", (), 7.0))
    with path.open("a") as file:
        assert mutation.baseline_of(path, tmp_path, TESTS, file) == (("a::b",), True)
        assert mutation.baseline_of(path, tmp_path, TESTS, file) == (("a::b",), True)  # stored
    assert runs == [((), False), (("a::b",), True)]
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


def test_the_row_records_the_mutants_that_were_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path, readme = tmp_path / "results.jsonl", tmp_path / "README.md"
    readme.write_text("<!-- promises -->\n<!-- /promises -->\n", "utf-8")
    lines = [
        {"key": f"no mutant {TESTS}", "part": "", "failed": [], "state": "passed"},
        {"key": "a.py:1", "part": "costs", "state": "killed"},
        {"key": "a.py:2", "part": "costs", "state": "survived", "line": "x = 1"},
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    monkeypatch.setattr(promises.write, "__defaults__", (readme,))
    monkeypatch.setattr(
        sys, "argv", ["mutation", str(path), "--summary", "--record", "--seed", "7"]
    )
    assert mutation.main() == 0
    row = readme.read_text("utf-8").splitlines()[3]
    assert "RESULTS.jsonl --mutants 2 --seed 7` | 1 of 2 mutants killed (50%): costs 1 of 2," in row


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
    assert figure.startswith("1 of 3 mutants killed (33%): costs 1 of 3,")
    assert figure.endswith("; 1 of the others proven to change no result")
