"""Memory over the step, its parts at the peak, and the GPU's capacity."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QKeyEvent, QPainterPath, QPolygonF
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.answers.figures import memory_parts
from app.answers.side import Side
from app.formulas.formula import Formula
from app.formulas.memory import peak
from app.quantities import data, percent, trimmed
from app.scenes.pixel_scale import Scale
from app.scenes.ticks import linear_ticks
from app.theme import CURVE_WIDTH, LABEL_PX, SUPPORT_PX, Theme, mixed
from app.views.op_entries import op_entries
from app.widgets.canvas import Canvas, Card
from app.widgets.context_menu import Entry
from app.widgets.paint import Paint
from app.widgets.view import View
from simulator.prediction import Prediction

_LEFT, _TOP, _BOTTOM, _STEP = 76.0, 66.0, 30.0, 20.0


class MemoryCanvas(Canvas):
    """Allocated bytes at each op, stacked on the libraries' workspace; `over` is an op's index."""

    over: int | None

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Memory over the step")
        self.prediction: Prediction | None = None
        self.picked: frozenset[int] = frozenset()

    @property
    def plot(self) -> QRectF:
        """The area between the axes."""
        return QRectF(_LEFT, _TOP, self.width() - _LEFT - 16, self.height() - _TOP - _BOTTOM)

    def scales(self, p: Prediction) -> tuple[Scale, Scale]:
        """The axes of ops and bytes. The byte axis includes the capacity if more than a quarter of
        it is used."""
        area, need = self.plot, p.peak_memory_bytes + p.workspace_bytes
        top = max(need, p.gpu.memory_bytes if 4 * need > p.gpu.memory_bytes else need, 1)
        x = Scale(0, max(1, p.memory.bytes_at.size), area.left(), area.right())
        return x, Scale(0, 1.12 * top, area.bottom(), area.top())

    def draw(self, paint: Paint) -> None:
        p = self.prediction
        if p is None:
            return
        self._parts(paint, p)
        theme, area = self.theme, self.plot
        x, y = self.scales(p)
        most = max(2, int(area.height() / 24))
        unit = 1024.0 ** max(0, int(np.log2(max(1.0, 0.5 * y.high)) // 10))
        for value in linear_ticks(0.0, y.high / unit, most):
            at = y.at(unit * value)
            paint.line([(area.left(), at), (area.right(), at)], theme.grid)
            paint.text(area.left() - 8, at, trimmed(data(unit * value)), theme.ink3, align=1.0)
        if not p.fits:  # below the curve, so that the excess stays visible
            at = y.at(p.gpu.memory_bytes)
            paint.area(QRectF(area.left(), area.top(), area.width(), at - area.top()), "refused")
        allocated = p.memory.bytes_at
        if allocated.size:
            pixels = max(2, int(area.width()))  # each column shows the maximum over its ops
            spaced = np.linspace(0, allocated.size, pixels, endpoint=False)
            begin = np.unique(spaced.astype(np.int64))
            points = [
                QPointF(x.at(float(b)), y.at(float(v + p.workspace_bytes)))
                for b, v in zip(begin, np.maximum.reduceat(allocated, begin), strict=True)
            ]
            points.append(QPointF(area.right(), points[-1].y()))
            shape = QPainterPath()
            shape.addPolygon(
                QPolygonF([QPointF(area.left(), area.bottom()), *points, area.bottomRight()])
            )
            paint.area(shape, mixed(theme.a, theme.bg1, 0.22))
            paint.line([(q.x(), q.y()) for q in points], theme.a, CURVE_WIDTH)
        for op in sorted(self.picked)[:200]:
            at = x.at(op)
            paint.line([(at, area.bottom() - 8), (at, area.bottom())], theme.b, 2.0)
        self._workspace(paint, p, y)
        need = p.peak_memory_bytes + p.workspace_bytes
        top = QPointF(x.at(p.memory.peak_op), y.at(need))
        paint.mark(None, top.x(), top.y(), 4.0, theme.ink, True)
        right = top.x() > area.center().x()
        words = f"peak {data(need)}"
        paint.pill(top.x() + (-9 if right else 9), top.y() - 2, words, align=float(right))
        self._limit(paint, p, y)
        paint.text(
            area.center().x(),
            area.bottom() + 17,
            f"Ops of the step, 1 to {allocated.size:,}",
            theme.ink3,
            align=0.5,
        )

    def _workspace(self, paint: Paint, p: Prediction, y: Scale) -> None:
        """The libraries' workspace, a dotted line below the curve."""
        theme, area, at = self.theme, self.plot, y.at(p.workspace_bytes)
        if area.bottom() - at < 2:
            return
        paint.line([(area.left(), at), (area.right(), at)], theme.a, dotted=True, opacity=0.6)
        if area.bottom() - at > 14:
            words = f"workspace {data(p.workspace_bytes)}"
            paint.text(area.left() + 8, (at + area.bottom()) / 2, words, theme.ink2, LABEL_PX)

    def _limit(self, paint: Paint, p: Prediction, y: Scale) -> None:
        """The capacity as a line, and a sentence on whether the step fits."""
        theme, area = self.theme, self.plot
        need, room = p.peak_memory_bytes + p.workspace_bytes, p.gpu.memory_bytes
        words = f"{data(need)} of {data(room)}: "
        words += f"fits, {percent(need / room)} used" if p.fits else "does not fit"
        ink = theme.ink if p.fits else theme.danger
        paint.text(16, 15, words, ink, SUPPORT_PX, 600)
        if y.high >= room:
            at = y.at(room)
            paint.line([(area.left(), at), (area.right(), at)], ink, 2.0, dashed=True)
            paint.pill(area.left() + 4, at, f"capacity {data(room)}", ink, align=0.0)

    def _parts(self, paint: Paint, p: Prediction) -> None:
        """The peak as a bar of its parts with their names below. Names that do not fit are only in
        the table."""
        theme = self.theme
        parts = memory_parts(p)
        total = sum(size for _, size in parts) or 1
        left, name_x, wide = 16.0, 16.0, self.width() - 32.0
        for index, (name, size) in enumerate(parts):
            shade = mixed(theme.ink, theme.bg1, max(0.25, 0.9 - 0.14 * index))
            share = wide * size / total
            paint.area(QRectF(left, 28, max(1.0, share - 1), 8), shade)
            left += share
            words = f"{name} {data(size)}"
            if name_x + 6.5 * len(words) < self.width() - 16:
                paint.area(QRectF(name_x, 45, 7, 7), shade)
                name_x = paint.text(name_x + 12, 49, words, theme.ink2, LABEL_PX).right() + 16

    def hit(self, at: QPointF) -> int | None:
        p = self.prediction
        if p is None or not p.memory.bytes_at.size or not self.plot.contains(at):
            return None
        return min(int(self.scales(p)[0].value(at.x())), p.memory.bytes_at.size - 1)

    def card(self) -> Card | None:
        p = self.prediction
        if p is None or self.over is None or self.over >= len(p.trace.ops):
            return None
        op = p.trace.ops[self.over]
        rows = [
            ("Module", op.module or "the network itself"),
            ("Phase", op.phase),
            ("Allocated", data(int(p.memory.bytes_at[self.over]))),
            ("With workspace", data(self.used_bytes(p, self.over))),
        ]
        return Card(op.name.removeprefix("aten."), tuple(rows), f"op {self.over + 1:,}")

    @staticmethod
    def used_bytes(p: Prediction, op: int) -> int:
        """Allocated bytes at an op, including the workspace."""
        return int(p.memory.bytes_at[op]) + p.workspace_bytes

    def card_at(self) -> QPointF:
        p = self.prediction
        if p is None or self.over is None:
            return self.at
        x, y = self.scales(p)
        return QPointF(x.at(self.over), y.at(self.used_bytes(p, self.over)))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {Qt.Key.Key_Right: 1, Qt.Key.Key_Left: -1}
        p = self.prediction
        if p is not None and p.memory.bytes_at.size and Qt.Key(event.key()) in steps:
            op = p.memory.peak_op if self.over is None else self.over + steps[Qt.Key(event.key())]
            self.show_over(min(max(op, 0), p.memory.bytes_at.size - 1))
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Space) and self.over is not None:
            self.pressed_on.emit(self.over)
        else:
            super().keyPressEvent(event)


class MemoryView(View):
    """Allocated bytes over the ops. A click, or the arrow keys and Enter, select an op."""

    title = "Memory"

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.side: Side | None = None
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        self.canvas = MemoryCanvas(theme)
        self.canvas.pressed_on.connect(self._pressed)
        column.addWidget(self.canvas)
        self.setFocusProxy(self.canvas)

    def draw(self, sides: tuple[Side, ...], current: int) -> None:
        self.side = sides[current]
        p = self.canvas.prediction = self.side.prediction
        self.canvas.over = None
        self.canvas.setToolTip(peak(p).text)
        self.canvas.update()

    def pick(self, ops: frozenset[int]) -> None:
        self.canvas.picked = ops
        self.canvas.update()

    def restyle(self, theme: Theme) -> None:
        super().restyle(theme)
        self.canvas.restyle(theme)

    def entries(self, canvas: Canvas | None) -> list[Entry]:
        ops = frozenset[int]() if self.canvas.over is None else frozenset([self.canvas.over])
        own = op_entries(self, self.side, ops, self.canvas.picked)
        return [*own, *super().entries(canvas)]

    def formula(self, at: QPoint) -> Formula | None:
        p = self.canvas.prediction
        return peak(p) if p else None

    def subtitle(self) -> str:
        p = self.canvas.prediction
        return f"{data(p.peak_memory_bytes + p.workspace_bytes)} at the peak" if p else ""

    def rows(self) -> list[list[str]]:
        p = self.canvas.prediction
        if p is None:
            return []
        parts = [[name, data(size), str(size)] for name, size in memory_parts(p)]
        room = p.gpu.memory_bytes
        return [["At the peak", "Size", "Bytes"], *parts, ["capacity", data(room), str(room)]]

    def _pressed(self, op: int | None) -> None:
        self.picked.emit(frozenset() if op is None else frozenset([op]))
