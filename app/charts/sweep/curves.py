"""The curves of a sweep with their intervals, their measured points and their names."""

from __future__ import annotations

import numpy as np

from app.charts.sweep.frame import Frame, pairs
from app.drawing import (
    Box,
    Group,
    Item,
    Line,
    Marker,
    Metrics,
    Path,
    Pattern,
    Rectangle,
    Role,
    pill,
    polygon,
)
from app.drawing.labels import Labels
from app.quantities import between, plain, seconds
from app.scenes.pixel_scale import Floats
from app.scenes.sweep.scene import DrawnCurve
from app.theme import CURVE_WIDTH, SECOND_WIDTH

_BAND = 0.16  # opacity of an interval
_STEP_PX, _MARGIN_PX = 6.0, 2.0


def does_not_fit(frame: Frame, metrics: Metrics, labels: Labels) -> list[Item]:
    """Hatching over the values at which the step does not fit in the GPU's memory."""
    unfit, top = frame.scene.unfit, frame.top
    if unfit is None:
        return []
    left = frame.x.at(unfit)
    area = Box(left, top.top, max(4.0, top.right - left), top.height)
    words = f"{plain(unfit)} does not fit"
    name = pill(metrics, top.right - 3, top.bottom - 12, words, "danger", anchor="end")
    labels.take(name.box)
    return [Rectangle(area, Pattern("refused")), name]


def curves(frame: Frame, labels: Labels) -> list[Item]:
    """Each curve with its interval, and the first curve's busy time as a dotted line."""
    items: list[Item] = []
    for index, curve in reversed([*enumerate(frame.scene.curves)]):
        if curve.repeats:
            continue
        xs = frame.x.many(curve.values)
        low, high, middle, busy = (
            frame.y.many(curve.columns[n]) for n in ("low_s", "high_s", "period_s", "gpu_busy_s")
        )
        band = polygon([*pairs(xs, low), *reversed(pairs(xs, high))])
        items.append(Path(band, curve.colour, opacity=0.6 * _BAND if index else _BAND))
        if index == 0:
            line = Line(pairs(xs, busy), "ink3", 1.4, "dotted")
            items.append(Group((line,), frame.top))
            _take(labels, xs, busy)
        width, dash = (SECOND_WIDTH, "dashed") if index else (CURVE_WIDTH, "solid")
        items.append(Line(pairs(xs, middle), curve.colour, width, dash))
        _take(labels, xs, middle)
    return items


def _take(labels: Labels, xs: Floats, ys: Floats) -> None:
    """Reserve the room of a curve, so that no label covers it."""
    if xs.size < 2:
        return
    across = np.arange(xs[0], xs[-1], _STEP_PX)
    heights = np.interp(across, xs, ys)
    after = np.append(heights[1:], ys[-1])
    for left, at, following in zip(across.tolist(), heights.tolist(), after.tolist(), strict=True):
        low, high = min(at, following), max(at, following)
        labels.take(Box(left, low - _MARGIN_PX, _STEP_PX, high - low + 2 * _MARGIN_PX))


def crosses(frame: Frame, labels: Labels) -> list[Item]:
    """Measurements: a cross per step time, a small cross per GPU busy time."""
    items: list[Item] = []
    for curve in reversed(frame.scene.curves):
        for point in curve.measured:
            if not frame.x.low <= point.value <= frame.x.high:
                continue
            x, y, reach = frame.x.at(point.value), frame.y.at(point.seconds), 4.8
            reach = 3.4 if point.busy else reach
            labels.take(Box.around(x, y, reach))
            strokes: tuple[tuple[Role, float], ...] = (("bg1", 4.6), (curve.colour, 2.0))
            for colour, width in strokes:
                for up in (-reach, reach):
                    items.append(Line(((x - reach, y - up), (x + reach, y + up)), colour, width))
    return items


def scenarios(frame: Frame, metrics: Metrics, labels: Labels) -> list[Item]:
    """The scenarios' own points: the first with its time, the others hollow."""
    items: list[Item] = []
    for index, curve in reversed([*enumerate(frame.scene.curves)]):
        if curve.here is None or not frame.x.low <= curve.here[0] <= frame.x.high:
            continue
        value, (time, low, high) = curve.here
        x, y = frame.x.at(value), frame.y.at(time)
        labels.take(Box.around(x, y, 7))
        if index:
            items.append(Marker(x, y, None, 4.6, curve.colour, True, edge_width=1.8))
            continue
        upright = ((x, frame.top.top), (x, frame.below.bottom))
        items.append(Line(upright, "ink", 1.4, casing="bg1"))
        labels.take(Box(x - 2, frame.top.top, 4, frame.top.height))
        items.append(Marker(x, y, None, 5.6, "bg1", edge_width=2.2))
        items += _beside(
            x, y, 8, f"{seconds(time)}, {between(low, high, time)}", "ink", 600, metrics, labels
        )
    return items


def _beside(
    x: float,
    y: float,
    reach: float,
    words: str,
    colour: Role,
    weight: int,
    metrics: Metrics,
    labels: Labels,
) -> list[Item]:
    box = pill(metrics, 0, 0, words, weight=weight).box
    room = labels.beside(x, y, reach, box.width, box.height)
    return [pill(metrics, *room.centre, words, colour, weight=weight)] if room else []


def names(frame: Frame, metrics: Metrics, labels: Labels) -> list[Item]:
    """The names of the curves and of busy time; a curve that the first one covers is named at its
    point."""
    items: list[Item] = []
    scene = frame.scene
    for curve in reversed([curve for curve in scene.curves if curve.name]):
        if not curve.repeats:
            items += _at_curve(frame, curve, "period_s", curve.name, metrics, labels)
        elif curve.here and frame.x.low <= curve.here[0] <= frame.x.high:
            x, y = frame.x.at(curve.here[0]), frame.y.at(curve.here[1][0])
            items += _beside(x, y, 6, curve.name, curve.colour, 500, metrics, labels)
    return [*items, *_at_curve(frame, scene.curves[0], "gpu_busy_s", "GPU busy", metrics, labels)]


def _at_curve(
    frame: Frame, curve: DrawnCurve, column: str, words: str, metrics: Metrics, labels: Labels
) -> list[Item]:
    """A name at the first free place above a curve (below the curve of busy time), else on its
    other side."""
    xs, ys = frame.x.many(curve.values), frame.y.many(curve.columns[column])
    busy = column == "gpu_busy_s"
    colour: Role = "ink3" if busy else curve.colour
    box = pill(metrics, 0, 0, words).box
    for share in np.linspace(0.04, 0.96, 24).tolist():
        at = float(xs[0] + share * (xs[-1] - xs[0]))
        on = float(np.interp(at, xs, ys))
        for away in (13.0, 19.0, -13.0) if busy else (-13.0, 13.0, -19.0, 19.0):
            room = Box(at - box.width / 2, on + away - 8, box.width, 16)
            if labels.free(room):
                labels.take(room)
                return [pill(metrics, at, on + away, words, colour)]
    return []
