"""The bytes between ops, as labels of their ribbons."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QRectF

from app.drawing.geometry import Box
from app.drawing.labels import Labels
from app.quantities import data
from app.scenes.fusion import FusionScene, stays
from app.theme import LABEL_PX
from app.widgets.drawn import box_of
from app.widgets.paint import Paint, width
from simulator.analysis.block_diagram import OUTSIDE, Flow

_HIGH = 14.0


def arc_top(scene: FusionScene, box: Callable[[int], QRectF]) -> float:
    """The y coordinate of ribbons that pass over other blocks."""
    return min(box(op).top() for op in scene.blocks) - 26


def over_others(flow: Flow, box: Callable[[int], QRectF], pitch: float) -> bool:
    """Return whether there are blocks between a value's producer and its reader."""
    if OUTSIDE in (flow.maker, flow.reader):
        return False
    return box(flow.reader).left() - box(flow.maker).right() > pitch


def name_flows(
    paint: Paint,
    scene: FusionScene,
    box: Callable[[int], QRectF],
    pitch: float,
    inside: QRectF,
    taken: list[QRectF],
) -> None:
    """Label each value's bytes where it leaves its producer, and on each ribbon that passes over
    other blocks. Labels without room are left out."""
    labels = Labels(box_of(inside))
    labels.take(*map(box_of, taken), *(box_of(box(op)) for op in scene.blocks))
    named: set[tuple[int, int]] = set()
    for flow in sorted(scene.flows, key=lambda f: not over_others(f, box, pitch)):
        if stays(scene, flow) or not flow.bytes or OUTSIDE in (flow.maker, flow.reader):
            continue
        over, words = over_others(flow, box, pitch), data(flow.bytes)
        if not over and (flow.maker, flow.bytes) in named:
            continue
        wide, maker, reader = width(words, LABEL_PX, 500) + 4, box(flow.maker), box(flow.reader)
        middle = (maker.right() + reader.left()) / 2
        thick = flow.bytes * scene.px_per_byte / 2
        off = 13 if any(scene.set_of(op) for op in (flow.maker, flow.reader)) else 3
        places = (
            (arc_top(scene, box) - thick - _HIGH - 4,)
            if over
            else (
                max(maker.bottom(), reader.bottom()) + off,
                min(maker.top(), reader.top()) - off - _HIGH,
            )
        )
        for top in places:
            room = Box(middle - wide / 2, top, wide, _HIGH)
            if labels.free(room):
                labels.take(room)
                named.add((flow.maker, flow.bytes))
                ink = paint.theme.memory.ink
                paint.pill(*room.centre, words, ink)
                break
