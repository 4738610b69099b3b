"""A measured step beside its prediction, op by op: on the diagonal both agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QPoint, QPointF, QRectF, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.answers.side import Question, Side
from app.formulas.changes import against_measured
from app.formulas.formula import Formula
from app.quantities import seconds
from app.report.measured import MeasuredGroup, groups, ratio, sentence, unmatched
from app.scenes.pixel_scale import Scale
from app.theme import CURVE_WIDTH, Theme
from app.widgets.canvas import Canvas, Card
from app.widgets.label_layout import Labels
from app.widgets.paint import Paint, pill_box
from app.widgets.view import View
from simulator.measured.overlay import Overlay, overlay
from simulator.measured.profiler_trace import read

_LEFT, _TOP, _BOTTOM, _NAMED = 76.0, 14.0, 44.0, 10
_EMPTY = (
    "Nothing is measured yet. Open a PyTorch profiler's trace of this step (File, Open, or drop "
    "it here), written by export_chrome_trace."
)


class MeasuredCanvas(Canvas):
    """Predicted seconds across, measured ones up, both by factors; a mark is calls alike."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Predicted against measured")
        self.found: tuple[MeasuredGroup, ...] = ()
        self.picked: frozenset[int] = frozenset()
        self.empty = _EMPTY

    @property
    def scales(self) -> tuple[Scale, Scale]:
        """The same seconds across and up."""
        times = [t for g in self.found for t in (g.predicted_s, g.measured_s) if t > 0]
        low, high = min(times, default=1e-6) / 2, max(times, default=1e-3) * 2
        right, foot = self.width() - 16.0, self.height() - _BOTTOM
        return Scale(low, high, _LEFT, right, True), Scale(low, high, foot, _TOP, True)

    def place(self, group: MeasuredGroup) -> QPointF:
        x, y = self.scales
        return QPointF(x.at(group.predicted_s), y.at(group.measured_s))

    def hit(self, at: QPointF) -> int | None:
        near = [
            ((self.place(g) - at).manhattanLength(), index) for index, g in enumerate(self.found)
        ]
        return min(near)[1] if near and min(near)[0] < 14 else None

    def card(self) -> Card | None:
        if self.over is None or self.over >= len(self.found):
            return None
        g = self.found[self.over]
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
        if not self.found:
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
        paint.text((x.begin + x.end) / 2, y.begin + 30, "predicted", theme.ink3, align=0.5)
        paint.text(12, _TOP + 4, "measured", theme.ink3)
        paint.line([(x.begin, y.begin), (x.end, y.end)], theme.ink2, CURVE_WIDTH)
        for times in (0.8, 1.25):
            ends = (
                (x.at(x.low), y.at(x.low * times)),
                (x.at(x.high / 1.25), y.at(x.high / 1.25 * times)),
            )
            paint.line(list(ends), theme.line2, dashed=True)
        whole = sum(g.measured_s for g in self.found)
        labels = Labels(QRectF(x.begin, y.end, x.end - x.begin, y.begin - y.end))
        for g in reversed(self.found):
            at = self.place(g)
            reach = max(4.0, 22 * (g.measured_s / whole) ** 0.5)
            chosen = bool(g.ops & self.picked)
            paint.mark(g.regime, at.x(), at.y(), reach, theme.ink if chosen else "")
            labels.take(QRectF(at.x() - reach, at.y() - reach, 2 * reach, 2 * reach))
        named = self.found[:_NAMED]
        for g, words in zip(named, names(named), strict=True):
            at, size = self.place(g), pill_box(0, 0, words)
            box = labels.beside(at.x(), at.y(), 6, size.width(), size.height())
            if box is not None:
                paint.pill(box.center().x(), box.center().y(), words)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {Qt.Key.Key_Right: 1, Qt.Key.Key_Down: 1, Qt.Key.Key_Left: -1, Qt.Key.Key_Up: -1}
        key = Qt.Key(event.key())
        if key in steps and self.found:
            at = 0 if self.over is None else self.over + steps[key]
            at = min(max(at, 0), len(self.found) - 1)
            self.at = self.place(self.found[at])
            self.show_over(at)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Space) and self.over is not None:
            self.pressed_on.emit(self.over)
        else:
            super().keyPressEvent(event)


def names(found: Sequence[MeasuredGroup]) -> list[str]:
    """What marks are called: by the op, and by the shape too where several have one op."""
    several = {op for op, count in Counter(g.op for g in found).items() if count > 1}
    return [f"{g.op} {g.shape}" if g.op in several else g.op for g in found]


class MeasuredView(View):
    """Calls alike as marks, named where they differ most. A click picks their ops."""

    title = "Measured"

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.laid: Overlay | None = None
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        self.canvas = MeasuredCanvas(theme)
        self.canvas.pressed_on.connect(self._pressed)
        column.addWidget(self.canvas)
        self.setFocusProxy(self.canvas)

    def draw(self, sides: tuple[Side, ...], current: int) -> None:
        self.laid = None
        measured = sides[current].measured
        self._show(f"Reading {Path(measured).name} …" if measured else _EMPTY)

    def question(self, sides: tuple[Side, ...], current: int) -> Question | None:
        side = sides[current]
        if not side.measured:
            return None
        return lambda _: overlay(side.prediction, read(Path(side.measured)))

    def answer(self, found: Any) -> None:
        self.laid = found
        self._show("No op of the prediction is in the trace: expected one of this network's step.")

    def restyle(self, theme: Theme) -> None:
        super().restyle(theme)
        self.canvas.restyle(theme)

    def pick(self, ops: frozenset[int]) -> None:
        self.canvas.picked = ops
        self.canvas.update()

    def formula(self, at: QPoint) -> Formula | None:
        if self.laid is None:
            return None
        over, found = self.canvas.over, self.canvas.found
        if over is not None and over < len(found):
            g = found[over]
            return against_measured(g.op, g.predicted_s, g.measured_s)
        p, step = self.laid.prediction, self.laid.step
        return against_measured("GPU busy", p.gpu_busy_s, step.gpu_busy_s)

    def subtitle(self) -> str:
        if self.laid is None:
            return ""
        p, step = self.laid.prediction, self.laid.step
        return (
            f"GPU busy {seconds(p.gpu_busy_s)} predicted, {seconds(step.gpu_busy_s)} measured "
            f"in {len(step.kernels):,} kernels"
        )

    def rows(self) -> list[list[str]]:
        if self.laid is None:
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
            for g in self.canvas.found
        ]
        return rows + [[line, "", "", "", "", ""] for line in unmatched(self.laid)]

    def _show(self, empty: str) -> None:
        self.canvas.found = tuple(groups(self.laid)) if self.laid else ()
        self.canvas.over, self.canvas.empty = None, empty
        said = sentence(self.laid) if self.laid else empty
        self.canvas.setAccessibleDescription(said)
        self.canvas.setToolTip("\n".join([said, *unmatched(self.laid)]) if self.laid else "")
        self.canvas.update()

    def _pressed(self, what: int | None) -> None:
        self.picked.emit(frozenset() if what is None else self.canvas.found[what].ops)
