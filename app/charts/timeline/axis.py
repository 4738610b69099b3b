"""The time axis, the names of the rows, and the overview of the whole step."""

from __future__ import annotations

from math import floor, log10

from app.charts.timeline.frame import Frame
from app.charts.timeline.lanes import columns
from app.drawing import Box, Item, Line, Metrics, Mix, Rectangle, Role, Text
from app.quantities import seconds_unit
from app.scenes.ticks import linear_ticks
from app.scenes.timeline.lanes import Lanes, visible
from app.theme import LABEL_PX, SUPPORT_PX

_TICK_PX = 84.0
_SHADE = 0.55  # opacity of the shade outside the window


def axis(frame: Frame, metrics: Metrics) -> list[Item]:
    """Round times and their grid lines."""
    x, rows = frame.x, frame.rows
    scale, unit = seconds_unit(max(abs(x.high), 1e-12))
    room = max(2, int((x.end - x.begin) / _TICK_PX))
    ticks = linear_ticks(x.low / scale, x.high / scale, room)
    step = ticks[1] - ticks[0] if len(ticks) > 1 else max(ticks[0], 1e-9) if ticks else 1.0
    places = max(0, -floor(log10(step) + 1e-9))
    items: list[Item] = []
    for index, value in enumerate(ticks):
        at = x.at(value * scale)
        items.append(Line(((at, rows.area.top - 3), (at, rows.gpu.bottom + 6)), "grid"))
        words = f"{value:,.{places}f}" + (f" {unit}" if index == 0 else "")
        half = metrics.width(words) / 2
        at = min(max(at, x.begin + half), x.end - half)
        items.append(Text(at, rows.overview.bottom + 14, words, "ink3", anchor="middle"))
    return items


def row_names(frame: Frame) -> list[Item]:
    """The names of the rows, left of them."""
    rows = frame.rows
    host, gpu = rows.host.centre[1], rows.gpu.centre[1]
    flat = gpu - 8 - host < 14  # two names would touch
    names: list[tuple[str, float, Role, bool]] = [
        ("Host", rows.outer.centre[1], "ink", True),
        ("modules", rows.inner.centre[1], "ink3", False),
        ("ops, views", host - (4 if flat else 0), "ink3", False),
        ("GPU", gpu - 8, "ink", True),
        ("kernels", gpu + 8, "ink3", False),
    ]
    if frame.overview:
        names.append(("Whole step", rows.overview.centre[1], "ink3", False))
    return [
        Text(14, y, words, ink, SUPPORT_PX if bold else LABEL_PX, 600 if bold else 400)
        for words, y, ink, bold in names
    ]


def overview(lanes: Lanes, frame: Frame) -> list[Item]:
    """The whole step, host above GPU, with the visible time range outlined."""
    row, window, whole = frame.rows.overview, frame.x, frame.whole
    thin = Box(row.left, row.top, row.width, 0.32 * row.height)
    broad = Box(row.left, row.top + 0.42 * row.height, row.width, 0.58 * row.height)
    items: list[Item] = [Rectangle(row, Mix("bg0", 0.6), radius=2)]
    for slices, lane in ((lanes.host, thin), (lanes.gpu, broad)):
        seen = visible(slices, whole)
        ends = zip(seen.left.tolist(), seen.right.tolist(), seen.wide.tolist(), strict=True)
        wide = [(round(a), max(round(a) + 1, round(b)), int(slices.kind[k])) for a, b, k in ends]
        items += columns([*wide, *seen.runs], slices.kinds, lane)
    left, right = whole.at(window.low), whole.at(window.high)
    if right - left < row.width - 0.5:
        for begin, end in ((row.left, left), (right, row.right)):
            outside = Box.between(begin, row.top, end, row.bottom)
            items.append(Rectangle(outside, "bg1", opacity=_SHADE))
    box = Box(left, row.top - 3, max(4.0, right - left), row.height + 6)
    return [*items, Rectangle(box, edge="b", edge_width=1.6, radius=3)]
