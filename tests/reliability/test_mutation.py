"""Mutants of a small file, and a run over a small tree."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest

from tests.reliability import mutation
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


def test_a_seed_draws_the_same_mutants_of_each_part() -> None:
    assert mutation.drawn("power", 5) == mutation.drawn("power", 9)[:5]
    assert mutation.drawn("power", 5) != mutation.drawn("power", 5, seed=1)
    for part, (_, tests) in mutation.PARTS.items():
        assert len(mutation.drawn(part, 50)) == 50
        assert (mutation.ROOT / tests).is_dir()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="each run is forked")
def test_a_test_kills_a_mutant(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_one():\n    assert 1 + 1 == 2\n", "utf-8")
    assert mutation.run_tests(tmp_path, "test_it.py", (), True)[:2] == ("passed", ())
    (tmp_path / "test_it.py").write_text("def test_one():\n    assert 1 - 1 == 2\n", "utf-8")
    failed = mutation.run_tests(tmp_path, "test_it.py", (), True)
    assert failed[:2] == ("failed", ("test_it.py::test_one",))
    left_out = mutation.run_tests(tmp_path, "test_it.py", failed.failed, True)
    assert left_out.state == "broken"  # no test is left
