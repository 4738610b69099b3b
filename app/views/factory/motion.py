"""The moving parts of the factory, at one moment of the step or on average."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainterPath, QPen

from app.scenes.factory import Factory
from app.theme import mixed
from app.views.factory.plan import Plan, cells
from app.widgets.paint import Paint, faint
from app.widgets.patterns import mark_path

TRUCKS, SHEETS = 10, 20
"""The number of trucks at full bandwidth, and of sheets in a full in-tray."""


@dataclass(frozen=True)
class Moment:
    """The busy shares of machines and road, orders waiting in the tray, positions of falling orders
    (0 to 1), and the position of the trucks along the road (0 to 1)."""

    machines: float
    road: float
    waiting: float
    falling: tuple[float, ...] = ()
    travelled: float = 0.35


def average(f: Factory) -> Moment:
    """Return the average over the step."""
    return Moment(f.machines_use, f.road_use, f.queue_mean, (0.25, 0.8))


def moving(paint: Paint, plan: Plan, f: Factory, moment: Moment) -> None:
    """Draw the contents of the buildings."""
    theme = paint.theme
    _sheets(paint, plan, f, moment)
    for share in moment.falling:
        y = plan.chute.top() + 6 + share * (plan.chute.height() - 22)
        _sheet(paint, QRectF(plan.chute.center().x() - 6, y, 12, 14), True)
    _trucks(paint, plan, moment)
    area = plan.staging.adjusted(8, 58, -8, -8)
    places = cells(area, 24, 24)
    full = round(min(1.0, moment.road) * len(places))
    for index, place in enumerate(places):
        inside = place.adjusted(1, 1, -1, -1)
        if index >= len(places) - full:
            paint.area(inside, "memory", edge=theme.memory.fill, radius=2, edge_px=1.0)
        else:
            paint.box(inside, theme.bg2, theme.line, 2)
    at_work = moment.machines * f.units
    whole = max(round(at_work), int(at_work > 0.05))
    working, idle = QPainterPath(), QPainterPath()  # one path each, as there are many
    for index, place in enumerate(cells(plan.machines.adjusted(12, 52, -8, -8), f.units, 42)):
        mark = mark_path("compute", 0.30 * place.width())
        (working if index < whole else idle).addPath(mark.translated(place.center()))
    painter = paint.painter
    painter.setBrush(faint(theme.bg1, 1.0))
    painter.setPen(QPen(faint(theme.line2, 1.0), 1.0))
    painter.drawPath(idle)
    painter.setBrush(faint(theme.compute.fill, 1.0))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.drawPath(working)


def orders_per_sheet(f: Factory) -> int:
    """Return the number of orders that a sheet in the tray represents."""
    return max(1, -(-f.queue_most // SHEETS))


def _sheets(paint: Paint, plan: Plan, f: Factory, moment: Moment) -> None:
    per_sheet = orders_per_sheet(f)
    area = plan.tray.adjusted(12, 50, -12, -26)
    waiting = -(-round(moment.waiting) // per_sheet)
    for index, place in enumerate(cells(area, SHEETS, 26)):
        _sheet(paint, place.adjusted(2, 1, -2, -1), index < waiting)


def _sheet(paint: Paint, box: QRectF, written: bool) -> None:
    theme = paint.theme
    if not written:
        paint.box(box, theme.bg1, theme.line, 2)
        return
    paint.box(box, mixed(theme.overhead.fill, theme.bg2, 0.3), theme.overhead.fill, 2)
    for share in (0.34, 0.62):
        y = box.top() + share * box.height()
        paint.line([(box.left() + 3, y), (box.right() - 3, y)], theme.overhead.ink)


def _trucks(paint: Paint, plan: Plan, moment: Moment) -> None:
    """Draw trucks that drive to the floor in the upper lane, and back in the lower lane."""
    road, painter = plan.road, paint.painter
    count = round(min(1.0, moment.road) * TRUCKS + 0.3)
    painter.save()
    painter.setClipRect(road)
    for index in range(count):
        out = index % 2 == 0
        lane = max(1, (count + 1) // 2 if out else count // 2)
        share = (moment.travelled + (index // 2) / lane + (0.0 if out else 0.4)) % 1.0
        x = road.left() + (share if out else 1 - share) * (road.width() + 44) - 22
        y = road.top() + (0.27 if out else 0.75) * road.height()
        _truck(paint, QPointF(x, y), out)
    painter.restore()


def _truck(paint: Paint, at: QPointF, out: bool) -> None:
    theme, painter = paint.theme, paint.painter
    sign = 1 if out else -1
    body = QRectF(at.x() - (18 if out else 6), at.y() - 9, 24, 15)
    paint.area(body, "memory", edge=theme.memory.ink, radius=2, edge_px=1.2)
    cab = QPainterPath()
    front = at.x() + sign * 7
    corners = ((0, -5), (7, -5), (11, 0), (11, 6), (0, 6))
    cab.moveTo(front, at.y() - 5)
    for x, y in corners[1:]:
        cab.lineTo(front + sign * x, at.y() + y)
    cab.closeSubpath()
    painter.setBrush(faint(theme.bg2, 1.0))
    painter.setPen(QPen(faint(theme.memory.ink, 1.0), 1.2))
    painter.drawPath(cab)
    painter.setBrush(faint(theme.bg1, 1.0))
    painter.setPen(QPen(faint(theme.ink, 1.0), 1.4))
    for x in (-12, -3, 12):
        painter.drawEllipse(QPointF(at.x() + sign * x, at.y() + 7), 2.6, 2.6)
    painter.setPen(Qt.PenStyle.NoPen)
