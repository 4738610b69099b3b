"""A timeline of more than 50,000 slices: the lanes, and the picture after each key of a zoom."""

import time
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtTest import QTest

from app.drawing import Box, Fill, Mix, Pattern, Rectangle, Rectangles
from app.scenes.timeline.lanes import Lanes, lanes
from app.theme import DARK
from app.views.timeline.canvas import TimelineCanvas
from app.widgets.drawn import render
from app.widgets.paint import Paint
from simulator.prediction import Prediction
from tests.benchmarks.timeline_zoom import COUNT, long_step


@pytest.fixture(scope="module")
def long() -> Prediction:
    return long_step(COUNT)


@pytest.fixture(scope="module")
def many(long: Prediction) -> Lanes:
    return lanes(long)


@pytest.fixture(scope="module")
def few() -> Lanes:
    """A tenth of the slices of `many`."""
    return lanes(long_step(COUNT // 10))


def quickest_s(run: Any, times: int = 3) -> float:
    """The smallest processor time of several runs."""
    each: list[float] = []
    for _ in range(times):
        begin = time.process_time()
        run()
        each.append(time.process_time() - begin)
    return min(each)


def test_the_lanes_of_a_long_step_are_cut_in_time(long: Prediction, many: Lanes) -> None:
    assert many.gpu.count > COUNT and many.host.count > 0.8 * COUNT
    assert quickest_s(lambda: lanes(long)) < 0.1


def canvas_of(step: Lanes, ratio: int) -> TimelineCanvas:
    canvas = TimelineCanvas(DARK)
    canvas.resize(1400 * ratio, 420 * ratio)
    canvas.set(step)
    canvas.show()
    return canvas


def draw(canvas: TimelineCanvas) -> None:
    low, high = canvas.span
    canvas.span = low, high * (1 + 1e-12)  # forces a new drawing
    canvas.redraw()
    canvas.grab()


@pytest.mark.parametrize("ratio", [1, 2])
def test_the_time_of_a_zoom_depends_on_pixels_and_not_on_slices(
    application: Any, many: Lanes, few: Lanes, ratio: int
) -> None:
    """From the whole step to single kernels, at 1,400 and at 2,800 pixels: with ten times the
    slices it takes less than twice the time. `tests.benchmarks explorer` measures the times."""
    long, short = canvas_of(many, ratio), canvas_of(few, ratio)
    for press in range(8):
        for _ in range(3):
            QTest.keyClick(long, Qt.Key.Key_W)
        short.look(0.0, long.span[1] - long.span[0])
        times_s = [quickest_s(lambda c=canvas: draw(c), 2) for canvas in (long, short)]
        assert times_s[0] < 2 * times_s[1], (press, times_s)
    long.close()
    short.close()


@pytest.mark.parametrize("fill", ["bg3", Mix("ink", 0.4), Pattern("idle"), Pattern("memory")])
def test_boxes_painted_together_look_like_each(application: Any, fill: Fill) -> None:
    boxes = [Box(x, 4, 1 + x % 3, 20) for x in range(2, 90, 5)]
    together = Rectangles(boxes, fill, crisp=True, opacity=0.8)
    alone = [Rectangles([box], fill, crisp=True, opacity=0.8) for box in boxes]
    assert painted(together) == painted(*alone) != painted()


def painted(*items: Rectangle | Rectangles) -> QImage:
    image = QImage(100, 30, QImage.Format.Format_RGB32)
    image.fill(QColor(DARK.bg1))
    painter = QPainter(image)
    render(items, Paint(painter, DARK))
    painter.end()
    return image
