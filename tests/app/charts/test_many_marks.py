"""A roofline of 10,000 groups of launches: light marks are placed and drawn together."""

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QPointF
from PySide6.QtGui import QColor, QImage, QPainter

from app.charts.roofline.marks import FEW, marks, nearest
from app.charts.roofline.roofline import frame_of, roofline
from app.drawing import TABULATED, Drawing, Group, Item, Marker, Markers
from app.drawing.svg import element, variable
from app.scenes.launches import LaunchGroup, launch_groups
from app.scenes.roofline import RooflineScene, roofline_scene
from app.theme import DARK
from app.views.roofline.canvas import RooflineCanvas
from app.widgets.drawing import application
from app.widgets.drawn import render
from app.widgets.paint import Paint
from simulator.prediction import Prediction

COUNT = 10_000


@pytest.fixture(scope="module")
def many(tiny_prediction: Prediction) -> list[LaunchGroup]:
    """Groups whose bytes and times spread around those of a small step."""
    groups = launch_groups(tiny_prediction)
    spread = np.random.default_rng(7).lognormal(0, 0.8, (COUNT, 2))
    rows = [groups[at % len(groups)] for at in range(COUNT)]
    return sorted(
        (
            replace(
                group,
                bytes=max(1, round(group.bytes * float(wide))),
                flops=round(group.flops / COUNT),
                total_s=group.total_s * float(long) / COUNT,
                share=group.share * float(long) * len(groups) / COUNT,
            )
            for group, (wide, long) in zip(rows, spread, strict=True)
        ),
        key=lambda group: -group.total_s,
    )


@pytest.fixture(scope="module")
def scene(tiny_prediction: Prediction, many: list[LaunchGroup]) -> RooflineScene:
    return roofline_scene(tiny_prediction, many)


def test_many_marks_lie_where_each_would_lie(scene: RooflineScene):
    frame = frame_of(scene, 900, 500)
    together = {id(group): (at, radius) for group, at, radius in marks(frame, scene.groups)}
    area = frame.plot.grown(1)
    alone = [group for group in scene.groups if area.holds(*frame.place(group))]
    assert len(together) == len(alone) > COUNT / 2
    for group in alone[::97]:
        at, radius = together[id(group)]
        assert at == pytest.approx(frame.place(group))
        assert radius == pytest.approx(frame.radius(group.share))


def items_of(drawing: Drawing) -> list[Item]:
    inside: list[Item] = []
    for item in drawing.items:
        inside += item.items if isinstance(item, Group) else [item]
    return inside


def test_light_marks_are_drawn_together(scene: RooflineScene):
    frame = frame_of(scene, 900, 500)
    drawn = marks(frame, scene.groups)
    drawing = roofline(scene, frame, TABULATED)
    items = items_of(drawing)
    together = [item for item in items if isinstance(item, Markers)]
    assert sum(len(item.points) for item in together) == len(drawn) - FEW
    assert len(together) < 100
    assert len(drawing.spots) == FEW
    assert element(drawing, variable).count("<circle") + element(drawing, variable).count(
        "<polygon"
    ) >= len(drawn)


def test_a_light_mark_under_the_pointer_is_picked(scene: RooflineScene, many: list[LaunchGroup]):
    running = application()
    canvas = RooflineCanvas(DARK)
    canvas.resize(900, 500)
    canvas.set(scene.prediction, many, [])
    canvas.shown = COUNT
    light = canvas.marks()[FEW:]
    _, at, _ = min(light, key=lambda mark: mark[1][1])  # the highest, apart from the crowd
    assert nearest(light, *at) is not None
    picked = canvas.hit(QPointF(*at))
    assert isinstance(picked, LaunchGroup)
    assert frame_of(scene, 900, 500).place(picked) == pytest.approx(at, abs=8)
    assert canvas.hit(QPointF(2, 2)) is None
    del running


def test_the_copies_of_a_mark_look_like_the_mark():
    running = application()
    images: list[QImage] = []
    points = [(20.0, 20.0), (45.0, 30.0)]
    one = [Marker(*at, "memory", 6.0, "bg1", opacity=0.94) for at in points]
    for items in (one, [Markers(points, "memory", 6.0, "bg1", 0.94)]):
        image = QImage(64, 64, QImage.Format.Format_RGB32)
        image.fill(QColor(DARK.bg1))
        painter = QPainter(image)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        render(items, Paint(painter, DARK))
        painter.end()
        images.append(image)
    pixels = [
        np.frombuffer(image.constBits(), np.uint8).reshape(64, 64, 4).astype(int)
        for image in images
    ]
    assert np.abs(pixels[0] - pixels[1]).max() <= 40  # edges are rounded to another half pixel
    assert np.abs(pixels[0] - pixels[1]).mean() < 0.5
    del running
