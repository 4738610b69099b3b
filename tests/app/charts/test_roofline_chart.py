"""The roofline as a drawing."""

from dataclasses import replace
from itertools import pairwise

import pytest

from app.charts.roofline.frame import Frame
from app.charts.roofline.marks import distinct_labels, sentence
from app.charts.roofline.roofline import frame_of, roofline
from app.charts.roofline.strip import overhead_strip
from app.drawing import (
    TABULATED,
    Box,
    Drawing,
    Group,
    Item,
    Line,
    Marker,
    Pill,
    Rectangle,
    Text,
)
from app.scenes.launches import LaunchGroup, launch_groups
from app.scenes.roofline import RooflineScene, roofline_scene
from simulator.prediction import Prediction
from simulator.scenario.scenario import Scenario, predict


def scene_of(p: Prediction, before: Prediction | None = None) -> RooflineScene:
    return roofline_scene(p, launch_groups(p), launch_groups(before) if before else None)


def drawn(scene: RooflineScene, over: LaunchGroup | None = None) -> tuple[Drawing, Frame]:
    frame = frame_of(scene, 900, 500)
    return roofline(scene, frame, TABULATED, frozenset(), over), frame


def inside(drawing: Drawing) -> list[Item]:
    (group,) = (item for item in drawing.items if isinstance(item, Group))
    return list(group.items)


def test_marks_are_under_their_roof(tiny_prediction: Prediction) -> None:
    scene = scene_of(tiny_prediction)
    items = inside(drawn(scene)[0])
    (peak,) = (i for i in items if isinstance(i, Line) and (i.colour, i.width) == ("compute", 2.2))
    (slope,) = (i for i in items if isinstance(i, Line) and (i.colour, i.width) == ("memory", 2.2))
    (ridge,) = (i for i in items if isinstance(i, Marker) and i.edge == "ink")
    top = peak.points[0][1]
    assert slope.points[1] == pytest.approx((ridge.x, top)) and ridge.y == pytest.approx(top)
    (x0, y0), (x1, y1) = slope.points
    marks = [i for i in items if isinstance(i, Marker) and i.edge == "bg1"]
    assert len(marks) == len(scene.groups)
    for mark in marks:  # y points downwards
        assert mark.y > top
        assert mark.x < x0 or mark.y > y0 + (y1 - y0) * (mark.x - x0) / (x1 - x0)


def test_one_launch_is_not_plural(tiny_prediction: Prediction) -> None:
    group = replace(launch_groups(tiny_prediction)[0], count=1)
    assert ": 1 launch, " in sentence(group)
    assert ": 1,200 launches, " in sentence(replace(group, count=1200))


def test_a_spot_says_the_figures_of_its_mark(tiny_prediction: Prediction) -> None:
    drawing, frame = drawn(scene_of(tiny_prediction))
    heaviest = drawing.spots[0]
    group = heaviest.key
    assert isinstance(group, LaunchGroup)
    assert heaviest.box.centre == pytest.approx(frame.place(group))
    assert drawing.pick(*frame.place(group)) is not None
    assert heaviest.tooltip.startswith(f"{group.label}, {group.shape} {group.dtype}: ")
    assert f"{group.regime}-bound" in heaviest.tooltip


def test_the_pointer_rings_its_mark(tiny_prediction: Prediction) -> None:
    scene = scene_of(tiny_prediction)
    plain, frame = drawn(scene)
    over = scene.groups[1]
    (ring,) = (
        item
        for item in inside(drawn(scene, over)[0])
        if isinstance(item, Rectangle) and item.edge == "ink"
    )
    assert ring.box.centre == pytest.approx(frame.place(over))
    assert not any(isinstance(i, Rectangle) and i.edge == "ink" for i in inside(plain))


def test_labels_do_not_overlap(tiny_prediction: Prediction) -> None:
    boxes = [i.box for i in inside(drawn(scene_of(tiny_prediction))[0]) if isinstance(i, Pill)]
    assert len(boxes) > 3
    for index, box in enumerate(boxes):
        assert not any(box.intersects(other) for other in boxes[:index])


def test_a_baseline_is_hollow(tiny_prediction: Prediction) -> None:
    other = predict(Scenario("mlp-tiny", batch=4096))
    scene = scene_of(other, tiny_prediction)
    hollow = [i for i in inside(drawn(scene)[0]) if isinstance(i, Marker) and i.edge == "a"]
    assert len(hollow) == len(scene.before) and all(mark.hollow for mark in hollow)
    alone = replace(scene, before=())
    assert not any(isinstance(i, Marker) and i.edge == "a" for i in inside(drawn(alone)[0]))


@pytest.mark.parametrize("high", [20.0, 66.0, 85.0, 112.0, 300.0])
def test_the_names_next_to_the_overhead_do_not_overlap(
    tiny_prediction: Prediction, high: float
) -> None:
    items = overhead_strip(Box(0, 40, 16, high), tiny_prediction)
    texts = [item for item in items if isinstance(item, Text) and item.x > 16]
    names, values = texts[::2], texts[1::2]
    rows = sorted(text.y for text in texts)
    assert all(below - above >= 13 for above, below in pairwise(rows))  # lines are 14 px high
    assert len(names) == len(values) == min(4, 1 + int(max(0, high - 24) / 30))
    assert rows[0] >= 40 and rows[-1] <= 40 + max(high, 24)
    assert names[0].words == "host wait"  # the largest part


def test_marks_with_the_same_label_are_told_apart(tiny_prediction: Prediction) -> None:
    first = launch_groups(tiny_prediction)[0]
    groups = [
        replace(first, label="layers", family="gemm", shape="4×5×6"),
        replace(first, label="layers", family="gemm", shape="7×8×9"),
        replace(first, label="layers", family="attention", shape="2·8·4×4×64"),
        replace(first, label="head", family="gemm", shape="1×2×3"),
    ]
    labels = ["layers 4×5×6", "layers 7×8×9", "layers attention", "head"]
    assert distinct_labels(groups) == labels
    scene = replace(scene_of(tiny_prediction), groups=tuple(groups))
    written = {item.text.words for item in inside(drawn(scene)[0]) if isinstance(item, Pill)}
    assert not any(words.startswith("layers ×") for words in written)
