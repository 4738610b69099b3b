"""A sweep as a file."""

from __future__ import annotations

from app.answers.sweeps.sweep import Swept
from app.charts.page import below, head
from app.charts.sweep.choices import choices
from app.charts.sweep.frame import Frame
from app.charts.sweep.sweep import sweep
from app.drawing import Drawing, Metrics
from app.scenes.sweep.scene import scene_of_swept

_WIDTH, _HEIGHT = 1100.0, 640.0
_NO_SHIFT = "No regime shift in this range"
_CHOICES = "Line: 80% interval. Triangle: compute-bound, circle: memory, square: overhead"


def sweep_page(swept: Swept, heading: str, metrics: Metrics) -> Drawing:
    """Step time over an axis with its interval, variants dashed, shares and shifts below."""
    shifts = "; ".join(shift.sentence for shift in swept.shifts)
    about = f"{shifts or _NO_SHIFT}. Band: 80% interval" if swept.line.numeric else _CHOICES
    items, top = head(heading, about, _WIDTH, metrics)
    box = below(top, _WIDTH, _HEIGHT)
    if swept.line.numeric:
        items += sweep(Frame(scene_of_swept(swept), box, titled=True), metrics)
    else:
        items += choices(swept, box, metrics)
    return Drawing(_WIDTH, _HEIGHT, tuple(items), title=heading)
