"""The timeline: the host's ops above the GPU's kernels, with the waits of both."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QWidget

from app.answers.figures import causes
from app.answers.side import Side
from app.formulas.formula import Formula
from app.formulas.timeline import before, host_op, idle, kernel
from app.quantities import number, seconds, seconds_unit
from app.scenes.timeline.lanes import HOST_WAIT, SYNC_WAIT, lanes, regimes, waited_for_sync
from app.scenes.timeline.pins import Pins, pinned_lanes
from app.theme import Theme
from app.views.op_entries import op_entries
from app.views.timeline.canvas import TimelineCanvas
from app.views.timeline.picture import NameSpot, PinnedSpot, Spot
from app.widgets.canvas import Canvas
from app.widgets.context_menu import Entry
from app.widgets.strip_view import StripView
from simulator.prediction import REGIMES, Prediction

_HEADS = [
    "Kernel",
    "Name",
    "Op",
    "Module",
    "Phase",
    "Bound by",
    "Launched",
    "Started",
    "Time",
    "GPU idle before",
    "Idle for",
]


class Timeline(StripView):
    """One isolated step, starting from an idle GPU.

    W and S zoom, A and D pan, and F centres the selection or shows the whole step. `.` and `,` (or
    the arrow keys) go to the next and previous slice, up and down go between a kernel and its
    launch. Enter or a click selects the op, the wheel zooms, and a drag selects a time range and
    sums it. P, or a click on a lane's name, pins the lane to the top: it stays while another
    scenario is shown."""

    title = "Timeline"

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.status = self.strip.label()
        self.pins: Pins = ()
        self.side: Side | None = None
        self.sides: tuple[Side, ...] = ()
        self.canvas = self.below(TimelineCanvas(theme), self._pressed)
        self.strip.hint("W/S zoom, A/D pan, drag to sum a range", "W A S D", "")
        pin = self.strip.button("Pin (P)", "Pin the GPU's lane to the top", self._pin)
        pin.setToolTip(
            "Keep the GPU's lane of this scenario at the top while another scenario is shown. "
            "Click the name of a lane to pin that lane."
        )
        self.strip.button("Fit (F)", "Show the whole step", self.canvas.fit)

    def draw(self, sides: tuple[Side, ...], current: int) -> None:
        self.side, p = sides[current], sides[current].prediction
        self.sides, self.canvas.letter = sides, sides[current].letter
        self.canvas.set(lanes(p))
        self.show_pins(self.pins)
        self.status.setText(f"An isolated step takes {seconds(p.latency_s)}")
        self.status.setToolTip(
            "The timeline shows one isolated step, from an idle GPU to an idle GPU. The idle time "
            f"in the title is for a step in a loop, which takes {seconds(p.period_s)}."
        )

    def show_pins(self, pins: Pins) -> None:
        self.pins = pins
        drawn = [lane.lanes for lane in self.canvas.pinned]
        if self.canvas.lanes is not None:
            drawn.append(self.canvas.lanes)
        self.canvas.pin(pinned_lanes(pins, self.sides, drawn))

    def _pin(self) -> None:
        """Pin the lane under the cursor, or unpin it."""
        self._pressed(self.canvas.lane_to_pin())

    def pick(self, ops: frozenset[int]) -> None:
        self.canvas.choose(ops)
        self.canvas.reveal()

    def entries(self, canvas: Canvas | None) -> list[Entry]:
        timeline, over = self.canvas, self.canvas.over if canvas is self.canvas else None
        own: list[Entry] = []
        if isinstance(over, NameSpot):
            words = f"{'Unpin' if over.pinned else 'Pin'} {over.pin.name}"
            own.append(Entry(words, lambda: self.pin_requested.emit(over.pin)))
        elif isinstance(over, Spot):
            ops = frozenset([timeline.op(over)])
            own += op_entries(self, self.side, ops, timeline.picked)
            spot = next(s for s in timeline.names() if s.pin.track == over.lane)
            words = f"{'Unpin' if spot.pinned else 'Pin'} {spot.pin.name}\tP"
            own.append(Entry(words, lambda: self.pin_requested.emit(spot.pin)))
        own.append(Entry("Show the whole step", timeline.fit))
        return [*own, *super().entries(canvas if over is not None else None)]

    def formula(self, at: QPoint) -> Formula | None:
        lanes, over = self.canvas.lanes, self.canvas.over
        if lanes is None:
            return None
        p = lanes.prediction
        if not isinstance(over, Spot):
            return idle(p)
        index = int(self.canvas.lane(over.lane).of[over.place])
        if over.lane == "host":
            return host_op(p, index) or idle(p)
        waits = int(lanes.gpu.kind[over.place]) >= len(REGIMES)
        return before(p, index) if waits else kernel(p, index)

    def subtitle(self) -> str:
        return idle_words(self.canvas.lanes.prediction) if self.canvas.lanes else ""

    def rows(self) -> list[list[str]]:
        if self.canvas.lanes is None:
            return []
        drawn, p = self.canvas.lanes, self.canvas.lanes.prediction
        s, c = p.schedule, p.columns
        bound, synced = regimes(p).tolist(), waited_for_sync(p)
        cause = np.where(synced, SYNC_WAIT, HOST_WAIT).tolist()
        rows = [list(_HEADS)]
        for k, op in enumerate(c.op_of.tolist()):
            call, waited_s = p.trace.ops[int(op)], float(s.idle_s[k])
            rows.append(
                [
                    str(k + 1),
                    drawn.kernel_label(k),
                    call.name.removeprefix("aten."),
                    call.module,
                    call.phase,
                    REGIMES[bound[k]],
                    seconds(float(s.issue_s[k])),
                    seconds(float(s.start_s[k])),
                    seconds(float(s.end_s[k] - s.start_s[k])),
                    seconds(waited_s) if waited_s > 1e-12 else "",
                    cause[k] if waited_s > 1e-12 else "",
                ]
            )
        return rows

    def _pressed(self, spot: Spot | PinnedSpot | NameSpot | None) -> None:
        if isinstance(spot, NameSpot):
            self.pin_requested.emit(spot.pin)
            return
        if isinstance(spot, PinnedSpot):
            return  # its ops are those of another scenario
        if spot is None and not self.canvas.picked:
            return
        ops = frozenset[int]() if spot is None else frozenset([self.canvas.op(spot)])
        if ops == self.canvas.picked:
            ops = frozenset[int]()
        self.pick(ops)
        self.picked.emit(ops)


def idle_words(p: Prediction) -> str:
    """Idle time of a step in a loop: "GPU idle 1.50 ms: 1.46 waiting for the host, 0.04 …"."""
    idle_s = [(name, value) for name, value in causes(p) if value > 1e-12]
    total = sum(value for _, value in idle_s)
    if not idle_s:
        return "GPU never idle in a loop of steps"
    scale, _ = seconds_unit(total)
    parts = ", ".join(f"{number(value / scale)} {name}" for name, value in idle_s)
    return f"GPU idle {seconds(total)}: {parts}"
