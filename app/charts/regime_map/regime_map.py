"""A regime map as a file."""

from __future__ import annotations

from app.answers.sweeps.regime_map import Mapped
from app.charts.page import below, head
from app.charts.regime_map.axes import axes, legend
from app.charts.regime_map.frame import frame_of
from app.charts.regime_map.ground import ground
from app.charts.regime_map.lines import lines, time_names
from app.charts.regime_map.names import names, times
from app.drawing import Drawing, Group, Metrics
from app.drawing.labels import Labels
from app.scenes.regime_map.scene import chart_of

WIDTH, HEIGHT = 1000.0, 720.0
_ABOUT = "Colour is the largest share, depth is how far it leads"
_FIGURES = "; figures: step time"


def regime_map_page(mapped: Mapped, heading: str, metrics: Metrics) -> Drawing:
    """The dominant regime over two axes, with boundaries, lines of equal time and the memory
    limit."""
    chart = chart_of(mapped)
    smooth = chart.field is not None and chart.field.smooth
    items, top = head(heading, _ABOUT + ("" if smooth else _FIGURES), WIDTH, metrics)
    frame = frame_of(chart, below(top, WIDTH, HEIGHT), metrics)
    if frame is not None:
        labels = Labels(frame.plot)
        items += [
            *ground(frame),
            *axes(frame, metrics),
            Group(tuple(lines(frame)), frame.plot),
            *names(frame, metrics, labels),
            *(time_names if smooth else times)(frame, metrics, labels),
            *legend(frame, metrics),
        ]
    return Drawing(WIDTH, HEIGHT, tuple(items), title=heading)
