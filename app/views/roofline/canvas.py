"""The roofline plot: ceilings, zones, marks of launches, trails and the overhead strip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import sqrt
from typing import Any

from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QWheelEvent

from app.formulas.launches import achieved, intensity_sum, ridge
from app.quantities import number, percent, seconds
from app.scenes.launches import LaunchGroup
from app.scenes.pixel_scale import Scale
from app.scenes.roofline import Ends, Roof, ends, roof
from app.theme import Theme
from app.views.roofline.axes import axes
from app.views.roofline.ceilings import Frame, arrow, ceilings
from app.views.roofline.strip import overhead_strip
from app.widgets.canvas import Canvas, Card
from app.widgets.label_layout import Labels
from app.widgets.paint import Paint, pill_box
from simulator.prediction import Prediction

_LEFT, _TOP, _BOTTOM, _STRIP, _GUTTER = 52.0, 22.0, 38.0, 114.0, 30.0
_FLAT, _FLAT_BOTTOM, _ABOVE = 176.0, 20.0, 14.0
"""A canvas lower than `_FLAT` omits the axis title. Names of ceilings may extend `_ABOVE` pixels
above the plot."""
_NAMED = 0.004  # share of the time from which a mark has a label
LEAST_PX = 3.2
"""The radius of the smallest mark; larger marks have areas proportional to their shares."""

Mark = tuple[LaunchGroup, QPointF, float]
"""A group of identical launches, its centre in pixels, and its radius."""


class RooflineCanvas(Canvas):
    """`groups` holds groups of identical launches, heaviest first, `shown` the number drawn,
    `before` the groups of the baseline. `fitted` emits whether the axes show everything."""

    fitted = Signal(bool)

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Roofline: intensity against achieved FLOP/s")
        self.prediction: Prediction | None = None
        self.groups: list[LaunchGroup] = []
        self.before: list[LaunchGroup] = []
        self.shown = 0
        self.picked: frozenset[int] = frozenset()
        self.roof: Roof | None = None
        self.ends: Ends | None = None
        self.zoomed = False
        self.dragged: QPointF | None = None
        self.setMinimumSize(320, 140)

    def set(self, p: Prediction, groups: list[LaunchGroup], before: list[LaunchGroup]) -> None:
        """Draw groups of launches; another GPU refits the axes."""
        new_gpu = self.prediction is None or self.prediction.gpu != p.gpu
        self.prediction, self.groups, self.before, self.over = p, groups, before, None
        self.roof = roof(p, groups)
        if new_gpu or not self.zoomed:
            self.fit()
        self.update()

    def fit(self) -> None:
        """Fit the axes to all launches."""
        self.zoomed = False
        if self.roof:
            self.ends = ends([*self.groups, *self.before], self.roof)
        self.fitted.emit(True)
        self.update()

    # geometry

    @property
    def strip(self) -> QRectF:
        """The bar of overhead."""
        top = _TOP + 26
        return QRectF(self.width() - _STRIP + 4, top, 16, self.height() - top - 14)

    @property
    def gutter(self) -> float:
        """The width reserved for launches without FLOPs."""
        return _GUTTER if any(not a.flops for a in self.groups[: self.shown]) else 0.0

    @property
    def plot(self) -> QRectF:
        """The area between the axes."""
        right = self.width() - _STRIP - 12
        foot = _FLAT_BOTTOM if self.height() < _FLAT else _BOTTOM
        return QRectF(_LEFT, _TOP, right - _LEFT, self.height() - _TOP - foot)

    @property
    def scales(self) -> tuple[Scale, Scale]:
        """The axes of intensity and FLOP/s."""
        assert self.ends is not None
        area = self.plot
        x = Scale(*self.ends.x, area.left() + self.gutter, area.right(), True)
        return x, Scale(*self.ends.y, area.bottom(), area.top(), True)

    def radius(self, share: float) -> float:
        """The radius of a mark whose area is proportional to a share of the time."""
        largest = min(64.0, max(26.0, 0.13 * min(self.plot.width(), self.plot.height() * 1.4)))
        return max(LEAST_PX, largest * sqrt(share))

    def place(self, a: LaunchGroup) -> QPointF:
        """The centre of a mark. Without FLOPs it stands in the gutter, as far below DRAM's ceiling
        as its bytes/s are below DRAM's bandwidth."""
        x, y = self.scales
        if a.flops:
            return QPointF(x.at(a.intensity), y.at(a.achieved_flops_per_s))
        reached = y.at(a.achieved_bytes_per_s * x.low)
        return QPointF(self.plot.left() + self.gutter / 2, min(reached, self.plot.bottom() - 5))

    def marks(self) -> list[Mark]:
        """The drawn marks, the heaviest first."""
        area = self.plot.adjusted(-1, -1, 1, 1)
        placed = ((a, self.place(a), self.radius(a.share)) for a in self.groups[: self.shown])
        return [mark for mark in placed if area.contains(mark[1])]

    # painting

    def draw(self, paint: Paint) -> None:
        if self.prediction is None or self.roof is None:
            return
        frame = Frame(self.plot, self.plot.left() + self.gutter, *self.scales)
        labels = Labels(self.plot.adjusted(2, 2, -2, -2))
        marks = self.marks()
        for _, at, radius in marks:
            reach = 0.8 * radius
            labels.take(QRectF(at.x() - reach, at.y() - reach, 2 * reach, 2 * reach))
        axes(paint, self.plot, *self.scales, self.gutter, self.height() < _FLAT)
        paint.painter.save()
        paint.painter.setClipRect(self.plot.adjusted(-1, -_ABOVE, 1, 1))
        ceilings(paint, frame, self.roof, labels)
        self._trails(paint)
        self._marks(paint, marks, labels)
        for words, y, ink in frame.named:
            paint.pill(self.plot.right() - 1, y, words, ink, align=1.0)
        paint.painter.restore()
        overhead_strip(paint, self.strip, self.prediction)

    def _trails(self, paint: Paint) -> None:
        """Draw arrows from the baseline's launches to the matching ones of this side."""
        unmatched: dict[Any, list[LaunchGroup]] = {}
        for a in self.groups[: self.shown]:
            unmatched.setdefault(a.key, []).append(a)
        for old in self.before[: self.shown]:
            at = self.place(old)
            radius = self.radius(old.share)
            matches = unmatched.get(old.key)
            if matches:
                new = matches.pop(0)
                arrow(paint, at, radius, self.place(new), self.radius(new.share), self.theme.a)
            paint.mark(old.regime, at.x(), at.y(), radius, self.theme.a, True, 0.85)

    def _marks(self, paint: Paint, marks: Sequence[Mark], labels: Labels) -> None:
        theme = self.theme
        for a, at, radius in marks:
            dim = bool(self.picked) and not (a.ops & self.picked)
            edge = theme.b if self.before else theme.bg1
            paint.mark(a.regime, at.x(), at.y(), radius, edge, opacity=0.25 if dim else 0.94)
        chosen = [m for m in marks if self.over is m[0] or (self.picked and m[0].ops & self.picked)]
        for _, at, radius in chosen:
            paint.painter.setBrush(Qt.BrushStyle.NoBrush)
            paint.box(
                QRectF(
                    at.x() - 1.5 * radius - 4,
                    at.y() - 1.5 * radius - 4,
                    3 * radius + 8,
                    3 * radius + 8,
                ),
                "",
                theme.ink,
                1.5 * radius + 4,
                wide=1.8,
            )
        for a, at, radius in marks[:12]:
            if a.share < _NAMED and a is not self.over:
                continue
            words = _label(a)
            box = pill_box(0, 0, words)
            room = labels.beside(at.x(), at.y(), radius, box.width(), box.height())
            if room is None:
                continue
            centre = room.center()
            if abs(centre.x() - at.x()) - room.width() / 2 > radius + 8 or (
                abs(centre.y() - at.y()) - room.height() / 2 > radius + 8
            ):
                paint.line([(at.x(), at.y()), (centre.x(), centre.y())], theme.ink3, 1.0)
            paint.pill(centre.x(), centre.y(), words, theme.ink)

    # the pointer and the keys

    def hit(self, at: QPointF) -> Any:
        for a, where, radius in reversed(self.marks()):
            away = where - at
            if sqrt(away.x() ** 2 + away.y() ** 2) <= max(radius, 6.0) + 2:
                return a
        return None

    def card(self) -> Card | None:
        a = self.over
        if not isinstance(a, LaunchGroup) or self.prediction is None:
            return None
        tier = ", ".join(self.prediction.tiers)
        source = f"{tier}, profile {self.prediction.profile}"
        return Card(
            a.label,
            note=f"×{a.count}, {a.regime}-bound",
            regime=a.regime,
            rows=(
                ("Op", a.op),
                (
                    "Time",
                    f"{seconds(a.each_s)} each, {seconds(a.total_s)} total, "
                    f"{percent(a.share)} of GPU busy time",
                ),
                ("Intensity", f"{intensity_sum(a)}, ridge {number(ridge(a, self.prediction))}"),
                ("Achieved", f"{achieved(a).sum}, {percent(a.of_roof)} of the {a.roof} roof"),
                ("Shape", f"{a.shape}, {a.dtype} {a.engine}"),
                ("Source", source),
            ),
        )

    def card_at(self) -> QPointF:
        return self.place(self.over) if isinstance(self.over, LaunchGroup) else self.at

    def wheelEvent(self, event: QWheelEvent) -> None:
        if self.plot.contains(event.position()):
            self.zoom(event.position(), 1.2 ** (event.angleDelta().y() / 120))

    def zoom(self, at: QPointF, times: float) -> None:
        """Zoom in by a factor around a point."""
        if self.ends is None:
            return
        x, y = self.scales
        x, y = x.zoomed(at.x(), times), y.zoomed(at.y(), times)
        self._set_ends(x, y)

    def _set_ends(self, x: Scale, y: Scale) -> None:
        if x.high / x.low > 1.5 and y.high / y.low > 1.5 and x.high / x.low < 1e12:
            assert self.ends is not None
            self.ends = replace(self.ends, x=(x.low, x.high), y=(y.low, y.high))
            self.zoomed = True
            self.fitted.emit(False)
            self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        super().mousePressEvent(event)
        if self.hit(event.position()) is None and self.plot.contains(event.position()):
            self.dragged = event.position()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self.dragged is not None and self.ends is not None:
            away = event.position() - self.dragged
            self.dragged = event.position()
            x, y = self.scales
            self._set_ends(x.moved(away.x()), y.moved(away.y()))
            return
        super().mouseMoveEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self.dragged = None

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.fit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, marks = event.key(), self.marks()
        middle = self.plot.center()
        steps = {Qt.Key.Key_Right: 1, Qt.Key.Key_Down: 1, Qt.Key.Key_Left: -1, Qt.Key.Key_Up: -1}
        if key in steps and marks:
            groups = [m[0] for m in marks]
            at = groups.index(self.over) if self.over in groups else -1
            self.show_over(groups[(at + steps[Qt.Key(key)]) % len(groups)])
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Space) and self.over is not None:
            self.pressed_on.emit(self.over)
        elif key == Qt.Key.Key_Escape:
            self.over = None
            self.pressed_on.emit(None)
        elif key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal, Qt.Key.Key_W):
            self.zoom(middle, 1.3)
        elif key in (Qt.Key.Key_Minus, Qt.Key.Key_S):
            self.zoom(middle, 1 / 1.3)
        elif key == Qt.Key.Key_F:
            self.fit()
        else:
            super().keyPressEvent(event)


def _label(a: LaunchGroup) -> str:
    return a.label + (f" ×{a.count}" if a.count > 1 else "")
