"""Painting of the lanes, the overview, the time axis and the selection."""

from __future__ import annotations

from math import floor, log10

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QPainter, QPainterPath

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
from app.views.timeline.rows import Rows
from app.widgets.paint import Paint, faint, width
from simulator.prediction import REGIMES

IDLE = (HOST_WAIT, SYNC_WAIT, WAITS)
_NAMED_PX = 20.0
_SHADE = 0.55  # opacity over what is outside the window


def axis(paint: Paint, x: Scale, at: float, top: float, bottom: float) -> None:
    """Draw round times and their grid lines."""
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
    """Draw slices narrower than a pixel as columns, each in the style of its most frequent kind."""
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
    """Fill a slice in the style of its kind."""
    theme = paint.theme
    if kind in REGIMES:
        paint.area(shape, kind, strength, radius=2)
    elif kind in IDLE:
        paint.area(shape, "idle", strength)
    else:
        ground = theme.bg3 if kind == LAUNCHES else mixed(theme.line2, theme.bg1, 0.6)
        paint.area(shape, ground, radius=2)


def gpu_lane(paint: Paint, lanes: Lanes, x: Scale, row: QRectF) -> None:
    """Draw kernels coloured by regime and idle time hatched, with names where they fit."""
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
    for begin, end, kind, kernel in grounds:
        middle, room = (begin + end) / 2, end - begin - 6
        name = GPU_KINDS[kind]
        if name in IDLE:
            words = next((w for w in (name, name.rpartition(" ")[2]) if width(w) + 14 < room), "")
            if words:
                paint.pill(middle, row.center().y(), words, theme.overhead.ink)
            continue
        words = lanes.kernel_label(kernel)
        if width(words, LABEL_PX, 600) + (10 if kind else 0) <= room:
            if kind:  # a patterned slice: the name needs a background
                paint.pill(middle, row.center().y(), words, theme.ink, weight=600)
            else:
                ink = theme.bg0 if theme.name == "dark" else theme.bg2
                paint.text(middle, row.center().y(), words, ink, weight=600, align=0.5)


def host_lane(paint: Paint, lanes: Lanes, x: Scale, row: QRectF) -> None:
    """Draw ops that launch kernels as named boxes, and the other ops muted."""
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
            words = "waiting for a sync" if kind == WAITS else ""
        else:
            paint.area(
                box, theme.bg3, edge=theme.line2 if box.width() > 5 else "", radius=3, edge_px=1.0
            )
            words = lanes.host_label(int(slices.of[place]))
        if words and width(words) + 5 <= box.width():
            paint.text(box.center().x(), row.center().y(), words, theme.ink, align=0.5)
    host_done(paint, lanes, x, row)


def host_done(paint: Paint, lanes: Lanes, x: Scale, row: QRectF) -> None:
    """Explain, if there is room, why the host's lane is empty from here on."""
    ends = lanes.host.end_s
    left = max(x.begin, min(x.end, x.at(float(ends[-1])))) if ends.size else x.begin
    words = _launched(lanes)
    if x.begin < left and left + width(words) + 40 < x.end:
        paint.text(left + 24, row.center().y(), words, paint.theme.ink3)


def _launched(lanes: Lanes) -> str:
    """Explain why the host does nothing here."""
    issue = lanes.prediction.schedule.issue_s
    if not issue.size:
        return "no kernel is launched"
    at = seconds(float(issue[-1]))
    if lanes.prediction.mode == "cuda_graph":
        return f"one graph with every kernel, launched at {at}"
    return f"host done; last launch at {at}"


def module_row(paint: Paint, slices: Slices, x: Scale, row: QRectF) -> None:
    """Draw the modules of the ops below; a name stays in view while its slice does."""
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


def overview(paint: Paint, lanes: Lanes, whole: Scale, window: Scale, row: QRectF) -> None:
    """Draw the whole step, host above GPU, with the window outlined."""
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
        shade = faint(theme.bg1, _SHADE)
        paint.painter.fillRect(QRectF(row.left(), row.top(), left - row.left(), high), shade)
        paint.painter.fillRect(QRectF(right, row.top(), row.right() - right, high), shade)
    box = QRectF(left, row.top() - 3, max(4.0, right - left), high + 6)
    paint.box(box, "", theme.b, 3, wide=1.6)


def outline(paint: Paint, box: QRectF) -> None:
    """Outline a slice that is picked or under the pointer."""
    paint.box(box.adjusted(-1, -1, 1, 1), "", paint.theme.ink, 3, wide=2.0)


def band(paint: Paint, left: float, right: float, rows: Rows) -> None:
    """Draw a selected time range."""
    theme, area = paint.theme, rows.area
    box = QRectF(QPointF(left, area.top() - 2), QPointF(right, area.bottom() + 4))
    paint.painter.fillRect(box, faint(theme.b, 0.13))
    for edge in (left, right):
        paint.line([(edge, box.top()), (edge, box.bottom())], theme.b, 1.6)
