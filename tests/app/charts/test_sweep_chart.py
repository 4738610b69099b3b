"""Sweeps as drawings."""

from dataclasses import replace

import pytest

from app.answers.sweeps.axes import line
from app.answers.sweeps.sweep import Swept, swept
from app.charts.sweep.choices import choices
from app.charts.sweep.frame import Frame
from app.charts.sweep.page import sweep_page
from app.charts.sweep.sweep import sweep
from app.drawing import (
    TABULATED,
    Box,
    Item,
    Line,
    Marker,
    Path,
    Pattern,
    Pill,
    Rectangle,
    Text,
)
from app.drawing.colours import STACK
from app.scenes.sweep.scene import scene_of_swept
from simulator.scenario.scenario import Scenario
from simulator.whatif import apply

BOX = Box(10, 20, 900, 500)


@pytest.fixture(scope="module")
def found() -> Swept:
    first = Scenario("mlp-tiny")
    variants = {"baseline": first, "+cuda_graph": apply(first, "cuda_graph", {})}
    return swept(variants, line(first, "batch=1:1048576"))


@pytest.fixture(scope="module")
def frame(found: Swept) -> Frame:
    return Frame(scene_of_swept(found), BOX, titled=True)


def words_of(items: list[Item] | tuple[Item, ...]) -> list[str]:
    texts = (i.text if isinstance(i, Pill) else i for i in items)
    return [text.words for text in texts if isinstance(text, Text)]


def test_curves_run_through_their_points(found: Swept, frame: Frame) -> None:
    lines = [i for i in sweep(frame, TABULATED) if isinstance(i, Line)]
    solid, dashed = (
        next(i for i in lines if i.colour == colour and i.width == width)
        for colour, width in (("ink", 2.4), ("b", 1.6))
    )
    assert dashed.dash == "dashed"
    for drawn, each in ((solid, found.sweeps[0]), (dashed, found.sweeps[1])):
        for row in (0, 7, 20):
            expected = frame.x.at(2.0**row), frame.y.at(float(each.columns["period_s"][row]))
            assert min(abs(x - expected[0]) + abs(y - expected[1]) for x, y in drawn.points) < 1e-6
    tried = [value for value, _ in found.tried]
    assert tried and len(solid.points) == len({2.0**i for i in range(21)} | set(tried))


def test_shares_are_stacked_to_the_whole(frame: Frame) -> None:
    bands = [
        i for i in sweep(frame, TABULATED) if isinstance(i, Path) and isinstance(i.fill, Pattern)
    ]
    first = frame.scene.curves[0]
    assert [b.fill for b in bands] == [Pattern(r) for r in STACK if first.columns[r].max() > 0]
    ys = [step[2] for band in bands for step in band.steps if len(step) == 3]
    assert max(ys) == pytest.approx(frame.below.bottom)
    assert min(ys) == pytest.approx(frame.below.top)


def test_shifts_are_lines_through_both_halves_with_their_value(found: Swept, frame: Frame) -> None:
    items = sweep(frame, TABULATED)
    firsts = [shift.first for shift in found.shifts if shift.first is not None]
    assert firsts
    drawn = [
        i.points for i in items if isinstance(i, Line) and (i.width, i.dash) == (1.6, "dashed")
    ]
    upright = [p for p in drawn if p[0][0] == p[1][0]]
    assert [p[0][0] for p in upright] == pytest.approx([frame.x.at(first) for first in firsts])
    assert all((p[0][1], p[1][1]) == (frame.top.top, frame.below.bottom) for p in upright)
    assert f"{found.shifts[0].after}-bound from {firsts[0]:,.0f}" in words_of(items)


def test_values_that_do_not_fit_are_hatched(frame: Frame) -> None:
    unfit = replace(frame, scene=replace(frame.scene, unfit=1024.0))
    (area,) = (
        i
        for i in sweep(unfit, TABULATED)
        if isinstance(i, Rectangle) and i.fill == Pattern("refused")
    )
    assert (area.box.left, area.box.right) == pytest.approx((unfit.x.at(1024), unfit.top.right))
    assert "1,024 does not fit" in words_of(sweep(unfit, TABULATED))


def test_labels_cross_no_curve(frame: Frame) -> None:
    items = sweep(frame, TABULATED)
    curves = [i for i in items if isinstance(i, Line) and i.width in (1.6, 2.4)]
    names = [i.box for i in items if isinstance(i, Pill) and i.box.bottom < frame.top.bottom]
    assert len(names) >= 3  # two variants and the GPU busy time
    for box in names:
        assert not any(box.holds(x, y) for curve in curves for x, y in curve.points)


def test_a_single_curve_needs_no_name(found: Swept) -> None:
    alone = replace(found, names=found.names[:1], sweeps=found.sweeps[:1])
    items = sweep(Frame(scene_of_swept(alone), BOX), TABULATED)
    assert "baseline" not in words_of(items)


def test_choices_have_intervals_and_bars() -> None:
    first = Scenario("mlp-tiny")
    variants = {"baseline": first, "+cuda_graph": apply(first, "cuda_graph", {})}
    sweep = swept(variants, line(first, "gpu=h200,l4,b200"))
    items = choices(sweep, BOX, TABULATED)
    marks = [i for i in items if isinstance(i, Marker)]
    assert [m.regime for m in marks] == [s.regime(i) for s in sweep.sweeps for i in range(3)]
    assert [m.edge for m in marks] == ["ink"] * 3 + ["b"] * 3
    bars = [i.box for i in items if isinstance(i, Rectangle)]
    lefts = sorted({box.left for box in bars})
    for left in lefts:
        heights = [box.height for box in bars if box.left == left]
        assert sum(heights) == pytest.approx(0.38 * (500 - 30 - 24 - 44))  # below the times
    assert len(lefts) == 3
    assert {"h200", "l4", "b200", "GPU", "baseline", "+cuda_graph"} <= set(words_of(items))


def test_a_page_names_its_axes(found: Swept) -> None:
    words = words_of(sweep_page(found, "mlp-tiny", TABULATED).items)
    assert {"Step time, ms", "Share of time", "Batch, samples"} <= set(words)
    assert words[1].startswith(found.shifts[0].sentence) and words[1].endswith("Band: 80% interval")
