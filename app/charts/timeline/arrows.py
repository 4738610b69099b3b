"""Arrows from a launch on the host to its kernel on the GPU."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from app.charts.timeline.frame import Frame, Rows
from app.drawing import Colour, Item, Mix, Path
from app.drawing.items import Step
from app.scenes.pixel_scale import Scale
from app.scenes.timeline.lanes import Floats, Lanes

_APART_PX, _STUB_PX = 7.0, 26.0
_BEYOND_PX = 2000.0
_MOST_THICK = 20
_TIP_PX, _STRONG_TIP_PX = 3.0, 4.5


def arrows(lanes: Lanes, frame: Frame) -> list[Item]:
    """Arrows from launches to the starts of their kernels: the visible ones, thinned until they are
    distinct."""
    s, x, rows, launched = lanes.prediction.schedule, frame.x, frame.rows, lanes.launching
    first = int(np.searchsorted(s.start_s[launched], x.low))
    last = int(np.searchsorted(s.issue_s[launched], x.high, "right"))
    near = launched[first:last]
    starts, issues = x.many(s.start_s[near]), x.many(s.issue_s[near])
    curves: list[Step] = []
    tips: list[Step] = []
    for place in _apart(starts):
        issue, start = float(issues[place]), float(starts[place])
        if issue < x.begin - 1 or start > x.end + 1:
            _stub(curves, tips, issue, start, x, rows)
        else:
            _arrow(curves, tips, issue, start, rows, _TIP_PX)
        if start > x.end + _BEYOND_PX:
            break
    return _drawn(curves, tips, Mix("ink3", 0.8), 1.0)


def _apart(starts: Floats) -> Iterator[int]:
    """Indices of pixels that are at least `_APART_PX` to the right of the last selected one."""
    reached: Floats = np.maximum.accumulate(starts)
    place = 0
    while place < reached.size:
        yield place
        place = int(np.searchsorted(reached, float(starts[place]) + _APART_PX))


def strong_arrows(lanes: Lanes, frame: Frame, kernels: Iterable[int]) -> list[Item]:
    """The visible arrows of some kernels, in a strong colour, thinned until they are distinct."""
    s, x, rows = lanes.prediction.schedule, frame.x, frame.rows
    curves: list[Step] = []
    tips: list[Step] = []
    near = np.unique(np.fromiter(kernels, np.int64))
    starts, issues = x.many(s.start_s[near]), x.many(s.issue_s[near])
    seen = (starts >= x.begin) & (issues <= x.end)
    starts, issues = starts[seen], issues[seen]
    for place in _apart(starts):
        issue, start = float(issues[place]), float(starts[place])
        if issue >= x.begin - _BEYOND_PX and start <= x.end + _BEYOND_PX:
            _arrow(curves, tips, issue, start, rows, _STRONG_TIP_PX)
    return _drawn(curves, tips, "ink", 2.0 if len(near) <= _MOST_THICK else 1.0)


def _drawn(curves: list[Step], tips: list[Step], colour: Colour, width: float) -> list[Item]:
    if not curves:
        return []
    return [Path(curves, edge=colour, edge_width=width), Path(tips, colour)]


def _arrow(
    curves: list[Step], tips: list[Step], begin: float, end: float, rows: Rows, tip: float
) -> None:
    top, bottom = rows.host.bottom + 1, rows.gpu.top - 1
    bend = 0.55 * (bottom - top)
    curves.append(("M", begin, top))
    curves.append(("C", begin, top + bend, end, bottom - bend - tip, end, bottom - tip))
    _tip(tips, end, bottom, tip)


def _stub(
    curves: list[Step], tips: list[Step], begin: float, end: float, x: Scale, rows: Rows
) -> None:
    """Add the visible end of an arrow whose other end is out of view."""
    top, bottom = rows.host.bottom + 1, rows.gpu.top - 1
    high, tip = min(_STUB_PX, 0.45 * (bottom - top)), _TIP_PX
    if begin >= x.begin:
        turned = begin + 0.4 * high, top + high, begin + high, top + high
        curves.append(("M", begin, top))
        curves.append(("C", begin, top + 0.7 * high, *turned))
    if end <= x.end:
        turned = end, bottom - 0.7 * high, end, bottom - tip
        curves.append(("M", end - high, bottom - high))
        curves.append(("C", end - 0.4 * high, bottom - high, *turned))
        _tip(tips, end, bottom, tip)


def _tip(tips: list[Step], x: float, bottom: float, size: float) -> None:
    high = bottom - 1.7 * size
    tips.extend((("M", x, bottom), ("L", x - size, high), ("L", x + size, high), ("Z",)))
