"""Painting of a roofline's ceilings: zones, lines, names, the ridge; and arrows between marks."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import atan2, degrees, sqrt

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QPainterPath, QPolygonF

from app.quantities import number
from app.scenes.pixel_scale import Scale
from app.scenes.roofline import Ceiling, Roof
from app.theme import CEILING_WIDTH, LABEL_PX, SECOND_WIDTH, mixed
from app.widgets.label_layout import Labels
from app.widgets.paint import Paint, pill_box, width
from simulator.timing.ceilings import Rate

_PARTS = (-1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class Frame:
    """The area between the axes, the pixel `left` where the intensity axis begins, and both scales.
    `named` collects names of ceilings with their y and colour, to be drawn above everything."""

    area: QRectF
    left: float
    x: Scale
    y: Scale
    named: list[tuple[str, float, str]] = field(default_factory=list[tuple[str, float, str]])


def ceilings(paint: Paint, frame: Frame, roofs: Roof, labels: Labels) -> None:
    """Draw the zones below the roof, its lines and their names."""
    theme, area = paint.theme, frame.area
    x, y = frame.x, frame.y
    dram, main, ridge = roofs.memories[0].known_bytes_per_s, roofs.main, roofs.ridge
    corner = QPointF(x.at(ridge), y.at(main.flops_per_s))
    start = QPointF(x.at(x.low), y.at(x.low * dram))
    memory = QPolygonF(
        [start, corner, QPointF(corner.x(), area.bottom()), QPointF(start.x(), area.bottom())]
    )
    zone = QPainterPath()
    zone.addPolygon(memory)
    paint.area(zone, mixed(theme.memory.fill, theme.bg1, 0.07))
    right = QRectF(corner, QPointF(area.right(), area.bottom()))
    paint.area(right, mixed(theme.compute.fill, theme.bg1, 0.07))
    paint.line(
        [(corner.x(), corner.y()), (corner.x(), area.bottom())],
        theme.memory.ink,
        1.0,
        dotted=True,
        opacity=0.5,
    )
    words = f"ridge {number(ridge)}"
    tag = pill_box(corner.x() - 4, corner.y() - 14, words, align=1.0)
    labels.take(tag, _square(corner, 7))
    for ceiling in sorted(roofs.engines, key=lambda c: not c.used):
        _engine(paint, frame, roofs, ceiling, labels)
    for level in reversed(roofs.memories):
        _memory(paint, frame, roofs, level, labels)
    paint.mark(None, corner.x(), corner.y(), 4.5, theme.ink, True, wide=2.0)
    if tag.left() > frame.left:
        paint.pill(corner.x() - 4, corner.y() - 14, words, align=1.0)


def _engine(paint: Paint, frame: Frame, roofs: Roof, ceiling: Ceiling, labels: Labels) -> None:
    theme, area = paint.theme, frame.area
    x, y = frame.x, frame.y
    dram = roofs.memories[0].known_bytes_per_s
    at, left = y.at(ceiling.flops_per_s), x.at(ceiling.flops_per_s / dram)
    if not area.top() < at < area.bottom():
        return
    main = ceiling == roofs.main
    ink = theme.compute.ink if ceiling.used else theme.ink3
    if ceiling.used:
        line = [(max(left, frame.left), at), (area.right(), at)]
        colour = theme.compute.fill
        paint.line(line, colour, CEILING_WIDTH if main else SECOND_WIDTH, dashed=not main)
        if ceiling.measured_flops_per_s:
            low = y.at(ceiling.measured_flops_per_s)
            begin = x.at(ceiling.measured_flops_per_s / dram)
            paint.line([(begin, low), (area.right(), low)], colour, 1.0, dashed=True, opacity=0.8)
    begin = max(left, frame.left) + 6
    right = area.right() - 1
    for words in ceiling.labels if ceiling.used else ceiling.labels[1:]:
        sides = (-11, -25, 12, -39) if ceiling.used else (-10,)
        boxes = [pill_box(right, at + side, words, align=1.0) for side in sides]
        free = [b for b in boxes if labels.free(b) and b.left() > begin]
        if not free and ceiling.used and words == ceiling.labels[-1]:
            free = boxes[:1]  # a ceiling in use always has its name, if need be over marks
        if not free:
            continue
        if not ceiling.used:
            paint.line([(free[0].left(), at), (area.right(), at)], theme.line2, dashed=True)
        labels.take(free[0])
        frame.named.append((words, free[0].center().y(), ink))
        return


def _memory(paint: Paint, frame: Frame, roofs: Roof, level: Rate, labels: Labels) -> None:
    theme, area = paint.theme, frame.area
    x, y = frame.x, frame.y
    rate, first = level.known_bytes_per_s, level.level == "DRAM"
    top = roofs.main.flops_per_s
    ends_at = QPointF(x.at(top / rate), y.at(top))
    start = QPointF(x.at(x.low), y.at(x.low * rate))
    line = [(start.x(), start.y()), (ends_at.x(), ends_at.y())]
    paint.line(line, theme.memory.fill, CEILING_WIDTH if first else SECOND_WIDTH, not first)
    if first and level.measured_bytes_per_s and level.bytes_per_s:
        slow = level.measured_bytes_per_s
        ends_low = (x.at(top / slow), y.at(top))
        paint.line(
            [(start.x(), y.at(x.low * slow)), ends_low],
            theme.memory.fill,
            1.0,
            dashed=True,
            opacity=0.8,
        )
    words = roofs.label(level)
    slope = ends_at - start
    length = sqrt(slope.x() ** 2 + slope.y() ** 2)
    if length < width(words) + 60 or not area.isValid():
        return
    angle, offset = atan2(slope.y(), slope.x()), 12.0 if first else -10.0
    along = QPointF(slope / length)
    across = QPointF(-along.y(), along.x()) * offset
    half = width(words) / 2
    for share in (0.34, 0.5, 0.62, 0.25, 0.42, 0.56, 0.7):  # the first position without a mark
        at = start + slope * share
        boxes = [_square(at + across + along * (half * part), 8) for part in _PARTS]
        if all(labels.free(box) for box in boxes):
            break
    else:
        return
    labels.take(*boxes)
    painter = paint.painter
    painter.save()
    painter.translate(at)
    painter.rotate(degrees(angle))
    paint.text(0, offset, words, theme.memory.ink, LABEL_PX, 500, 0.5)
    painter.restore()


def arrow(
    paint: Paint, start: QPointF, off: float, end: QPointF, before: float, colour: str
) -> None:
    """Draw an arrow between the rims of two marks whose radii are `off` and `before`."""
    way = end - start
    length = sqrt(way.x() ** 2 + way.y() ** 2)
    if length < off + before + 8:
        return
    painter = paint.painter
    painter.save()
    painter.translate(start)
    painter.rotate(degrees(atan2(way.y(), way.x())))
    tip = length - before - 2
    paint.line([(off + 1, 0), (tip, 0)], colour, 1.4)
    paint.line([(tip - 6, -3.5), (tip, 0), (tip - 6, 3.5)], colour, 1.4)
    painter.restore()


def _square(at: QPointF, reach: float) -> QRectF:
    return QRectF(at.x() - reach, at.y() - reach, 2 * reach, 2 * reach)
