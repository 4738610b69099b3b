"""Lanes, arrows, the overview and the axis of time, as painted."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, log10

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen

from app.quantities import seconds, seconds_unit
from app.scenes.pixel_scale import Scale
from app.scenes.ticks import linear_ticks
from app.scenes.timeline import (
    GPU_KINDS,
    HOST_KINDS,
    HOST_WAIT,
    LAUNCHES,
    SYNC_WAIT,
    WAITS,
    Lanes,
    Slices,
    visible,
)
from app.theme import LABEL_PX, mixed
from app.widgets.paint import Paint, faint, width
from simulator.prediction import REGIMES

IDLE = (HOST_WAIT, SYNC_WAIT, WAITS)
_NAMED_PX, _ARROW_PX, _STUB_PX = 20.0, 7.0, 26.0
_STEADY = 0.55  # of a label's ground


@dataclass(frozen=True)
class Rows:
    """Where the lanes stand, from the top down; `left` is the width of their names."""

    overview: QRectF
    outer: QRectF
    inner: QRectF
    host: QRectF
    gpu: QRectF

    @property
    def area(self) -> QRectF:
        """All but the overview."""
        return QRectF(self.outer.topLeft(), self.gpu.bottomRight())


def axis(paint: Paint, x: Scale, at: float, top: float, bottom: float) -> None:
    """Round times with their lines."""
    scale, unit = seconds_unit(max(abs(x.high), 1e-12))
    room = max(2, int((x.end - x.begin) / 84))
    ticks = linear_ticks(x.low / scale, x.high / scale, room)
    step = ticks[1] - ticks[0] if len(ticks) > 1 else max(ticks[0], 1e-9) if ticks else 1.0
    places = max(0, -floor(log10(step) + 1e-9))
    for index, value in enumerate(ticks):
        where = x.at(value * scale)
        paint.line([(where, top), (where, bottom)], paint.theme.grid)
        words = f"{value:,.{places}f}" + (f" {unit}" if index == 0 else "")
        half = width(words) / 2
        where = min(max(where, x.begin + half), x.end - half)
        paint.text(where, at, words, paint.theme.ink3, align=0.5)


def columns(
    paint: Paint,
    runs: list[tuple[int, int, int]],
    kinds: tuple[str, ...],
    row: QRectF,
    strength: float = 1.0,
) -> None:
    """What is narrower than a pixel: columns in the manner of the kind that fills most of each."""
    painter = paint.painter
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    shapes: dict[int, QPainterPath] = {}
    for begin, end, kind in runs:
        shape = shapes.setdefault(kind, QPainterPath())
        shape.addRect(QRectF(begin, round(row.top()), end - begin, round(row.height())))
    for kind, shape in shapes.items():
        fill(paint, shape, kinds[kind], strength)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)


def fill(paint: Paint, shape: QPainterPath | QRectF, kind: str, strength: float = 1.0) -> None:
    """A slice's ground by its kind."""
    theme = paint.theme
    if kind in REGIMES:
        paint.area(shape, kind, strength, radius=2)
    elif kind in IDLE:
        paint.area(shape, "idle", strength)
    else:
        ground = theme.bg3 if kind == LAUNCHES else mixed(theme.line2, theme.bg1, 0.6)
        paint.area(shape, ground, radius=2)


def gpu_lane(paint: Paint, lanes: Lanes, x: Scale, row: QRectF) -> None:
    """Kernels coloured by regime, idle time hatched, both named where there is room."""
    theme, slices = paint.theme, lanes.gpu
    seen = visible(slices, x)
    columns(paint, seen.runs, GPU_KINDS, row)
    grounds: list[tuple[float, float, int, int]] = []
    for place, left, right in zip(seen.wide, seen.left, seen.right, strict=True):
        begin, end = max(float(left), x.begin), min(float(right), x.end)
        kind = int(slices.kind[place])
        gap = 1.0 if right - left >= 4 and GPU_KINDS[kind] in REGIMES else 0.0
        fill(paint, QRectF(begin, row.top(), end - begin - gap, row.height()), GPU_KINDS[kind])
        if end - begin >= _NAMED_PX:
            grounds.append((begin, end - gap, kind, int(slices.of[place])))
    for begin, end, kind, of in grounds:
        middle, room = (begin + end) / 2, end - begin - 6
        name = GPU_KINDS[kind]
        if name in IDLE:
            words = next((w for w in (name, name.rpartition(" ")[2]) if width(w) + 14 < room), "")
            if words:
                paint.pill(middle, row.center().y(), words, theme.overhead.ink)
            continue
        words = lanes.kernel_label(of)
        if width(words, LABEL_PX, 600) + (10 if kind else 0) <= room:
            if kind:  # patterned: the name stands on a ground of its own
                paint.pill(middle, row.center().y(), words, theme.ink, weight=600)
            else:
                ink = theme.bg0 if theme.name == "dark" else theme.bg2
                paint.text(middle, row.center().y(), words, ink, weight=600, align=0.5)


def host_lane(paint: Paint, lanes: Lanes, x: Scale, row: QRectF) -> None:
    """Ops that launch as boxes with their names, the others quiet."""
    theme, slices = paint.theme, lanes.host
    seen = visible(slices, x)
    if not seen.wide.size and not seen.runs:
        paint.text(row.left() + 4, row.center().y(), _launched(lanes), theme.ink3)
    columns(paint, seen.runs, HOST_KINDS, row)
    for place, left, right in zip(seen.wide, seen.left, seen.right, strict=True):
        begin, end = max(float(left), x.begin), min(float(right), x.end)
        kind = HOST_KINDS[slices.kind[place]]
        box = QRectF(begin, row.top(), max(1.0, end - begin - 1), row.height())
        if kind != LAUNCHES:
            quiet = box if kind == WAITS else box.adjusted(0, 3, 0, -3)
            fill(paint, quiet, kind)
            words = "waits for a sync" if kind == WAITS else ""
        else:
            paint.area(
                box, theme.bg3, edge=theme.line2 if box.width() > 5 else "", radius=3, edge_px=1.0
            )
            words = lanes.host_label(int(slices.of[place]))
        if words and width(words) + 5 <= box.width():
            paint.text(box.center().x(), row.center().y(), words, theme.ink, align=0.5)
    host_done(paint, lanes, x, row)


def host_done(paint: Paint, lanes: Lanes, x: Scale, row: QRectF) -> None:
    """Why the host's lane is empty from here on, where there is room to say it."""
    ends = lanes.host.end_s
    left = max(x.begin, min(x.end, x.at(float(ends[-1])))) if ends.size else x.begin
    words = _launched(lanes)
    if x.begin < left and left + width(words) + 40 < x.end:
        paint.text(left + 24, row.center().y(), words, paint.theme.ink3)


def _launched(lanes: Lanes) -> str:
    """Why the host does nothing here."""
    issue = lanes.prediction.schedule.issue_s
    if not issue.size:
        return "nothing is launched"
    at = seconds(float(issue[-1]))
    if lanes.prediction.mode == "cuda_graph":
        return f"one graph holds every kernel, launched at {at}"
    return f"the host is done, the last launch was at {at}"


def module_row(paint: Paint, slices: Slices, x: Scale, row: QRectF) -> None:
    """Whose the ops below are; a name stays in view while its slice does."""
    theme = paint.theme
    seen = visible(slices, x, 3.0)
    ground = mixed(theme.bg3, theme.bg1, 0.75)
    for place, left, right in zip(seen.wide, seen.left, seen.right, strict=True):
        begin, end = max(float(left), x.begin), min(float(right), x.end)
        paint.area(QRectF(begin, row.top(), max(1.0, end - begin - 1), row.height()), ground)
        words = slices.names[slices.of[place]]
        for short in (words, ".".join(words.split(".")[-2:]), words.rpartition(".")[2]):
            if not short.isdecimal() and width(short, LABEL_PX, mono=True) + 10 <= end - begin:
                paint.text(begin + 6, row.center().y(), short, theme.ink2, mono=True)
                break


def arrows(paint: Paint, lanes: Lanes, x: Scale, rows: Rows, strong: list[int]) -> None:
    """From where the host launched a kernel to where the GPU starts it: those in view, as many as
    stand apart; the chosen ones strong."""
    s, theme = lanes.prediction.schedule, paint.theme
    each = lanes.launching
    first = int(np.searchsorted(s.start_s[each], x.low))
    last = int(np.searchsorted(s.issue_s[each], x.high, "right"))
    near = each[first:last]
    starts = x.many(s.start_s[near])
    quiet, tips = QPainterPath(), QPainterPath()
    before = -1e9
    for kernel, start in zip(near.tolist(), starts.tolist(), strict=True):
        if start - before >= _ARROW_PX:
            before = start
            issue = x.at(float(s.issue_s[kernel]))
            if issue < x.begin - 1 or start > x.end + 1:
                _stub(quiet, tips, issue, start, x, rows)
            else:
                _arrow(quiet, tips, issue, start, rows)
        if start > x.end + 2000:
            break
    _stroke(paint, quiet, tips, mixed(theme.ink3, theme.bg1, 0.8), 1.0)
    bold, bold_tips = QPainterPath(), QPainterPath()
    for kernel in strong[:100]:
        issue, start = x.at(float(s.issue_s[kernel])), x.at(float(s.start_s[kernel]))
        if start >= x.begin and issue <= x.end:
            _arrow(bold, bold_tips, issue, start, rows, 4.5)
    _stroke(paint, bold, bold_tips, theme.ink, 2.0)


def _arrow(
    path: QPainterPath, tips: QPainterPath, begin: float, end: float, rows: Rows, tip: float = 3.0
) -> None:
    top, bottom = rows.host.bottom() + 1, rows.gpu.top() - 1
    bend = 0.55 * (bottom - top)
    path.moveTo(begin, top)
    path.cubicTo(begin, top + bend, end, bottom - bend - tip, end, bottom - tip)
    tips.moveTo(end, bottom)
    tips.lineTo(end - tip, bottom - 1.7 * tip)
    tips.lineTo(end + tip, bottom - 1.7 * tip)
    tips.closeSubpath()


def _stub(
    path: QPainterPath, tips: QPainterPath, begin: float, end: float, x: Scale, rows: Rows
) -> None:
    """The visible end of an arrow whose other end is out of view."""
    top, bottom = rows.host.bottom() + 1, rows.gpu.top() - 1
    high, tip = min(_STUB_PX, 0.45 * (bottom - top)), 3.0
    if begin >= x.begin:
        path.moveTo(begin, top)
        path.cubicTo(
            begin, top + 0.7 * high, begin + 0.4 * high, top + high, begin + high, top + high
        )
    if end <= x.end:
        path.moveTo(end - high, bottom - high)
        path.cubicTo(end - 0.4 * high, bottom - high, end, bottom - 0.7 * high, end, bottom - tip)
        tips.moveTo(end, bottom)
        tips.lineTo(end - tip, bottom - 1.7 * tip)
        tips.lineTo(end + tip, bottom - 1.7 * tip)
        tips.closeSubpath()


def _stroke(paint: Paint, path: QPainterPath, tips: QPainterPath, ink: str, wide: float) -> None:
    painter = paint.painter
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.setPen(QPen(QColor(ink), wide))
    painter.drawPath(path)
    painter.fillPath(tips, QColor(ink))


def overview(paint: Paint, lanes: Lanes, whole: Scale, window: Scale, row: QRectF) -> None:
    """The whole step, host over GPU, with the window on it."""
    theme = paint.theme
    high = row.height()
    thin = QRectF(row.left(), row.top(), row.width(), 0.32 * high)
    broad = QRectF(row.left(), row.top() + 0.42 * high, row.width(), 0.58 * high)
    paint.area(row, mixed(theme.bg0, theme.bg1, 0.6), radius=2)
    for slices, lane in ((lanes.host, thin), (lanes.gpu, broad)):
        seen = visible(slices, whole)
        ends = zip(seen.left.tolist(), seen.right.tolist(), seen.wide.tolist(), strict=True)
        wide = [(round(a), max(round(a) + 1, round(b)), int(slices.kind[k])) for a, b, k in ends]
        columns(paint, [*wide, *seen.runs], slices.kinds, lane)
    left, right = whole.at(window.low), whole.at(window.high)
    if right - left < row.width() - 0.5:
        shade = faint(theme.bg1, _STEADY)
        paint.painter.fillRect(QRectF(row.left(), row.top(), left - row.left(), high), shade)
        paint.painter.fillRect(QRectF(right, row.top(), row.right() - right, high), shade)
    box = QRectF(left, row.top() - 3, max(4.0, right - left), high + 6)
    paint.box(box, "", theme.b, 3, wide=1.6)


def spread(area: QRectF, room: tuple[float, float]) -> Rows:
    """The rows in an area: the arrows take what is left between host and GPU, but not more than
    they need."""
    left, right = area.left() + room[0], area.right() - room[1]
    wide = right - left
    tall = area.height() >= 250
    at = area.top() + 8
    whole = QRectF(left, at, wide, 24 if tall else 18)
    at = whole.bottom() + 26
    outer = QRectF(left, at, wide, 15)
    inner = QRectF(left, outer.bottom() + 1, wide, 15)
    host = QRectF(left, inner.bottom() + 4, wide, 19)
    lane = min(56.0, max(24.0, 0.2 * area.height()))
    below = area.bottom() - 10 - lane
    top = min(below, host.bottom() + max(24.0, min(140.0, 0.34 * area.height())))
    return Rows(whole, outer, inner, host, QRectF(left, ceil(top), wide, floor(lane)))


def chosen(paint: Paint, box: QRectF) -> None:
    """The outline of what is picked or under the pointer."""
    paint.box(box.adjusted(-1, -1, 1, 1), "", paint.theme.ink, 3, wide=2.0)


def band(paint: Paint, left: float, right: float, rows: Rows) -> None:
    """A selected span of time."""
    theme, area = paint.theme, rows.area
    box = QRectF(QPointF(left, area.top() - 2), QPointF(right, area.bottom() + 4))
    paint.painter.fillRect(box, faint(theme.b, 0.13))
    for edge in (left, right):
        paint.line([(edge, box.top()), (edge, box.bottom())], theme.b, 1.6)
