"""The tests of a folder in a process of their own: their order, their outcome, their day."""

from __future__ import annotations

import os
import shutil
import sys
from datetime import date, timedelta
from pathlib import Path

import pytest

from tests import layers
from tests.reliability.copies.copied_tests import Outcome, nearest_first, run_tests


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
    assert nearest_first(tmp_path, "tests", "simulator/costs/indexing/sorting.py") == (
        "tests/below/test_sorting_of_rows.py",
        "tests/test_c.py",
        "tests/test_indexing.py",
        "tests/test_b.py",
        "tests/test_a.py",
    )


def copied(tree: Path, left_out: tuple[str, ...] = (), day: str = "") -> Outcome:
    return run_tests(tree, ("test_it.py",), left_out, first_only=True, limit_s=60, day=day)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="each run is forked")
def test_a_test_kills_a_mutant(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_one():\n    assert 1 + 1 == 2\n", "utf-8")
    assert copied(tmp_path)[:2] == ("passed", ())
    (tmp_path / "test_it.py").write_text("def test_one():\n    assert 1 - 1 == 2\n", "utf-8")
    failed = copied(tmp_path)
    assert failed[:2] == ("failed", ("test_it.py::test_one",))
    left_out = copied(tmp_path, failed.failed)
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
        assert copied(tmp_path).state == state


def test_only_the_cases_of_the_day_run(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    for path in (layers.LONG_TESTS, Path(layers.__file__)):
        shutil.copy(path, tmp_path / "tests")
    (tmp_path / "conftest.py").write_text("pytest_plugins = ['tests.layers']\n", "utf-8")
    (tmp_path / "test_it.py").write_text(
        "import pytest\n\n@pytest.mark.layered(3)\n@pytest.mark.parametrize('case', range(3))\n"
        "def test_case(case):\n    assert case != 1\n",
        "utf-8",
    )
    assert copied(tmp_path).failed == ("test_it.py::test_case[1]",)
    days = [(date(2026, 11, 28) + timedelta(days=after)).isoformat() for after in range(3)]
    states = [copied(tmp_path, day=day).state for day in days]
    assert sorted(states) == ["failed", "passed", "passed"]
