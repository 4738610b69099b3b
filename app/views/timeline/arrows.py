"""Arrows from a launch on the host to its kernel on the GPU."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QPainterPath, QPen

from app.scenes.pixel_scale import Scale
from app.scenes.timeline import Lanes
from app.theme import mixed
from app.views.timeline.rows import Rows
from app.widgets.paint import Paint

_ARROW_PX, _STUB_PX = 7.0, 26.0


def arrows(paint: Paint, lanes: Lanes, x: Scale, rows: Rows, highlighted: list[int]) -> None:
    """Draw arrows from each launch to the start of its kernel: as many visible ones as do not run
    together, and those of `highlighted` kernels highlighted."""
    s, theme = lanes.prediction.schedule, paint.theme
    launched = lanes.launching
    first = int(np.searchsorted(s.start_s[launched], x.low))
    last = int(np.searchsorted(s.issue_s[launched], x.high, "right"))
    near = launched[first:last]
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
    for kernel in highlighted[:100]:
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
    """Add the visible end of an arrow whose other end is out of view."""
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
