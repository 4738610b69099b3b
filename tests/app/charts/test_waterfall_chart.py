"""Waterfalls as drawings."""

from dataclasses import replace
from itertools import pairwise

import pytest

from app.charts.waterfall.frame import End, Frame
from app.charts.waterfall.waterfall import comparison_page, waterfall, waterfall_page
from app.drawing import (
    TABULATED,
    Box,
    Item,
    Line,
    Marker,
    Mix,
    Pattern,
    Pill,
    Rectangle,
    Text,
)
from app.quantities import seconds
from simulator.analysis.compare import Waterfall, compare
from simulator.analysis.compare import waterfall as waterfall_of
from simulator.scenario.scenario import Scenario
from simulator.whatif import apply

ENDS = (End("Today", "a", "A"), End("Later", "b", "B"))


@pytest.fixture(scope="module")
def fall() -> Waterfall:
    a = Scenario("mlp-tiny")
    b = apply(apply(a, "host_speed", {"times": 0.1}), "precision", {"dtype": "fp16"})
    return waterfall_of(a, b)


@pytest.fixture(scope="module")
def frame(fall: Waterfall) -> Frame:
    return Frame(Box(20, 30, 900, 500), fall)


def words_of(items: list[Item] | tuple[Item, ...]) -> list[str]:
    texts = (i.text if isinstance(i, Pill) else i for i in items)
    return [text.words for text in texts if isinstance(text, Text)]


def test_bars_are_drawn_at_their_times(fall: Waterfall, frame: Frame) -> None:
    items = waterfall(frame, ENDS, TABULATED)
    bars = [i for i in items if isinstance(i, Rectangle) and isinstance(i.fill, Mix)]
    changes = [bar for bar in bars if bar.radius == 3]
    assert len(changes) == len(fall.steps) == 2
    for bar, step in zip(changes, fall.steps, strict=True):
        ends = frame.y.at(step.period_s), frame.y.at(step.period_s - step.change_s)
        assert (bar.box.top, bar.box.bottom) == pytest.approx(sorted(ends))
        assert bar.edge == ("danger" if step.change_s > 0 else "b")
    wholes = [i for i in items if isinstance(i, Rectangle) and i.edge_width == 2.0]
    for whole, p, colour in zip(wholes, (fall.a, fall.b), ("a", "b"), strict=True):
        assert whole.box.height == pytest.approx(frame.y.at(0) - frame.y.at(p.period_s))
        assert whole.edge == colour
    first = [i for i in items if isinstance(i, Rectangle) and isinstance(i.fill, Pattern)]
    assert first[0].box.height == pytest.approx(
        fall.a.shares["overhead"] * (frame.y.at(0) - frame.y.at(fall.a.period_s))
    )


def test_rings_are_next_to_the_labels_of_their_bars(fall: Waterfall, frame: Frame) -> None:
    items = waterfall(frame, ENDS, TABULATED)
    legend, *rings = (i for i in items if isinstance(i, Marker))
    assert legend.y < frame.plot.top
    labels = [i.box for i in items if isinstance(i, Pill) and i.text.weight == 600]
    assert len(rings) == len(labels) == 2
    for ring, label in zip(rings, labels, strict=True):
        assert not label.grown(ring.radius).holds(ring.x, label.centre[1])
    for ring, step in zip(rings, fall.steps, strict=True):
        assert step.alone_s is not None
        assert ring.y == pytest.approx(frame.y.at(fall.a.period_s + step.alone_s))


def test_whiskers_are_the_intervals(fall: Waterfall, frame: Frame) -> None:
    lines = [i for i in waterfall(frame, ENDS, TABULATED) if isinstance(i, Line)]
    upright = [i.points for i in lines if i.width == 1.5 and i.points[0][0] == i.points[1][0]]
    intervals = [fall.a.interval_s, *(s.interval_s for s in fall.steps), fall.b.interval_s]
    drawn = [sorted((begin[1], end[1]), reverse=True) for begin, end in upright[1:]]
    expected = [[frame.y.at(low), frame.y.at(high)] for low, high in intervals]
    assert [y for each in drawn for y in each] == pytest.approx(
        [y for each in expected for y in each]
    )


def test_nothing_is_drawn_above_the_plot(fall: Waterfall) -> None:
    slow = replace(fall.steps[0], interval_s=(0.5 * fall.a.period_s, 3 * fall.a.period_s))
    frame = Frame(Box(20, 30, 900, 500), replace(fall, steps=(slow, *fall.steps[1:])))
    lines = [i for i in waterfall(frame, ENDS, TABULATED) if isinstance(i, Line)]
    bars = [y for line in lines for x, y in line.points if line.width == 1.5 and x < 600]
    assert (
        min(bars) == pytest.approx(frame.y.at(3 * fall.a.period_s)) and min(bars) >= frame.plot.top
    )


def test_the_bar_under_the_pointer_is_outlined(frame: Frame) -> None:
    plain, over = (waterfall(frame, ENDS, TABULATED, place) for place in (None, 3))
    (outline,) = (i for i in over if i not in plain)
    assert isinstance(outline, Rectangle) and outline.edge == "ink"
    assert outline.box.centre[0] == pytest.approx(frame.column(3).centre[0])


def test_a_page_names_both_ends(fall: Waterfall) -> None:
    page = waterfall_page(fall, "bert & co", ("baseline", "changed"), TABULATED)
    words = words_of(page.items)
    assert words[0] == page.title == "bert & co"
    assert {"baseline", "changed", f"{fall.a.regime}-bound", "this change alone"} <= set(words)
    assert any(each.startswith(seconds(fall.b.period_s)) for each in words)
    assert page.width == 190 + 150 * 4


def test_a_comparison_stacks_a_waterfall_for_each_scenario() -> None:
    sides = [Scenario("mlp-tiny", batch=batch) for batch in (1, 64, 4096)]
    page = comparison_page(compare(sides), ("one", "many", "most"), TABULATED)
    assert page.height == 130 + 2 * 400
    badges = [i for i in page.items if isinstance(i, Text) and i.words in ("A", "B", "C")]
    assert [badge.words for badge in badges] == ["A", "B", "A", "C"]
    rows = sorted({badge.y for badge in badges})
    assert len(rows) == 2
    assert all(below - above > 300 for above, below in pairwise(rows)) and rows[-1] < page.height
