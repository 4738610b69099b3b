"""The part of a long family of cases that runs on one day: `python -m pytest --day 2026-11-28`.

    @pytest.mark.layered(5)
    @pytest.mark.parametrize("network", NETWORKS)
    def test_...

The cases of such a test are dealt to five days in the order of the hashes of their names: each case
runs on one of five successive days, and on each day equally many run. If there are fewer cases than
days, one runs on each day. `layered(5, daily=["gpt2"])` names cases that run on each day, because
no other test reaches some line of theirs.

Single long tests are dealt in the same way: those that `long_tests.txt` names are a family of five
days.

Without `--day`, every case runs. `python run.py test` gives `--day today`, the date in UTC.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, date, datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import pytest

MARKER = (
    "layered(days, daily=[]): a family of cases of which each runs on one of so many successive "
    "days, and those of these parameters on each day"
)

LONG_TESTS = Path(__file__).with_name("long_tests.txt")
_DAYS = 5  # to which the long tests are dealt


class Case(NamedTuple):
    """A case of a layered test. `family` is the test's name and `name` also has its parameters;
    the long tests are one family."""

    name: str
    family: str
    days: int
    daily: bool


class LeftOut(NamedTuple):
    """How many cases run on another day, of how many cases of how many families."""

    left_out: int
    cases: int
    families: int
    day: date

    def __str__(self) -> str:
        again = f"python -m pytest --day {self.day}"
        return (
            f"{self.day}: {self.left_out:,} of the {self.cases:,} cases of {self.families} long "
            f"families run on other days. The same part again: {again}; all: python -m pytest"
        )


_LEFT_OUT = pytest.StashKey[LeftOut]()
_SENT = "layers"  # the key under which a worker of xdist sends its numbers


def left_out(cases: Sequence[Case], day: date) -> set[str]:
    """The names of the cases that run on other days."""
    families: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        if not case.daily:
            families[case.family].append(case)
    names: set[str] = set()
    for family in families.values():
        days = min(family[0].days, len(family))
        ordered = sorted(family, key=lambda case: sha256(case.name.encode()).digest())
        today = day.toordinal() % days
        names |= {case.name for at, case in enumerate(ordered) if at % days != today}
    return names


def parsed(text: str) -> date:
    """The date of `--day`; raises `pytest.UsageError` for other text."""
    if text == "today":
        return datetime.now(UTC).date()
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise pytest.UsageError(
            f"--day {text}: expected `today` or a date such as 2026-11-28"
        ) from None


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--day",
        metavar="DATE",
        help="run only this day's part of the long families (YYYY-MM-DD or `today`); default: all",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)
    if config.option.day is not None:  # xdist gives it to the workers: all choose the same day
        config.option.day = str(parsed(config.option.day))


@pytest.fixture
def day(request: pytest.FixtureRequest) -> date:
    """The date of `--day`; without it, today's in UTC. Tests draw their samples from it."""
    return parsed(request.config.option.day or "today")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the cases of other days, before `-k` and `-m` choose among the rest."""
    if config.option.day is None:
        return
    day = date.fromisoformat(config.option.day)
    cases = [case for item in items if (case := case_of(item)) is not None]
    dealt = cases
    if not any("[" in argument for argument in config.args):  # otherwise families are incomplete
        check_daily(items, cases)
        if not any("::" in argument for argument in config.args):
            check_long_tests(items)
            dealt = [*cases, *others_of_long_tests(cases)]
    names = left_out(dealt, day)
    left = [item for item in items if item.nodeid in names]
    families = len({case.family for case in cases})
    config.stash[_LEFT_OUT] = LeftOut(len(left), len(cases), families, day)
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if item.nodeid not in names]


def case_of(item: pytest.Item) -> Case | None:
    """The layered case that an item is, or None."""
    marker = item.get_closest_marker("layered")
    if marker is None:
        if item.nodeid not in long_tests():
            return None
        return Case(item.nodeid, LONG_TESTS.name, _DAYS, False)
    if len(marker.args) != 1 or not isinstance(marker.args[0], int) or marker.args[0] < 2:
        raise pytest.UsageError(
            f"{item.nodeid}: the marker is layered{marker.args}; expected layered(days) with a "
            "whole number of days from 2"
        )
    family, _, parameters = item.nodeid.partition("[")
    daily = parameters.removesuffix("]") in marker.kwargs.get("daily", ())
    return Case(item.nodeid, family, marker.args[0], daily)


@cache
def long_tests() -> frozenset[str]:
    """The names in `long_tests.txt`, whose comments begin with `#`."""
    lines = LONG_TESTS.read_text("utf-8").splitlines()
    return frozenset(line for line in lines if line and not line.startswith("#"))


def others_of_long_tests(cases: Sequence[Case]) -> list[Case]:
    """The long tests of files that are not collected: with them, a folder's tests run on the same
    days as in a run of all tests."""
    others = sorted(long_tests() - {case.name for case in cases})
    return [Case(name, LONG_TESTS.name, _DAYS, False) for name in others]


def check_long_tests(items: Sequence[pytest.Item]) -> None:
    """Raise `pytest.UsageError` if `long_tests.txt` names a test that a collected file lacks."""
    names = {item.nodeid for item in items}
    files = {name.partition("::")[0] for name in names}
    for name in sorted(long_tests() - names):
        if name.partition("::")[0] in files:
            raise pytest.UsageError(f"{name} does not exist: correct {LONG_TESTS.name}")


def check_daily(items: Sequence[pytest.Item], cases: Sequence[Case]) -> None:
    """Raise `pytest.UsageError` if `daily` names a case that does not exist."""
    names = {case.name for case in cases}
    for item in items:
        marker = item.get_closest_marker("layered")
        for parameters in marker.kwargs.get("daily", ()) if marker else ():
            name = f"{item.nodeid.partition('[')[0]}[{parameters}]"
            if name not in names:
                raise pytest.UsageError(
                    f"{name} does not exist: expected in `daily` the parameters of a case; "
                    "correct the marker"
                )


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send a worker's numbers: the process that writes the summary collects no tests itself."""
    sent: dict[str, object] | None = getattr(session.config, "workeroutput", None)
    if sent is not None and _LEFT_OUT in session.config.stash:
        left = session.config.stash[_LEFT_OUT]
        sent[_SENT] = (*left[:-1], left.day.isoformat())


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take the numbers of a worker, which has collected the same tests as all others."""
    sent = getattr(node, "workeroutput", {}).get(_SENT)
    if sent is not None:
        node.config.stash[_LEFT_OUT] = LeftOut(*sent[:-1], date.fromisoformat(sent[-1]))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if _LEFT_OUT in config.stash:
        terminalreporter.write_line(str(config.stash[_LEFT_OUT]))
