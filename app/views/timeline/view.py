"""The timeline: the host's ops over the GPU's kernels, and who waits for whom."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QWidget

from app.answers.figures import causes
from app.answers.side import Side
from app.formulas.formula import Formula
from app.formulas.timeline import before, host_op, idle, kernel
from app.quantities import number, seconds, seconds_unit
from app.scenes.timeline import HOST_WAIT, SYNC_WAIT, lanes, regimes, waited_for_sync
from app.theme import Theme
from app.views.timeline.canvas import Spot, TimelineCanvas
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
    """One step alone, from an idle GPU. W S zoom, A D pan, F centres what is selected, again
    shows the whole step; `.` and `,` (or
    arrows) go to the next and previous slice, up and down from a kernel to its launch; Enter or a
    click picks; the wheel zooms, a drag selects a span and sums it."""

    title = "Timeline"

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.said = self.strip.label()
        self.strip.stretch()
        self.canvas = self.below(TimelineCanvas(theme), self._pressed)
        self.strip.label("W S zoom, A D pan, drag to sum")
        self.strip.button("F fit", "Show the whole step", self.canvas.fit)

    def draw(self, sides: tuple[Side, ...], current: int) -> None:
        p = sides[current].prediction
        self.canvas.set(lanes(p))
        self.said.setText(f"One step alone takes {seconds(p.latency_s)}")
        self.said.setToolTip(
            "Drawn is one step from an idle GPU to an idle GPU. The idle time in the title is that "
            f"of a step among many, {seconds(p.period_s)}."
        )

    def pick(self, ops: frozenset[int]) -> None:
        self.canvas.choose(ops)
        self.canvas.reveal()

    def formula(self, at: QPoint) -> Formula | None:
        lanes, over = self.canvas.lanes, self.canvas.over
        if lanes is None:
            return None
        p = lanes.prediction
        if not isinstance(over, Spot):
            return idle(p)
        of = int(self.canvas.lane(over.lane).of[over.place])
        if over.lane == "host":
            return host_op(p, of) or idle(p)
        waits = int(lanes.gpu.kind[over.place]) >= len(REGIMES)
        return before(p, of) if waits else kernel(p, of)

    def subtitle(self) -> str:
        return idle_words(self.canvas.lanes.prediction) if self.canvas.lanes else ""

    def rows(self) -> list[list[str]]:
        if self.canvas.lanes is None:
            return []
        found, p = self.canvas.lanes, self.canvas.lanes.prediction
        s, c = p.schedule, p.columns
        bound, after = regimes(p).tolist(), waited_for_sync(p)
        cause = np.where(after, SYNC_WAIT, HOST_WAIT).tolist()
        rows = [list(_HEADS)]
        for k, op in enumerate(c.op_of.tolist()):
            call, waited_s = p.trace.ops[op], float(s.idle_s[k])
            rows.append(
                [
                    str(k + 1),
                    found.kernel_label(k),
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

    def _pressed(self, what: Spot | None) -> None:
        if what is None and not self.canvas.picked:
            return
        ops = frozenset[int]() if what is None else frozenset([self.canvas.op(what)])
        if ops == self.canvas.picked:
            ops = frozenset[int]()
        self.pick(ops)
        self.picked.emit(ops)


def idle_words(p: Prediction) -> str:
    """GPU idle 1.50 ms: 1.46 waiting for the host, 0.04 between kernels. Of a step among many."""
    found = [(name, value) for name, value in causes(p) if value > 1e-12]
    total = sum(value for _, value in found)
    if not found:
        return "GPU never idle between steps back to back"
    scale, _ = seconds_unit(total)
    parts = ", ".join(f"{number(value / scale)} {name}" for name, value in found)
    return f"GPU idle {seconds(total)}: {parts}"
