"""Which cases of long families run on a day, and what is said about the others."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import chain
from pathlib import Path

import pytest

from tests import layers
from tests.layers import LONG_TESTS, Case, left_out, long_tests, parsed

pytest_plugins = ["pytester"]
DAY = date(2026, 11, 28)
FAMILY = """
import pytest

@pytest.mark.layered(4)
@pytest.mark.parametrize("case", range(10))
def test_long(case):
    pass

@pytest.mark.layered(5, daily=["1"])
@pytest.mark.parametrize("case", range(3))
def test_short(case):
    pass

def test_alone():
    pass
"""


def family(count: int, days: int, name: str = "t.py::test_a") -> list[Case]:
    return [Case(f"{name}[{at}]", name, days, False) for at in range(count)]


def run_of(cases: list[Case], day: date) -> list[str]:
    out = left_out(cases, day)
    return [case.name for case in cases if case.name not in out]


@pytest.mark.parametrize("start", [DAY, date(2027, 2, 26), date(2028, 12, 29)])
def test_each_case_runs_once_in_so_many_successive_days(start: date) -> None:
    cases = family(23, 10)
    days = [run_of(cases, start + timedelta(days=after)) for after in range(10)]
    assert sorted(chain(*days)) == sorted(case.name for case in cases)
    assert {len(names) for names in days} == {2, 3}  # 23 cases over 10 days


def test_a_family_with_fewer_cases_than_days_runs_one_each_day() -> None:
    cases = family(3, 10)
    days = [run_of(cases, DAY + timedelta(days=after)) for after in range(3)]
    assert sorted(chain(*days)) == ["t.py::test_a[0]", "t.py::test_a[1]", "t.py::test_a[2]"]
    assert [len(names) for names in days] == [1, 1, 1]


def test_each_family_is_dealt_by_itself() -> None:
    several = family(10, 5) + family(4, 2, "t.py::test_b") + family(1, 7, "t.py::test_c")
    assert len(run_of(several, DAY)) == 2 + 2 + 1


def test_the_choice_depends_on_names_and_not_on_their_order() -> None:
    cases = family(50, 5)
    assert left_out(cases, DAY) == left_out(cases[::-1], DAY)
    chosen = [int(name[len("t.py::test_a[") : -1]) for name in run_of(cases, DAY)]
    assert len({at % 5 for at in chosen}) > 1  # not each fifth case: neighbours are often alike


def test_a_daily_case_is_never_left_out() -> None:
    cases = [case._replace(daily=case.name.endswith("7]")) for case in family(20, 10)]
    for after in range(10):
        names = run_of(cases, DAY + timedelta(days=after))
        assert {"t.py::test_a[7]", "t.py::test_a[17]"} < set(names)
        assert len(names) in (2 + 1, 2 + 2)  # 18 others over 10 days


def test_days_are_dates_or_today() -> None:
    assert parsed("2026-11-28") == DAY
    assert abs((parsed("today") - datetime.now(UTC).date()).days) <= 1  # midnight may pass
    with pytest.raises(pytest.UsageError, match=r"--day 28\.11\.: expected `today` or a date"):
        parsed("28.11.")


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    root = Path(__file__).parents[1]
    pytester.makeini(f"[pytest]\naddopts = --strict-markers\npythonpath = {root}")
    pytester.makeconftest("pytest_plugins = ['tests.layers']")
    pytester.makepyfile(test_some=FAMILY)
    return pytester


def test_without_a_day_all_cases_run(project: pytest.Pytester) -> None:
    result = project.runpytest("-p", "no:xdist")
    result.assert_outcomes(passed=14)
    result.stdout.no_fnmatch_line("*run on other days*")


@pytest.mark.parametrize("workers", [("-p", "no:xdist"), ("-n", "1")], ids=["one", "xdist"])
def test_the_output_says_how_many_run_on_other_days(
    project: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    result = project.runpytest("--day", "2026-11-28", *workers)
    passed = result.parseoutcomes()["passed"]
    # of ten cases two or three, of three cases the daily one and another, and the unmarked test
    assert passed in (2 + 2 + 1, 3 + 2 + 1)
    result.stdout.fnmatch_lines(
        [
            f"2026-11-28: {14 - passed} of the 13 cases of 2 long families run on other days. "
            "The same part again: python -m pytest --day 2026-11-28; all: python -m pytest"
        ]
    )


def test_a_case_asked_for_by_its_name_runs(project: pytest.Pytester) -> None:
    names = [f"test_some.py::test_long[{at}]" for at in range(10)]
    cases = [Case(name, "test_some.py::test_long", 4, False) for name in names]
    name = min(left_out(cases, DAY))
    result = project.runpytest("-p", "no:xdist", "--day", DAY.isoformat(), name)
    result.assert_outcomes(passed=1)


def test_tests_draw_their_samples_from_the_day(project: pytest.Pytester) -> None:
    project.makepyfile(test_some="def test_it(day): assert day.isoformat() == '2027-02-26'")
    project.runpytest("-p", "no:xdist", "--day", "2027-02-26").assert_outcomes(passed=1)
    project.runpytest("-p", "no:xdist").assert_outcomes(failed=1)


@pytest.mark.parametrize("days", ["", "1"])
def test_a_marker_without_a_number_of_days_is_an_error(project: pytest.Pytester, days: str) -> None:
    project.makepyfile(test_wrong=f"import pytest\n@pytest.mark.layered({days})\ndef test_a(): ...")
    result = project.runpytest("-p", "no:xdist", "--day", "today")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["*test_wrong.py::test_a: the marker is layered(*expected layered(days)*"]
    )


def test_a_daily_case_that_does_not_exist_is_an_error(project: pytest.Pytester) -> None:
    project.makepyfile(test_some=FAMILY.replace('daily=["1"]', 'daily=["1", "3"]'))
    result = project.runpytest("-p", "no:xdist", "--day", "today")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*test_some.py::test_short[[]3[]] does not exist: expected in*"])


@pytest.fixture
def listed(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Ten tests of two files, of which eight are long."""
    tests = "\n".join(f"def test_{at}(): ..." for at in range(5))
    project.makepyfile(test_some=tests, test_more=tests)
    names = {f"test_{file}.py::test_{at}" for file in ("some", "more") for at in range(4)}
    monkeypatch.setattr(layers, "long_tests", lambda: frozenset(names))
    return project


def test_the_long_tests_are_a_family(listed: pytest.Pytester) -> None:
    counts = list[int]()
    for day in range(5):
        result = listed.runpytest("-p", "no:xdist", "--day", f"2026-12-0{day + 1}")
        counts.append(result.parseoutcomes()["passed"] - 2)  # two are not long
    assert sorted(counts) == [1, 1, 2, 2, 2]  # 8 tests over 5 days
    listed.runpytest("-p", "no:xdist").assert_outcomes(passed=10)


def test_a_file_alone_has_the_long_tests_of_the_day_of_all_files(listed: pytest.Pytester) -> None:
    for day in range(5):
        options = ("-p", "no:xdist", "--day", f"2026-12-0{day + 1}", "-v")
        lines = listed.runpytest(*options).stdout.lines
        alone = listed.runpytest(*options, "test_some.py").stdout.lines
        assert passed_of(alone) == [name for name in passed_of(lines) if "test_some.py" in name]


def passed_of(lines: list[str]) -> list[str]:
    return [line.partition(" PASSED")[0] for line in lines if " PASSED" in line]


def test_a_long_test_that_does_not_exist_is_an_error(listed: pytest.Pytester) -> None:
    listed.makepyfile(test_more="def test_0(): ...")
    result = listed.runpytest("-p", "no:xdist", "--day", "today")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*test_more.py::test_1 does not exist: correct long_tests.txt"])


def test_a_long_test_asked_for_by_its_name_runs(listed: pytest.Pytester) -> None:
    for at in range(4):
        name = f"test_some.py::test_{at}"
        result = listed.runpytest("-p", "no:xdist", "--day", "today", name)
        result.assert_outcomes(passed=1)


def test_each_long_test_lies_in_a_file_that_exists() -> None:
    names = long_tests()
    assert names and all(
        (LONG_TESTS.parents[1] / name.partition("::")[0]).exists() for name in names
    )
