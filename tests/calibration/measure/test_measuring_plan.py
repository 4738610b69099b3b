"""The order of a sweep's points, and the kernels that can be imported."""

import io

import pytest

from calibration.measure import run as measure
from calibration.measure.run import Progress, load, planned, spoken
from simulator.errors import InputError
from tests.calibration.measure.conftest import Clock, swept


def test_every_prefix_of_the_plan_covers_all_operations() -> None:
    operations = [swept("many", 900), swept("some", 90), swept("one", 1)]
    points = planned(operations)
    assert len({point.name for point in points}) == len(points) == 991
    assert {point.operation for point in points[:3]} == {"many", "some", "one"}
    half = [point.operation for point in points[:496]]
    assert 430 <= half.count("many") <= 470 and 35 <= half.count("some") <= 55
    assert points == planned(operations)
    assert points != planned(operations, seed=1)
    assert [p.params["n"] for p in points if p.operation == "many"] != [*range(900)]


def test_a_quick_plan_is_thin_everywhere() -> None:
    operations = [swept(f"op{i}", 100) for i in range(60)]
    points = planned(operations, quick=True)
    assert len(points) == 600  # 600 points over 60 operations are 10 for each: every tenth point
    assert {point.params["n"] % 10 for point in points} == {0}
    assert len(planned([swept("op", 3)], quick=True)) == 3


def test_only_some_names() -> None:
    operations = [swept("add", 12), swept("mul", 12)]
    assert {p.name for p in planned(operations, only=r"^add\(n=1.?\)")} == {
        "add(n=1)",
        "add(n=10)",
        "add(n=11)",
    }
    with pytest.raises(InputError, match=r"matches none of 24 points: .* such as 'add\(n=0\)'"):
        planned(operations, only="nothing")
    with pytest.raises(InputError, match=r"--only '\(': not a regular expression"):
        planned(operations, only="(")


def test_kernels_that_cannot_be_imported_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "OPERATIONS", {"add": swept("add", 1)})
    monkeypatch.setattr(measure, "PACKAGES", {"library": "json", "triton": "no_such_package"})
    messages: list[str] = []
    assert [each.name for each in load(None, messages.append)] == ["add"]
    assert messages == ["triton points are skipped: No module named 'no_such_package'"]
    with pytest.raises(InputError, match="nothing to measure: expected triton points"):
        load("triton", messages.append)


def test_progress_says_what_is_left() -> None:
    clock = Clock()
    out = io.StringIO()
    progress = Progress(100, until_s=500.0, clock=clock, out=out)
    assert progress.eta_s == pytest.approx(10.0)  # 0.1 s a point, before any was timed
    clock.now_s, progress.done = 40.0, 20
    assert progress.eta_s == 160.0  # 80 points at 2 s each
    assert progress.line("add") == "20/100 points, 2 min 40 s left: add"
    progress.failures, clock.now_s = 3, 480.0
    # the time limit comes first
    assert progress.line("add") == "20/100 points, 3 failed, 20 s left: add"
    for clock.now_s in (480.0, 485.0, 491.0):
        progress.show("add")
    assert len(out.getvalue().splitlines()) == 2  # one in 10 s
    assert spoken(59.6) == "1 min 0 s" and spoken(9.4) == "9 s"
