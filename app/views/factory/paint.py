"""The fixed parts of the factory: buildings with their rates."""

from __future__ import annotations

from PySide6.QtCore import QRectF

from app.quantities import data, number, percent, scaled, seconds, trimmed
from app.scenes.factory import Factory
from app.theme import BODY_PX, FIGURE_PX, LABEL_PX, SUPPORT_PX
from app.views.factory.motion import orders_per_sheet
from app.views.factory.plan import Plan, cells
from app.widgets.paint import Paint, elided, faint, fitting, width
from simulator.prediction import Regime

BOXES = 60
"""The number of boxes that represent the whole memory."""


def still(paint: Paint, plan: Plan, f: Factory) -> None:
    """Draw the parts that do not move: buildings, names and rates."""
    theme = paint.theme
    over = theme.overhead.ink
    _building(
        paint,
        plan.managers,
        theme.overhead.fill,
        "overhead",
        "Managers",
        _orders(f),
        f"{seconds(f.order_s)} per order",
        f"{seconds(f.prediction.host_s)} in total",
    )
    _desks(paint, plan, f)
    paint.box(plan.tray, theme.bg2, theme.line2, 8, wide=1.2)
    holds = f"holds {f.prediction.host.depth:,}"
    _words(paint, plan.tray, "In-tray", f"{holds}, {orders_per_sheet(f)} per sheet", holds)
    most = (
        (f"at most {f.queue_most:,} waiting", f"{f.queue_most:,} waiting")
        if f.queue_most
        else ("0 waiting: floor is faster", "0 waiting")
    )
    room = plan.tray.width() - 20
    words = fitting(room, *most, weight=500)
    x, y = plan.tray.left() + 12, plan.tray.bottom() - 14
    paint.text(x, y, words, over, LABEL_PX, 500, room=room)
    y = plan.tray.center().y()
    ends = [(plan.managers.right(), y), (plan.tray.left(), y)]
    paint.line(ends, theme.overhead.fill, dashed=True)
    _chute(paint, plan, f)
    _warehouse(paint, plan, f)
    _road(paint, plan, f)
    paint.box(plan.floor, theme.bg2, theme.a, 8, wide=1.8)
    card = f.prediction.gpu
    l2 = f"on-chip memory: {data(card.l2_bytes)} of L2" if card.l2_bytes else "on-chip memory"
    _words(paint, plan.floor, "Floor", f"{card.name}, {l2}", card.name)
    paint.box(plan.staging, theme.bg1, theme.line2, 6)
    room = plan.staging.width() - 16
    per_kernel = f.traffic_bytes / max(1, f.prediction.kernel_count)
    for y, words, tone, px, weight in (
        (15, "Staging", theme.ink, SUPPORT_PX, 600),
        (32, _per(data(f.traffic_bytes), "/step", room), theme.ink2, LABEL_PX, 400),
        (47, _per(data(per_kernel), " each", room), theme.ink2, LABEL_PX, 400),
    ):
        paint.text(
            plan.staging.left() + 10, plan.staging.top() + y, words, tone, px, weight, room=room
        )
    _machines(paint, plan, f)


def _per(figure: str, unit: str, room: float) -> str:
    """A figure, with its unit if that fits."""
    return fitting(room, f"{figure}{unit}", figure)


def _orders(f: Factory) -> tuple[str, ...]:
    """The orders of a step, from the longest text to the shortest."""
    kernels = f.prediction.kernel_count
    if f.orders >= kernels:
        orders = f"{kernels:,} orders"
        return f"the host: {orders}, one at a time", f"{orders}, one at a time", orders
    orders = f"{f.orders:,} order{'s' * (f.orders != 1)}"
    return (
        f"the host: {orders} for {kernels:,} kernels",
        f"{orders} for {kernels:,} kernels",
        orders,
    )


def _building(
    paint: Paint,
    box: QRectF,
    edge: str,
    regime: Regime,
    name: str,
    says: tuple[str, ...],
    rate: str,
    below: str,
) -> None:
    """Draw a building: name and meaning at the left, rate and use at the right."""
    theme = paint.theme
    paint.box(box, theme.bg2, edge, 8, wide=1.6)
    paint.mark(regime, box.left() + 20, box.top() + 20, 6.5)
    ink = theme.regime(regime).ink
    right = paint.text(box.right() - 14, box.top() + 20, rate, ink, BODY_PX, 600, 1.0).left()
    paint.text(box.left() + 34, box.top() + 20, name, theme.ink, FIGURE_PX, 600)
    low = paint.text(
        box.right() - 14, box.top() + 38, below, theme.ink2, LABEL_PX, align=1.0
    ).left()
    room = min(right, low) - box.left() - 44
    words = fitting(room, *says)
    paint.text(box.left() + 34, box.top() + 38, words, theme.ink2, LABEL_PX, room=room)


def _words(paint: Paint, box: QRectF, name: str, *texts: str) -> None:
    room = box.width() - 24
    says = fitting(room, *texts)
    paint.text(box.left() + 14, box.top() + 20, name, paint.theme.ink, FIGURE_PX, 600, room=room)
    paint.text(box.left() + 14, box.top() + 38, says, paint.theme.ink2, LABEL_PX, room=room)


def _desks(paint: Paint, plan: Plan, f: Factory) -> None:
    """Draw the parts of an order's time."""
    theme, box = paint.theme, plan.managers.adjusted(14, 52, -14, -26)
    whole = sum(s for _, s in f.desks) or 1.0
    left = box.left()
    for name, spent in f.desks:
        wide = spent / whole * (box.width() - 4 * (len(f.desks) - 1))
        desk = QRectF(left, box.top(), wide, box.height())
        paint.area(desk, "overhead", edge=theme.overhead.fill, radius=3)
        if width(name, LABEL_PX, 600) + 14 < wide:
            paint.pill(
                desk.center().x(), desk.center().y(), name, theme.ink, weight=600, ground=theme.bg2
            )
        share = seconds(spent / max(1, f.orders), 2)
        if width(share) + 4 < wide:
            paint.text(desk.center().x(), box.bottom() + 12, share, theme.ink2, LABEL_PX, align=0.5)
        left += wide + 4


def _chute(paint: Paint, plan: Plan, f: Factory) -> None:
    theme, box = paint.theme, plan.chute
    fill = theme.overhead.fill
    paint.painter.fillRect(box, faint(fill, 0.10))
    for x in (box.left(), box.right()):
        paint.line([(x, box.top()), (x, box.bottom())], fill, 1.4)
    y = box.center().y()
    p, x = f.prediction, box.right() + 12
    per_s = f.orders / p.period_s if p.period_s else 0.0
    paint.text(
        box.left() - 12,
        y,
        f"{number(per_s)} orders/s",
        theme.overhead.ink,
        SUPPORT_PX,
        600,
        1.0,
    )
    room = plan.tray.right() - x
    kernel_s = p.gpu_busy_s / max(1, p.kernel_count)
    each = p.kernel_count / max(1, f.orders)
    paint.text(
        x,
        y - 8,
        f"{number(each) if each < 10 else f'{each:,.0f}'} kernels per order"
        if f.orders < p.kernel_count
        else f"One order every {seconds(p.period_s / max(1, f.orders))}",
        theme.ink,
        SUPPORT_PX,
        600,
        room=room,
    )
    waits = (
        "then the floor waits"
        if f.waits[0].seconds > 0.02 * p.period_s
        else "and the next is already waiting"
    )
    takes = f"A kernel takes {seconds(kernel_s)}"
    words = fitting(room, f"{takes} on average, {waits}", f"{takes}, {waits}", takes)
    paint.text(x, y + 8, words, theme.ink2, LABEL_PX, room=room)


def _warehouse(paint: Paint, plan: Plan, f: Factory) -> None:
    theme, p = paint.theme, f.prediction
    box, edge = plan.warehouse, theme.memory.fill
    paint.box(box, theme.bg2, edge, 8, wide=1.6)
    room = box.width() - 24
    paint.mark("memory", box.left() + 20, box.top() + 20, 6.5)
    paint.text(
        box.left() + 34, box.top() + 20, "Warehouse", theme.ink, FIGURE_PX, 600, room=room - 20
    )
    used = p.peak_memory_bytes + p.workspace_bytes
    whole = trimmed(data(p.gpu.memory_bytes))
    paint.text(
        box.left() + 14,
        box.top() + 38,
        fitting(room, f"memory: {data(used)} of {whole}", f"{data(used)} of {whole}", data(used)),
        theme.ink2,
        LABEL_PX,
        room=room,
    )
    shelf = cells(box.adjusted(14, 54, -14, -28), BOXES, 40)
    full = min(BOXES, -(-used * BOXES // p.gpu.memory_bytes))
    for index, place in enumerate(shelf):
        inside = place.adjusted(1, 1, -1, -1)
        if index >= BOXES - full:
            paint.area(inside, "memory", edge=edge, radius=2, edge_px=1.0)
        else:
            paint.box(inside, theme.bg1, theme.line, 2)
    paint.text(
        box.left() + 14,
        box.bottom() - 14,
        f"one box = {data(p.gpu.memory_bytes / BOXES)}",
        theme.ink2,
        LABEL_PX,
        room=room,
    )


def _road(paint: Paint, plan: Plan, f: Factory) -> None:
    theme, road, p = paint.theme, plan.road, f.prediction
    fill, middle = theme.memory.fill, plan.road.center().x()
    paint.painter.fillRect(road, faint(fill, 0.14))
    for y in (road.top(), road.bottom()):
        paint.line([(road.left(), y), (road.right(), y)], fill, 1.8)
    y = road.center().y()
    paint.line([(road.left() + 4, y), (road.right() - 4, y)], fill, 1.4, dashed=True)
    room = road.width() - 8
    per_s = f.traffic_bytes / p.period_s if p.period_s else 0.0
    rows = (
        (-52, "Trucks", theme.ink, FIGURE_PX, 600),
        (-33, f"road: {scaled(p.gpu.bandwidth_bytes_per_s, 'B/s')}", theme.ink2, LABEL_PX, 400),
        (-16, scaled(per_s, "B/s"), theme.memory.ink, SUPPORT_PX, 600),
    )
    for up, words, tone, px, weight in rows:
        if up == -16:
            words = fitting(room, f"{words}, {percent(f.road_use)}", words, px=px, weight=weight)
        paint.text(middle, road.top() + up, elided(words, room, px, weight), tone, px, weight, 0.5)
    for index, texts in enumerate(
        (("one truck = 10%", "truck = 10%"), ("of the bandwidth", "of bandwidth"))
    ):
        paint.text(
            middle,
            road.bottom() + 16 + 15 * index,
            elided(fitting(room, *texts), room),
            theme.ink2,
            LABEL_PX,
            align=0.5,
        )


def _machines(paint: Paint, plan: Plan, f: Factory) -> None:
    theme, p, box = paint.theme, f.prediction, plan.machines
    paint.box(box, theme.bg1, theme.line2, 6)
    name = f"{f.units} multiprocessors" if p.gpu.units else f"{f.units} multiprocessors (typical)"
    paint.mark("compute", box.left() + 18, box.top() + 20, 6.5)
    paint.text(box.left() + 32, box.top() + 19, "Machines", theme.ink, BODY_PX, 600)
    ink = theme.compute.ink
    right = box.right() - 12
    edge = paint.text(
        right, box.top() + 19, f"{scaled(f.flops_per_s, 'FLOP/s')} achieved", ink, BODY_PX, 600, 1.0
    ).left()
    busy = number(f.machines_use * f.units, 2)
    share = percent(f.machines_use)
    use = fitting(
        box.width() - 12 - 40 - width(f"{f.units} multiprocessors"),
        f"{share} of peak with vector units, equal to {busy} at full speed",
        f"{share} of peak with vector units, equal to {busy}",
        f"{share} of peak with vector units",
        f"{share} with vector units",
    )
    low = paint.text(right, box.top() + 36, use, theme.ink2, LABEL_PX, align=1.0).left()
    room = min(edge, low) - box.left() - 40
    words = fitting(room, name, f"{f.units} multiprocessors", f"{f.units} units", f"{f.units}")
    paint.text(box.left() + 32, box.top() + 36, words, theme.ink2, LABEL_PX, room=room)


def caption(paint: Paint, area: QRectF, title: str, rows: tuple[str, ...]) -> None:
    """Draw the caption: a title and rows below it."""
    theme = paint.theme
    paint.text(area.left(), area.top() + 14, title, theme.ink, FIGURE_PX, 600, room=area.width())
    for index, words in enumerate(rows):
        paint.text(
            area.left(),
            area.top() + 38 + 17 * index,
            words,
            theme.ink2,
            LABEL_PX,
            room=area.width(),
        )
