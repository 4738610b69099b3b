"""A measured step against its prediction, op by op; on the diagonal both agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.answers.measured_as import difference
from app.answers.side import Question, Side
from app.drawing.geometry import Box
from app.drawing.labels import Labels
from app.formulas.changes import against_measured
from app.formulas.formula import Formula
from app.quantities import seconds
from app.report.measured import MeasuredGroup, groups, ratio, sentence, unmatched
from app.scenes.pixel_scale import Scale
from app.theme import CURVE_WIDTH, Theme
from app.views.op_entries import op_entries
from app.widgets.canvas import Canvas, Card
from app.widgets.context_menu import Entry
from app.widgets.paint import Paint, pill_box
from app.widgets.view import View
from simulator.measured.overlay import Overlay, overlay
from simulator.measured.profiler_trace import read

_LEFT, _TOP, _BOTTOM, _LABELLED = 76.0, 14.0, 44.0, 10
_EMPTY = (
    "No measurement yet. Open a PyTorch profiler trace of this step (File, Open, or drop it here), "
    "as written by export_chrome_trace."
)


class MeasuredCanvas(Canvas):
    """Measured against predicted seconds on logarithmic axes, one mark per group of identical
    calls."""

    over: int | None

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Predicted against measured")
        self.groups: tuple[MeasuredGroup, ...] = ()
        self.picked: frozenset[int] = frozenset()
        self.empty = _EMPTY

    @property
    def scales(self) -> tuple[Scale, Scale]:
        """The x and y axes, both over the same range of seconds."""
        times = [t for g in self.groups for t in (g.predicted_s, g.measured_s) if t > 0]
        low, high = min(times, default=1e-6) / 2, max(times, default=1e-3) * 2
        right, foot = self.width() - 16.0, self.height() - _BOTTOM
        return Scale(low, high, _LEFT, right, True), Scale(low, high, foot, _TOP, True)

    def place(self, group: MeasuredGroup) -> QPointF:
        """The pixel of a group's mark."""
        x, y = self.scales
        return QPointF(x.at(group.predicted_s), y.at(group.measured_s))

    def hit(self, at: QPointF) -> int | None:
        near = [
            ((self.place(g) - at).manhattanLength(), index) for index, g in enumerate(self.groups)
        ]
        return min(near)[1] if near and min(near)[0] < 14 else None

    def card(self) -> Card | None:
        if self.over is None or self.over >= len(self.groups):
            return None
        g = self.groups[self.over]
        rows = (
            ("Shape", g.shape),
            ("Calls", f"{g.count:,}"),
            ("Predicted", seconds(g.predicted_s)),
            ("Measured", seconds(g.measured_s)),
            ("Predicted over measured", ratio(g.predicted_s, g.measured_s)),
        )
        return Card(g.op, rows, f"{g.regime}-bound", g.regime)

    def draw(self, paint: Paint) -> None:
        theme = self.theme
        if not self.groups:
            box = QRectF(self.rect()).adjusted(40, 20, -40, -20)
            paint.painter.setPen(theme.ink2)
            flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
            paint.painter.drawText(box, flags, self.empty)
            return
        x, y = self.scales
        for value, _ in x.ticks(6):
            at, up = x.at(value), y.at(value)
            paint.line([(at, y.begin), (at, y.end)], theme.grid)
            paint.line([(x.begin, up), (x.end, up)], theme.grid)
            paint.text(at, y.begin + 12, seconds(value, 1), theme.ink3, align=0.5)
            paint.text(x.begin - 8, up, seconds(value, 1), theme.ink3, align=1.0)
        paint.text((x.begin + x.end) / 2, y.begin + 30, "predicted time", theme.ink3, align=0.5)
        paint.text(12, _TOP + 4, "measured time", theme.ink3)
        paint.line([(x.begin, y.begin), (x.end, y.end)], theme.ink2, CURVE_WIDTH)
        for ratio_line in (0.8, 1.25):  # 25% too fast, 25% too slow
            ends = (
                (x.at(x.low), y.at(x.low * ratio_line)),
                (x.at(x.high / 1.25), y.at(x.high / 1.25 * ratio_line)),
            )
            paint.line(list(ends), theme.line2, dashed=True)
        total_s = sum(g.measured_s for g in self.groups)
        labels = Labels(Box.between(x.begin, y.end, x.end, y.begin))
        for g in reversed(self.groups):
            at = self.place(g)
            radius = max(4.0, 22 * (g.measured_s / total_s) ** 0.5)
            edge = theme.ink if g.ops & self.picked else ""
            paint.mark(g.regime, at.x(), at.y(), radius, edge)
            labels.take(Box.around(at.x(), at.y(), radius))
        labelled = self.groups[:_LABELLED]
        for g, words in zip(labelled, names(labelled), strict=True):
            at, size = self.place(g), pill_box(0, 0, words)
            box = labels.beside(at.x(), at.y(), 6, size.width(), size.height())
            if box is not None:
                paint.pill(*box.centre, words)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {Qt.Key.Key_Right: 1, Qt.Key.Key_Down: 1, Qt.Key.Key_Left: -1, Qt.Key.Key_Up: -1}
        key = Qt.Key(event.key())
        if key in steps and self.groups:
            at = 0 if self.over is None else self.over + steps[key]
            at = min(max(at, 0), len(self.groups) - 1)
            self.at = self.place(self.groups[at])
            self.show_over(at)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Space) and self.over is not None:
            self.pressed_on.emit(self.over)
        else:
            super().keyPressEvent(event)


def names(marked: Sequence[MeasuredGroup]) -> list[str]:
    """Labels of marks: the op, followed by the shape if several marks share the op."""
    several = {op for op, count in Counter(g.op for g in marked).items() if count > 1}
    return [f"{g.op} {g.shape}" if g.op in several else g.op for g in marked]


class MeasuredView(View):
    """Groups of identical calls as marks; the largest differences have labels. A click selects the
    ops of a mark."""

    title = "Measured"

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.side: Side | None = None
        self.overlay: Overlay | None = None
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        self.canvas = MeasuredCanvas(theme)
        self.canvas.pressed_on.connect(self._pressed)
        column.addWidget(self.canvas)
        self.setFocusProxy(self.canvas)

    def draw(self, sides: tuple[Side, ...], current: int) -> None:
        self.side, self.overlay = sides[current], None
        measured = sides[current].measured
        self._show(f"Reading {Path(measured).name} …" if measured else _EMPTY)

    def question(self, sides: tuple[Side, ...], current: int) -> Question | None:
        side = sides[current]
        if not side.measured:
            return None
        return lambda _: overlay(side.prediction, read(Path(side.measured)))

    def answer(self, result: Any) -> None:
        self.overlay = result
        self._show(
            "The trace contains no op of this prediction: expected a trace of the same network's "
            "step; open another trace, or select the traced network."
        )

    def restyle(self, theme: Theme) -> None:
        super().restyle(theme)
        self.canvas.restyle(theme)

    def pick(self, ops: frozenset[int]) -> None:
        self.canvas.picked = ops
        self.canvas.update()

    def entries(self, canvas: Canvas | None) -> list[Entry]:
        over = self.canvas.over
        ops = self.canvas.groups[over].ops if over is not None else frozenset[int]()
        own = op_entries(self, self.side, ops, self.canvas.picked)
        return [*own, *super().entries(canvas)]

    def formula(self, at: QPoint) -> Formula | None:
        if self.overlay is None:
            return None
        over, shown = self.canvas.over, self.canvas.groups
        if over is not None and over < len(shown):
            g = shown[over]
            return against_measured(g.op, g.predicted_s, g.measured_s)
        p, step = self.overlay.prediction, self.overlay.step
        return against_measured("GPU busy", p.gpu_busy_s, step.gpu_busy_s)

    def subtitle(self) -> str:
        if self.overlay is None:
            return ""
        p, step = self.overlay.prediction, self.overlay.step
        other = difference(self.side) if self.side is not None else ""
        return (
            (f"measured {other}: " if other else "")
            + f"GPU busy {seconds(p.gpu_busy_s)} predicted, {seconds(step.gpu_busy_s)} measured "
            f"in {len(step.kernels):,} kernels"
        )

    def rows(self) -> list[list[str]]:
        if self.overlay is None:
            return []
        rows = [["Op", "Shape", "Calls", "Predicted", "Measured", "Predicted over measured"]]
        rows += [
            [
                g.op,
                g.shape,
                str(g.count),
                seconds(g.predicted_s),
                seconds(g.measured_s),
                ratio(g.predicted_s, g.measured_s),
            ]
            for g in self.canvas.groups
        ]
        return rows + [[line, "", "", "", "", ""] for line in unmatched(self.overlay)]

    def _show(self, empty: str) -> None:
        self.canvas.groups = tuple(groups(self.overlay)) if self.overlay else ()
        self.canvas.over, self.canvas.empty = None, empty
        summary = sentence(self.overlay) if self.overlay else empty
        self.canvas.setAccessibleDescription(summary)
        tip = "\n".join([summary, *unmatched(self.overlay)]) if self.overlay else ""
        self.canvas.setToolTip(tip)
        self.canvas.update()

    def _pressed(self, place: int | None) -> None:
        self.picked.emit(frozenset() if place is None else self.canvas.groups[place].ops)
