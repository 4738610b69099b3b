"""Further points of the sweeps' draws, and those that are fitted."""

from __future__ import annotations

from calibration.fit.again import by_curve, thinned
from calibration.measure.further import drawn
from calibration.record.samples import Sample
from calibration.sweeps.registry import OPERATIONS, Operation
from simulator.costs import Work


def test_further_points_are_others_and_the_same_each_time() -> None:
    clone = OPERATIONS["clone"]
    points = clone.further(0.5)
    assert len(points) == round(0.5 * len(clone.points))
    assert points == clone.further(0.5)
    assert not {p.name for p in points} & {p.name for p in clone.points}
    assert points != clone.further(0.5, "second")


def test_sweeps_that_are_not_drawn_have_no_further_points() -> None:
    alone = Operation("alone", "library", lambda: lambda: None, ())
    assert alone.further(2.0) == ()


def test_every_prefix_of_further_points_covers_all_operations() -> None:
    operations = [OPERATIONS[name] for name in ("clone", "fill")]
    points = drawn(operations, 1.0, "", "further")
    assert len(points) == sum(len(each.points) for each in operations)
    half = [point.operation for point in points[: len(points) // 2]]
    for each in operations:
        assert half.count(each.name) >= len(each.points) // 2 - 5
    assert {p.operation for p in drawn(operations, 1.0, "^fill$")} == {"fill"}


def _sample(family: str, number: int) -> Sample:
    return Sample(Work(family, read_bytes=number, write_bytes=number), 0.0, 1e-6 * (1 + number))


def test_a_curve_is_fitted_to_as_many_further_samples_as_there_is_room_for() -> None:
    first, more = ([_sample("softmax", n) for n in range(*r)] for r in ((0, 2400), (2400, 3000)))
    assert len(thinned("softmax", first, more)) == 2500
    fills = thinned("fill", [_sample("fill", n) for n in range(900)], [])
    assert len(fills) == 300  # half of 600; the other half is for further points
    assert {name: len(some) for name, some in by_curve(fills).items()} == {"fill": 300}
