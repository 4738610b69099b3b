"""A sweep over an axis of numbers."""

from __future__ import annotations

from app.charts.sweep.axes import along, upward
from app.charts.sweep.curves import crosses, curves, does_not_fit, names, scenarios
from app.charts.sweep.frame import Frame
from app.charts.sweep.shares import shares, shift_lines, shift_names
from app.drawing import Box, Item, Metrics
from app.drawing.labels import Labels


def sweep(frame: Frame, metrics: Metrics) -> list[Item]:
    """Times with their intervals on top, the first curve's shares below, regime shifts through
    both."""
    top = frame.top
    labels = Labels(top.grown(-2))
    items = [
        *upward(frame),
        *along(frame, metrics),
        *does_not_fit(frame, metrics, labels),
        *shares(frame, metrics),
        *curves(frame, labels),
        *shift_lines(frame),
    ]
    labels.take(*(Box(at - 2, top.top, 4, top.height) for at in frame.shifts))
    items += crosses(frame, labels)
    items += scenarios(frame, metrics, labels)
    items += shift_names(frame, metrics)
    return [*items, *names(frame, metrics, labels)]
