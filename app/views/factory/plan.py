"""The layout of the factory's buildings in a picture of any size."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, sqrt

from PySide6.QtCore import QRectF

_MARGIN = 20.0


@dataclass(frozen=True)
class Plan:
    """The rectangles of the buildings, in pixels."""

    managers: QRectF
    tray: QRectF
    caption: QRectF
    chute: QRectF
    warehouse: QRectF
    road: QRectF
    floor: QRectF
    staging: QRectF
    machines: QRectF


def plan(wide: float, high: float) -> Plan:
    """Lay out a picture of this size."""
    left, right, top = _MARGIN, wide - _MARGIN, 14.0
    inner = right - left
    head = min(132.0, max(112.0, 0.26 * high))
    drop = min(74.0, max(44.0, 0.13 * high))
    base = top + head + drop
    low = max(150.0, high - base - 14.0)
    managers = QRectF(left + 0.35 * inner, top, 0.46 * inner, head)
    tray = QRectF(managers.right() + 18, top, right - managers.right() - 18, head)
    warehouse = QRectF(left, base, 0.205 * inner, low)
    floor = QRectF(managers.left(), base, right - managers.left(), low)
    road = QRectF(
        warehouse.right(),
        base + 0.36 * low,
        floor.left() - warehouse.right(),
        min(86.0, 0.36 * low),
    )
    inside = floor.adjusted(14, 50, -14, -14)
    staging = QRectF(inside.left(), inside.top(), 0.19 * inside.width(), inside.height())
    machines = QRectF(
        staging.right() + 14, inside.top(), inside.right() - staging.right() - 14, inside.height()
    )
    chute = QRectF(managers.center().x() - 11, managers.bottom(), 22, drop)
    caption = QRectF(left, top, managers.left() - left - 22, head + drop - 8)
    return Plan(managers, tray, caption, chute, warehouse, road, floor, staging, machines)


def cells(area: QRectF, count: int, most_px: float = 24.0) -> list[QRectF]:
    """Return `count` squares of one size that fill an area row by row, as large as possible up to
    `most_px`.
    """
    if count < 1 or area.width() <= 0 or area.height() <= 0:
        return []
    columns = max(1, floor(sqrt(count * area.width() / area.height())))
    while area.width() / columns * ceil(count / columns) > area.height():
        columns += 1
    side = min(most_px, area.width() / columns)
    columns = max(columns, floor(area.width() / side + 1e-9))
    return [
        QRectF(area.left() + i % columns * side, area.top() + i // columns * side, side, side)
        for i in range(count)
    ]
