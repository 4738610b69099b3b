"""A timeline of more than 50,000 slices: the lanes, and the picture after each key of a zoom."""

import time
from typing import Any

import pytest
from msgspec import structs
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
from simulator.scenario.scenario import Scenario, predict
from simulator.simulate.step import simulate
from simulator.timing.profile import learned

COUNT, LIMIT_S = 50_000, 0.1


@pytest.fixture(scope="module")
def long_step() -> Prediction:
    """A host-bound step, repeated until the GPU has 50,000 kernels and idle times."""
    p = predict(Scenario("bert-base", batch=1, gpu="h200"))
    times = 2 + COUNT // lanes(p).gpu.count
    repeated = structs.replace(p.trace, ops=p.trace.ops * times)
    return simulate(repeated, p.gpu, p.host, learned(p.gpu.id), "eager")


@pytest.fixture(scope="module")
def many(long_step: Prediction) -> Lanes:
    return lanes(long_step)


def quickest_s(run: Any, times: int = 3) -> float:
    """The processor time of the quickest of several runs."""
    each: list[float] = []
    for _ in range(times):
        begin = time.process_time()
        run()
        each.append(time.process_time() - begin)
    return min(each)


def test_the_lanes_of_a_long_step_are_cut_in_time(long_step: Prediction, many: Lanes) -> None:
    assert many.gpu.count > COUNT and many.host.count > 0.8 * COUNT
    assert quickest_s(lambda: lanes(long_step)) < LIMIT_S


@pytest.mark.parametrize("ratio", [1, 2])
def test_each_zoom_of_many_slices_is_drawn_in_time(
    application: Any, many: Lanes, ratio: int
) -> None:
    """From the whole step to single kernels, at 1,400 and at 2,800 pixels."""
    canvas = TimelineCanvas(DARK)
    canvas.resize(1400 * ratio, 420 * ratio)
    canvas.set(many)
    canvas.show()
    for press in range(22):
        QTest.keyClick(canvas, Qt.Key.Key_W)
        span = canvas.span

        def draw(span: tuple[float, float] = span) -> None:
            canvas.span = span[0], span[1] * (1 + 1e-12)  # so that the drawing is made again
            canvas.redraw()
            canvas.grab()

        assert quickest_s(draw, 2) < LIMIT_S, (press, span)
    canvas.close()


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
