"""The roofline with everything in view."""

from __future__ import annotations

from app.charts.registry import chart
from app.charts.roofline.roofline import frame_of, roofline
from app.drawing import Drawing, Metrics
from app.scenes.launches import launch_groups
from app.scenes.roofline import roofline_scene
from simulator.prediction import Prediction

_ABOUT = "area is the share of GPU time; hover over a mark for its figures"


@chart("Roofline", _ABOUT, height=420, view="roofline.view")
def whole_roofline(
    prediction: Prediction, width: float, height: float, metrics: Metrics
) -> Drawing | None:
    """The roofline; None if no kernel has FLOPs."""
    groups = launch_groups(prediction)
    if not any(each.flops for each in groups):
        return None
    scene = roofline_scene(prediction, groups)
    return roofline(scene, frame_of(scene, width, height), metrics)
