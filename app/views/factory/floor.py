"""The factory floor: an animation of the step in slow motion, or the average over the step."""

from __future__ import annotations

from typing import Any

import numpy as np
from PySide6.QtCore import QElapsedTimer, QPointF, QRectF, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QHideEvent, QKeyEvent, QPainter, QPixmap, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QStyle

from app.quantities import data, percent, scaled, seconds
from app.scenes.factory import MARKS, Factory
from app.theme import Theme
from app.views.factory.motion import Moment, average, moving
from app.views.factory.paint import caption, still
from app.views.factory.plan import Plan, plan
from app.widgets.canvas import Canvas, Card
from app.widgets.paint import Paint

FRAME_MS, RUN_S = 40, 14.0
"""Milliseconds per frame, and the duration of a step's animation in seconds."""
_FALL_S = 0.35  # animation time of an order's fall to the tray
_BUILDINGS = ("Managers", "In-tray", "Warehouse", "Trucks", "Machines")


class FactoryFloor(Canvas):
    """Arrow keys go from building to building; a card shows each one's figures. The animation runs
    while `playing` is set, the widget is visible, and the system allows motion."""

    moved = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "The factory")
        self.figures: Factory | None = None
        self.title = ""
        self.playing = True
        self.at_s: float | None = None
        self._travelled = 0.35
        self._background: QPixmap | None = None
        self._timer = QTimer(self)
        self._timer.setInterval(FRAME_MS)
        self._timer.timeout.connect(self._frame)
        self._clock = QElapsedTimer()
        self.setMinimumSize(340, 190)

    @property
    def allowed(self) -> bool:
        """Whether animations are allowed. Systems with reduced motion set their duration to 0."""
        hint = QStyle.StyleHint.SH_Widget_Animation_Duration
        return self.style().styleHint(hint, None, self) > 0

    @property
    def moves(self) -> bool:
        """Whether the animation is running."""
        return self._timer.isActive()

    def show_figures(self, figures: Factory, title: str) -> None:
        """Show a factory, from the beginning of its step."""
        self.figures, self.title, self._background = figures, title, None
        self.at_s = 0.0 if self.at_s is not None else None
        self._update_timer()
        self.update()

    def play(self, playing: bool) -> None:
        """Start or pause the animation."""
        self.playing = playing
        self._update_timer()

    def whole(self) -> None:
        """Show the average over the step."""
        self.playing, self.at_s = False, None
        self._update_timer()
        self.update()
        self.moved.emit()

    def _update_timer(self) -> None:
        """Start or stop the timer as needed."""
        due = self.playing and self.allowed and self.isVisible() and self.figures is not None
        if due and not self._timer.isActive():
            self._clock.start()
            self._timer.start()
        elif not due:
            self._timer.stop()

    def _frame(self) -> None:
        self.step(self._clock.restart() / 1000)

    def step(self, passed_s: float) -> None:
        """Advance the animation by `passed_s` of animation time."""
        f = self.figures
        if f is None:
            return
        time_s = ((self.at_s or 0.0) + passed_s * f.span_s / RUN_S) % f.span_s
        kernel = f.kernel_at(time_s)
        speed = float(f.trucking[kernel]) if kernel is not None else 0.0
        self._travelled = (self._travelled + passed_s * (0.1 + 0.5 * speed) * (speed > 0)) % 1.0
        self.at_s = time_s
        plan = self.plan
        for box in (plan.tray, plan.chute, plan.road, plan.staging, plan.machines):
            self.update(box.toAlignedRect())
        self.moved.emit()

    def moment(self) -> Moment:
        """The activity at the current time, or on average."""
        f = self.figures
        assert f is not None
        if self.at_s is None:
            return average(f)
        kernel, fall_s = f.kernel_at(self.at_s), _FALL_S * f.span_s / RUN_S
        first = int(np.searchsorted(f.issue_s, self.at_s - fall_s, "right"))
        last = int(np.searchsorted(f.issue_s, self.at_s, "right"))
        recent = np.unique(f.issue_s[first:last])[-4:]
        falling = tuple(((self.at_s - recent) / fall_s).tolist())
        return Moment(
            float(f.making[kernel]) if kernel is not None else 0.0,
            float(f.trucking[kernel]) if kernel is not None else 0.0,
            f.waiting_at(self.at_s),
            falling,
            self._travelled,
        )

    # painting

    @property
    def plan(self) -> Plan:
        return plan(self.width(), self.height())

    def draw(self, paint: Paint) -> None:
        f = self.figures
        if f is None:
            return
        if paint.vector:
            self._still(paint, f)
        else:
            ratio = paint.ratio
            if self._background is None or self._background.devicePixelRatio() != ratio:
                self._background = QPixmap(self.size() * ratio)
                self._background.setDevicePixelRatio(ratio)
                self._background.fill(QColor(self.theme.bg1))
                painter = QPainter(self._background)
                self._still(Paint(painter, self.theme), f)
                painter.end()
            paint.painter.drawPixmap(QPointF(0, 0), self._background)
        moving(paint, self.plan, f, self.moment())
        if self.over is not None:
            paint.ring(self._box(self.over).adjusted(-3, -3, 3, 3), 9)

    def _still(self, paint: Paint, f: Factory) -> None:
        still(paint, self.plan, f)
        rows = (
            "All figures come from the prediction.",
            "Filled is busy, outlined is idle.",
            f"1 s of animation = {seconds(f.span_s / RUN_S, 2)} of real time.",
        )
        caption(paint, self.plan.caption, self.title, rows)

    def restyle(self, theme: Theme) -> None:
        self._background = None
        super().restyle(theme)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._background = None

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._update_timer()

    def hideEvent(self, event: QHideEvent) -> None:
        self._timer.stop()
        super().hideEvent(event)

    # the pointer and the keys

    def _box(self, name: str) -> QRectF:
        p = self.plan
        return {
            "Managers": p.managers,
            "In-tray": p.tray,
            "Warehouse": p.warehouse,
            "Trucks": p.road,
            "Machines": p.machines,
        }[name]

    def hit(self, at: QPointF) -> Any:
        if self.figures is None:
            return None
        return next((name for name in _BUILDINGS if self._box(name).contains(at)), None)

    def card(self) -> Card | None:
        f, name = self.figures, self.over
        if f is None or name is None:
            return None
        regime = MARKS.get(name)
        note = f"{percent(f.prediction.shares[regime])} of the time" if regime else ""
        return Card(name, cards(f)[name], note, regime)

    def card_at(self) -> QPointF:
        return self.at if self.at.x() >= 0 else self._box(self.over).center()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {
            Qt.Key.Key_Right: 1,
            Qt.Key.Key_Down: 1,
            Qt.Key.Key_Left: -1,
            Qt.Key.Key_Up: -1,
        }.get(Qt.Key(event.key()), 0)
        if step:
            place = _BUILDINGS.index(self.over) + step if self.over in _BUILDINGS else 0
            self.at = QPointF(-1, -1)
            self.show_over(_BUILDINGS[place % len(_BUILDINGS)])
        elif event.key() == Qt.Key.Key_Escape and self.over is not None:
            self.show_over(None)
        else:
            super().keyPressEvent(event)


def cards(f: Factory) -> dict[str, tuple[tuple[str, str], ...]]:
    """Return the rows of each building's card, with their calculations."""
    p = f.prediction
    used = p.peak_memory_bytes + p.workspace_bytes
    per_s = f.traffic_bytes / p.period_s if p.period_s else 0.0
    return {
        "Managers": (
            *((name, f"{seconds(s)} per step") for name, s in f.desks),
            ("Time per order", f"{seconds(p.host_s)} / {f.orders:,} = {seconds(f.order_s)}"),
            ("Busy", f"{seconds(p.host_s)} of {seconds(p.period_s)}, {percent(f.managers_busy)}"),
        ),
        "In-tray": (
            ("Capacity", f"{p.host.depth:,}"),
            ("Most waiting", f"{f.queue_most:,}"),
            ("Average waiting", f"{f.queue_mean:.1f}"),
        ),
        "Warehouse": (
            ("Memory", data(p.gpu.memory_bytes)),
            ("Peak use", data(used)),
            ("Weights", data(p.weight_bytes)),
        ),
        "Trucks": (
            ("Moved", f"{data(f.traffic_bytes)} per step"),
            ("Rate", f"{scaled(per_s, 'B/s')} of {scaled(p.gpu.bandwidth_bytes_per_s, 'B/s')}"),
            ("Busy", percent(f.trucks_busy)),
        ),
        "Machines": (
            ("Work", f"{scaled(p.flops, 'FLOP')} per step"),
            ("Rate", f"{scaled(f.flops_per_s, 'FLOP/s')}, {percent(f.machines_use)} of peak"),
            ("Counted", "products and vector units"),
            ("Busy", percent(f.machines_busy)),
        ),
    }
