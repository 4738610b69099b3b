"""The timeline of a whole step."""

from __future__ import annotations

from app.charts.registry import chart
from app.charts.timeline.frame import Frame
from app.charts.timeline.timeline import timeline
from app.drawing import Drawing, Metrics
from app.scenes.timeline.lanes import lanes
from simulator.prediction import Prediction


@chart("Timeline", "host over GPU; hatched is waiting", height=250, view="timeline.view")
def whole_timeline(
    prediction: Prediction, width: float, height: float, metrics: Metrics
) -> Drawing | None:
    """The timeline; None if no kernel runs."""
    if not prediction.kernel_count:
        return None
    step = lanes(prediction)
    frame = Frame(width, height, (0.0, step.span_s), step.span_s, overview=False)
    return timeline(step, frame, metrics)
