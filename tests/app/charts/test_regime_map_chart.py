"""The regime map as a drawing."""

from dataclasses import replace

import numpy as np
import pytest

from app.answers.sweeps.axes import line
from app.answers.sweeps.regime_map import mapped_over
from app.charts.regime_map.axes import legend
from app.charts.regime_map.frame import Frame, frame_of
from app.charts.regime_map.ground import ground, region
from app.charts.regime_map.lines import lines
from app.charts.regime_map.names import names, times
from app.charts.regime_map.regime_map import regime_map_page
from app.drawing import (
    TABULATED,
    Box,
    Line,
    Marker,
    Mix,
    Pattern,
    Pill,
    Raster,
    Rectangle,
    Rectangles,
    Text,
)
from app.drawing.labels import Labels
from app.scenes.regime_map.scene import Chart, chart_of
from simulator.prediction import REGIMES
from simulator.scenario.scenario import Scenario

BOX = Box(10, 20, 800, 600)


def chart(x: str, y: str) -> Chart:
    scenario = Scenario("mlp-tiny")
    return chart_of(mapped_over(scenario, line(scenario, x), line(scenario, y)))


@pytest.fixture(scope="module")
def smooth() -> Frame:
    frame = frame_of(chart("batch=1:65536:9", "host_speed=0.5:8:5"), BOX, TABULATED)
    assert frame is not None
    return frame


@pytest.fixture(scope="module")
def choices() -> Frame:
    frame = frame_of(chart("batch=1:256:4", "gpu=h200,l4"), BOX, TABULATED)
    assert frame is not None
    return frame


def test_points_are_drawn_at_their_values_and_read_back(smooth: Frame) -> None:
    area, last = smooth.plot, (8, 4)
    assert smooth.pixel((0, 0)) == pytest.approx((area.left, area.bottom))
    assert smooth.pixel(last) == pytest.approx((area.right, area.top))
    # 256 and 2 are the middles on logarithmic axes
    assert smooth.pixel((4, 2)) == pytest.approx(area.centre)
    for spot in ((0, 0), (3, 1), last):
        assert smooth.nearest(*smooth.pixel(spot)) == spot
    assert smooth.cell(area.left + 1, area.bottom - 1) == (0, 0)
    assert smooth.cell(area.left - 1, area.bottom) is None


def test_a_region_is_covered_exactly_once() -> None:
    rng = np.random.default_rng(7)
    inside = rng.random((12, 9)) < 0.4
    covered = np.zeros((12, 9), int)
    for box in region(inside, Box(0, 0, 90, 120)):  # 10 px per cell, with y upwards
        rows = slice(int(12 - box.bottom / 10), int(12 - box.top / 10))
        covered[rows, int(box.left / 10) : int(box.right / 10)] += 1
    assert (covered == inside).all()
    assert len(region(np.ones((12, 9), bool), Box(0, 0, 90, 120))) == 1


def test_each_cell_has_the_colour_of_its_regime(smooth: Frame) -> None:
    raster, *patterns = ground(smooth)
    assert isinstance(raster, Raster) and raster.smooth
    rows, columns = raster.cells.shape
    for at in ((0, 0), (rows - 1, columns - 1), (rows // 2, 0)):
        colour = raster.palette[raster.cells[at]]
        assert isinstance(colour, Mix)
        assert colour.role == REGIMES[smooth.field.largest[rows - 1 - at[0], at[1]]]
        assert 0.22 <= colour.share < 0.701
    fills = [i.fill for i in patterns if isinstance(i, Rectangles)]
    assert Pattern("overhead", ground=False) in fills


def test_points_that_do_not_fit_are_hatched_and_labelled(smooth: Frame) -> None:
    over = np.zeros_like(smooth.field.over)
    over[:, 200:] = True
    frame = replace(smooth, field=replace(smooth.field, over=over))
    (hatched,) = (
        i for i in ground(frame) if isinstance(i, Rectangles) and i.fill == Pattern("refused")
    )
    middle = frame.plot.centre[0]
    assert all(box.left >= middle - 1 for box in hatched.boxes)
    words = [i.words for i in names(frame, TABULATED, Labels(frame.plot)) if isinstance(i, Text)]
    assert words[:2] == ["Does not fit", "needs more than 141 GiB"]


def test_names_are_inside_their_regimes(smooth: Frame) -> None:
    items = names(smooth, TABULATED, Labels(smooth.plot))
    marks = [i for i in items if isinstance(i, Marker)]
    cards = [i.box for i in items if isinstance(i, Rectangle)]
    assert marks and len(marks) == len(cards)
    for mark, box in zip(marks, cards, strict=True):
        for x in (box.left, box.right):
            for y in (box.top, box.bottom):
                cell = smooth.cell(x, y)
                assert cell is not None
                assert REGIMES[smooth.field.largest[cell]] == mark.regime


def test_boundaries_lie_between_two_regimes(smooth: Frame) -> None:
    drawn = [i for i in lines(smooth) if isinstance(i, Line) and i.casing == "bg0"]
    boundaries = smooth.field.mapped.map.boundaries
    assert len(drawn) == sum(len(boundary.lines) for boundary in boundaries) > 0
    x, y = drawn[0].points[len(drawn[0].points) // 2]
    near = {smooth.cell(x + dx, y + dy) for dx in (-14, 14) for dy in (-14, 14)} - {None}
    assert len({int(smooth.field.largest[cell]) for cell in near if cell}) == 2


def test_choices_have_their_times_and_a_legend_of_regimes(choices: Frame) -> None:
    pills = [i for i in times(choices, TABULATED, Labels(choices.plot)) if isinstance(i, Pill)]
    assert len(pills) == 8 - 2 * 2  # at the ends of the smooth axis there is no room
    marks = [i.regime for i in legend(choices, TABULATED) if isinstance(i, Marker)]
    seen = [r for r in REGIMES if choices.field.inside(r).any()]
    assert marks == seen
    assert names(choices, TABULATED, Labels(choices.plot)) == []


def test_a_page_explains_its_colours_and_figures(smooth: Frame, choices: Frame) -> None:
    pages = [regime_map_page(f.field.mapped, "mlp", TABULATED) for f in (smooth, choices)]
    abouts = [page.items[1].words for page in pages if isinstance(page.items[1], Text)]
    colour = "Colour is the largest share, depth is how far it leads"
    assert abouts == [colour, f"{colour}; figures: step time"]
