"""The verdict bar: which regime, how long, how sure, what changes it. It is painted, and said."""

from __future__ import annotations

from math import log2

from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPolygonF,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from app.background.answer import Along, Answer
from app.formulas.formula import Formula
from app.formulas.step import metrics
from app.quantities import data, number, percent, scaled, seconds, seconds_unit, trimmed
from app.report.figures import verdict
from app.theme import BODY_PX, HEAD_PX, LABEL_PX, SUPPORT_PX, Theme, mixed
from app.views.paint import Paint, elided, width
from app.window.style import TIME_PX, VERDICT_HEIGHT
from simulator.prediction import REGIMES, Prediction

_SHARES = (0.23, 0.12, 0.12, 0.145, 0.115, 0.175, 0.095)
"""The columns' parts of the width: regime, time, throughput, utilisation, memory, shift, trust."""
_PAD, _LABEL_Y, _FIGURE_Y, _BAR_Y, _SAID_Y = 14.0, 19.0, 43.0, 63.0, 77.0
_REACH = 0.3
"""The interval is drawn on a track from so much below the time to so much above it."""


class VerdictBar(QWidget):
    """The answer to the current scenario. `stale` is an answer to an earlier one, drawn at 60%.
    `explained` gives the place of a figure on the screen: how does it come about?"""

    explained = Signal(QPoint)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.theme = theme
        self.answer: Answer | None = None
        self.along: Along | None = None
        self.searched = False
        self.stale = False
        self.waiting = "Predicting …"
        self.said = ""
        self.at: int | None = None
        self.setFixedHeight(VERDICT_HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Verdict")
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)

    def show_answer(self, answer: Answer) -> None:
        """This answer; what is known of the batch stays until it is known anew."""
        self.answer, self.stale = answer, False
        if self.along is not None and self.along.batch != answer.subject.batch:
            self.along, self.searched = None, False
        p = answer.prediction
        self.said = verdict(p, answer.subject) + "".join(f"\n{note}" for note in p.notes)
        self.setAccessibleDescription(self.said)
        self.update()

    def show_along(self, along: Along | None) -> None:
        """Where the regime shifts."""
        self.along, self.searched = along, True
        self.update()

    def set_stale(self, stale: bool) -> None:
        """The answer is not the current scenario's."""
        if stale != self.stale:
            self.stale = stale
            self.update()

    def restyle(self, theme: Theme) -> None:
        """Another theme."""
        self.theme = theme
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(1264, VERDICT_HEIGHT)

    def formulas(self) -> tuple[Formula, ...]:
        """How each figure comes about, from the left; none without an answer."""
        return metrics(self.answer, self.along) if self.answer is not None else ()

    def column(self, x: float) -> int:
        """The figure at a place."""
        part, left = x / max(1, self.width()), 0.0
        for at, share in enumerate(_SHARES[:-1]):
            left += share
            if part < left:
                return at
        return len(_SHARES) - 1

    def formula(self, at: QPoint) -> Formula | None:
        """Of the figure at a place of the screen, else of the one that a key went to."""
        here = self.mapFromGlobal(at)
        column = self.column(here.x()) if self.rect().contains(here) else self.at or 0
        found = self.formulas()
        return found[column] if found else None

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            formula = self.formula(event.globalPos())
            first = self.column(event.pos().x()) == 0
            said = f"{self.said}\n\n" if first else ""
            QToolTip.showText(event.globalPos(), said + formula.text if formula else "", self)
            return True
        return super().event(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self.answer is not None:
            self.explained.emit(event.globalPosition().toPoint())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        found = self.formulas()
        step = {Qt.Key.Key_Right: 1, Qt.Key.Key_Left: -1}.get(Qt.Key(event.key()))
        if step and found:
            last = len(found) - 1
            self.at = min(max(0, self.at + step), last) if self.at is not None else 0
            self.setAccessibleDescription(found[self.at].text)
            QToolTip.showText(self.mapToGlobal(self._place(self.at)), found[self.at].text, self)
            self.update()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space) and found:
            self.explained.emit(self.mapToGlobal(self._place(self.at or 0)))
        else:
            super().keyPressEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self.at = None
        self.setAccessibleDescription(self.said)
        super().focusOutEvent(event)

    def _place(self, at: int) -> QPoint:
        """Within a figure's column, near its foot."""
        left = sum(_SHARES[:at]) * self.width()
        return QPoint(round(left + _PAD), VERDICT_HEIGHT - 8)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        paint = Paint(painter, self.theme)
        area = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        paint.box(area, self.theme.bg1, self.theme.line)
        if self.answer is None:
            paint.text(20, area.center().y(), self.waiting, self.theme.ink2, HEAD_PX, 600)
            painter.end()
            return
        painter.setOpacity(0.6 if self.stale else 1.0)
        left = 0.0
        draws = (self._regime, self._time, self._rate, self._use, self._memory, self._shift,
                 self._trust)  # fmt: skip
        for share, draw in zip(_SHARES, draws, strict=True):
            wide = share * area.width()
            if left:
                paint.line([(left, 14), (left, VERDICT_HEIGHT - 14)], self.theme.line)
            draw(paint, left + _PAD, wide - 2 * _PAD, self.answer)
            if self.hasFocus() and draw is draws[self.at or 0]:
                paint.ring(QRectF(left + 3, 3, wide - 6, VERDICT_HEIGHT - 6))
            left += wide
        painter.end()

    def _regime(self, paint: Paint, x: float, wide: float, answer: Answer) -> None:
        p, theme = answer.prediction, self.theme
        ink = theme.regime(p.regime).ink
        paint.box(QRectF(x, 20, 40, 40), mixed(theme.regime(p.regime).fill, theme.bg1, 0.16),
                  mixed(ink, theme.bg1, 0.5), 6)  # fmt: skip
        paint.mark(p.regime, x + 20, 41 if p.regime == "compute" else 40, 9)
        at, room = x + 52, wide - 52
        paint.text(at, 26, f"{p.regime.capitalize()}-bound", ink, HEAD_PX, 600, room=room)
        self._shares(paint, QRectF(at, 45, room, 9), p)
        words = [f"{percent(p.shares[r])} {r}" for r in REGIMES]
        taken = sum(width(said) + 11 for said in words)
        low = taken + 2 * 10 > room  # then the words begin below the mark
        at = x if low else at
        gap = min(14.0, max(2.0, ((wide if low else room) - taken) / 2))
        for regime, said in zip(REGIMES, words, strict=True):
            paint.mark(regime, at + 5, 75 if low else 71, 4.2)
            at = paint.text(at + 11, 75 if low else 71, said, theme.ink2, LABEL_PX).right() + gap

    def _shares(self, paint: Paint, box: QRectF, p: Prediction) -> None:
        left = box.left()
        for regime in REGIMES:
            wide = p.shares[regime] * box.width()
            if wide > 0.5:
                shape = QRectF(left, box.top(), max(1.0, wide - 1.5), box.height())
                paint.area(shape, regime, radius=2)
            left += wide

    def _time(self, paint: Paint, x: float, wide: float, answer: Answer) -> None:
        p, theme = answer.prediction, self.theme
        scale, unit = seconds_unit(p.period_s, 2)
        paint.text(x, _LABEL_Y, "Time, 80% interval", theme.ink3, LABEL_PX, room=wide)
        ink = theme.ink if p.fits else theme.ink3
        box = paint.text(x, _FIGURE_Y, number(p.period_s / scale, 2), ink, TIME_PX, 600)
        paint.text(box.right() + 5, _FIGURE_Y + 4, unit, theme.ink2, BODY_PX)
        low, high = (number(bound / scale, 2) for bound in p.interval_s)
        said = f"{low} to {high}"
        room = max(30.0, wide - width(said, SUPPORT_PX) - 10)
        paint.area(QRectF(x, _SAID_Y - 2, room, 4), theme.bg3, radius=2)
        ends = [x + room * self._along_track(b / p.period_s if p.period_s else 1.0)
                for b in p.interval_s]  # fmt: skip
        if p.tiers.get("interpolated"):
            paint.area(QRectF(ends[0], _SAID_Y - 4, ends[1] - ends[0], 8), theme.line2, radius=2)
        else:
            paint.line([(ends[0], _SAID_Y), (ends[1], _SAID_Y)], theme.ink3, 6, dotted=True)
        paint.area(QRectF(x + room / 2 - 1, _SAID_Y - 7, 2, 14), theme.ink)
        paint.text(x + wide, _SAID_Y, said, theme.ink2, SUPPORT_PX, align=1.0)

    @staticmethod
    def _along_track(ratio: float) -> float:
        return min(1.0, max(0.0, 0.5 + (ratio - 1) / (2 * _REACH)))

    def _figure(self, paint: Paint, x: float, wide: float, label: str, figure: str, unit: str,
                said: str, danger: bool = False) -> None:  # fmt: skip
        theme = self.theme
        paint.text(x, _LABEL_Y, label, theme.ink3, LABEL_PX, room=wide)
        box = paint.text(x, _FIGURE_Y, figure, theme.danger if danger else theme.ink, HEAD_PX, 600)
        room = x + wide - box.right() - 5
        paint.text(box.right() + 5, _FIGURE_Y + 3, unit, theme.ink2, SUPPORT_PX, room=room)
        ink = theme.danger if danger else theme.ink2
        paint.text(x, _SAID_Y, said, ink, SUPPORT_PX, room=wide)

    def _rate(self, paint: Paint, x: float, wide: float, answer: Answer) -> None:
        t = answer.totals
        tokens = t.tokens_per_s is not None and t.tokens_per_s != t.samples_per_s
        rate = t.tokens_per_s if tokens and t.tokens_per_s else t.samples_per_s
        text = scaled(rate, "")
        figure, _, prefix = text.partition(" ")
        unit = f"{prefix} {'tokens' if tokens else 'samples'}/s".strip()
        said = f"{number(t.samples_per_s)} samples/s" if tokens else (
            f"{answer.subject.batch:,} every {seconds(answer.prediction.period_s, 2)}")  # fmt: skip
        self._figure(paint, x, wide, "Throughput", figure, unit, said)

    def _use(self, paint: Paint, x: float, wide: float, answer: Answer) -> None:
        t, p = answer.totals, answer.prediction
        unit = f"of {scaled(t.peak_flops_per_s, 'FLOP/s')}" if t.peak_flops_per_s else ""
        said = f"GPU busy {percent(t.busy_share)}, {seconds(p.gpu_busy_s, 2)}"
        engine = t.engine.partition(" on ")[2].removesuffix(" units") or "peak"
        label = f"Utilisation of {engine} peak" if engine != "peak" else "Utilisation"
        self._figure(paint, x, wide, label, percent(t.utilisation), unit, said)

    def _memory(self, paint: Paint, x: float, wide: float, answer: Answer) -> None:
        p, theme = answer.prediction, self.theme
        need, room = p.peak_memory_bytes + p.workspace_bytes, p.gpu.memory_bytes
        figure, _, unit = data(need).partition(" ")
        whole = trimmed(data(room))
        said = f"fits, {percent(need / room)} of {whole}" if p.fits else f"does not fit {whole}"
        if p.fits and width(said, SUPPORT_PX) > wide:
            said = f"fits in {whole}"
        self._figure(paint, x, wide, "Memory on the GPU", figure, unit, said, not p.fits)
        bar = QRectF(x, _BAR_Y - 4, wide, 4)
        paint.area(bar, theme.bg3, radius=2)
        used = max(2.0, min(1.0, need / room) * wide)
        paint.area(QRectF(x, _BAR_Y - 4, used, 4), theme.ink2 if p.fits else theme.danger, radius=2)

    def _shift(self, paint: Paint, x: float, wide: float, answer: Answer) -> None:
        theme, along = self.theme, self.along
        paint.text(x, _LABEL_Y, "Next regime shift, over batch", theme.ink3, LABEL_PX, room=wide)
        track = QRectF(x, 37, wide, 9)
        if along is None or not along.spans:
            paint.area(track, theme.bg3, radius=2)
            fixed = answer.scenario.trace_file is not None
            said = (
                "the batch is fixed in a saved trace"
                if fixed
                else (
                    "not known for this network" if self.searched else "looking along the batch …"
                )
            )
            paint.text(x, 66, said, theme.ink3, SUPPORT_PX, room=wide)
            return
        most = log2(max(2.0, along.spans[-1][1]))
        for first, last, regime in along.spans:
            left, right = wide * log2(first) / most, wide * log2(max(1.0, last)) / most
            shape = QRectF(x + left, track.top(), max(1.5, right - left - 1.5), track.height())
            paint.area(shape, regime, radius=2)
        at = x + wide * log2(answer.subject.batch) / most
        painter = paint.painter
        painter.setPen(paint.theme.bg1)
        painter.setBrush(paint.theme.ink)
        painter.drawPolygon(QPolygonF(
            [QPointF(at - 5, 29), QPointF(at + 5, 29), QPointF(at, 37)]))  # fmt: skip
        first, second = along.words(answer.prediction.regime)
        paint.text(x, 61, elided(first, wide, SUPPORT_PX, 600), theme.ink, SUPPORT_PX, 600)
        paint.text(x, _SAID_Y, second, theme.ink2, SUPPORT_PX, room=wide)

    def _trust(self, paint: Paint, x: float, wide: float, answer: Answer) -> None:
        p, theme = answer.prediction, self.theme
        paint.text(x, _LABEL_Y, "Trust", theme.ink3, LABEL_PX)
        tier = max(p.tiers, key=lambda name: p.tiers[name], default="datasheet")
        sure = tier in ("measured", "interpolated")
        box = QRectF(x, 32, min(wide, width(tier, SUPPORT_PX, 600) + 12), 22)
        paint.box(box, theme.bg3 if sure else "", theme.line2, 4, dashed=not sure)
        ink = theme.ink if sure else theme.c
        paint.text(box.center().x(), 43, tier, ink, SUPPORT_PX, 600, 0.5, room=box.width() - 4)
        count = sum(p.unmodelled.values())
        if count:
            said = f"{count:,} ops unmodelled" if count > 1 else "1 op unmodelled"
            paint.text(x, 69, said, theme.danger, LABEL_PX, 600, room=wide)
            return
        paint.text(x, 69, f"{percent(p.tiers.get(tier, 1.0))} of time", theme.ink2, LABEL_PX,
                   room=wide)  # fmt: skip
