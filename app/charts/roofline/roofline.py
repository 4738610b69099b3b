"""The roofline of a prediction."""

from __future__ import annotations

from app.charts.roofline.axes import axes
from app.charts.roofline.ceilings import ceilings
from app.charts.roofline.frame import ABOVE_PX, Frame
from app.charts.roofline.marks import FEW, marks, names, shapes, spots, trails
from app.charts.roofline.strip import overhead_strip
from app.drawing import Box, Drawing, Group, Metrics
from app.drawing.labels import Labels
from app.scenes.launches import LaunchGroup
from app.scenes.roofline import RooflineScene


def roofline(
    scene: RooflineScene,
    frame: Frame,
    metrics: Metrics,
    picked: frozenset[int] = frozenset(),
    over: LaunchGroup | None = None,
    tooltips: bool = True,
) -> Drawing:
    """Ceilings, a mark per group of launches (its area is the group's share of the time), trails
    from the baseline, and the overhead as a strip. `picked` ops and the group under the pointer are
    ringed. The keys of the spots are the groups; a window shows a card instead of their
    tooltips."""
    area = frame.plot
    drawn = marks(frame, scene.groups)
    labels = Labels(area.grown(-2))
    labels.take(*(Box.around(*at, 0.8 * radius) for _, at, radius in drawn[:FEW]))
    lines, ceiling_names = ceilings(frame, scene.roof, metrics, labels)
    inside = (
        *lines,
        *trails(frame, scene.groups, scene.before),
        *shapes(drawn, bool(scene.before), picked, over),
        *names(drawn, metrics, labels, over),
        *ceiling_names,
    )
    clip = Box.between(area.left - 1, area.top - ABOVE_PX, area.right + 1, area.bottom + 1)
    items = (*axes(frame), Group(inside, clip), *overhead_strip(frame.strip, scene.prediction))
    title = "Roofline: intensity against achieved FLOP/s"
    return Drawing(frame.width, frame.height, items, spots(drawn, tooltips), title)


def frame_of(scene: RooflineScene, width: float, height: float) -> Frame:
    """The geometry of a scene with all of its launches in view."""
    return Frame(width, height, scene.ends, any(not each.flops for each in scene.groups))
