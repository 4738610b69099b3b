"""A sweep as painted: time with its interval above, the shares below, the shifts through both."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QKeyEvent

from app.quantities import between, plain, seconds
from app.scenes.pixel_scale import Scale
from app.scenes.sweep_curves import Curve, Curves, axis_name, axis_title, within_words
from app.theme import CURVE_WIDTH, LABEL_PX, SECOND_WIDTH, SUPPORT_PX, Theme
from app.views.sweep import axes, shifts
from app.views.sweep.axes import Halves
from app.views.sweep.cards import card
from app.views.sweep.lines import at_line, crosses, points, ring, take
from app.widgets.canvas import Canvas, Card
from app.widgets.label_layout import Labels
from app.widgets.paint import Paint, Points, face, pill_box, width
from app.widgets.patterns import STACK

_LEFT, _RIGHT, _TOP, _GAP, _BOTTOM, _FLAT_BOTTOM = 52.0, 18.0, 22.0, 30.0, 44.0, 24.0
_FLAT = 190.0
"""A lower canvas does without the axis's title, which the panel's own says too."""
_BAND, _STALE = 0.16, 0.6


class SweepCanvas(Canvas):
    """`over` is a point of the current side's curve, as its place in `values`; `head` a title and a
    quieter one above the plot, where several stand together."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Sweep: time and shares of time along an axis")
        self.found: Curves | None = None
        self.head: tuple[str, str] = ("", "")
        self.stale = False
        self.setMinimumSize(300, 150)

    def show_curves(self, found: Curves) -> None:
        """Draw these."""
        self.found, self.stale, self.over = found, False, None
        self.update()

    def wait(self) -> None:
        """Paler until there are others; a slider's drag, which says so again and again, changes
        nothing more."""
        if not self.stale or self.over is not None:
            self.stale, self.over = True, None
            self.update()

    # where things stand

    @property
    def halves(self) -> Halves:
        """The areas of time and of shares."""
        foot = _FLAT_BOTTOM if self.height() < _FLAT else _BOTTOM
        wide, room = self.width() - _LEFT - _RIGHT, self.height() - _TOP - _GAP - foot
        high = 0.62 * room
        top = QRectF(_LEFT, _TOP, wide, high)
        return top, QRectF(_LEFT, top.bottom() + _GAP, wide, room - high)

    @property
    def along(self) -> Scale:
        """The axis of both halves."""
        top, _ = self.halves
        values = self.found.curves[0].values if self.found and self.found.curves else [1.0, 2.0]
        low, high = float(values[0]), float(values[-1])
        low, high = (low, high) if high > low else (low / 2, 2 * high)
        return Scale(low, high, top.left(), top.right(), True)

    @property
    def upward(self) -> Scale:
        """Seconds of a step."""
        top, _ = self.halves
        columns = [
            c.columns[name]
            for c in (self.found.curves if self.found else ())
            for name in ("low_s", "high_s", "period_s")
        ]
        columns += [
            np.array(
                [
                    point.seconds
                    for curve in (self.found.curves if self.found else ())
                    for point in curve.measured
                ]
            )
        ]
        times = np.concatenate([v[v > 0] for v in columns])
        times = times if times.size else np.array([1e-3, 1.0])
        low, high = float(times.min()), float(times.max())
        slack = 1.5 if high < 3 * low else 1.25
        return Scale(low / slack, high * slack, top.bottom(), top.top(), True)

    @property
    def first(self) -> Curve | None:
        """The current side's curve."""
        return self.found.curves[0] if self.found and self.found.curves else None

    # painting

    def draw(self, paint: Paint) -> None:
        x = _LEFT
        for words, colour, weight in zip(
            self.head, (self.theme.ink, self.theme.ink3), (600, 400), strict=True
        ):
            x = paint.text(x, 10, words, colour, SUPPORT_PX, weight).right() + 8
        found, first = self.found, self.first
        if found is None:
            paint.text(
                self.width() / 2,
                self.height() / 2,
                "Predicting along the axis …",
                self.theme.ink3,
                align=0.5,
            )
            return
        if first is None:
            self._refused(paint, found)
            return
        paint.painter.setOpacity(_STALE if self.stale else 1.0)
        x, y = self.along, self.upward
        labels = Labels(self.halves[0].adjusted(2, 2, -2, -2))
        title = ""
        if found.line and self.height() >= _FLAT:
            title = axis_title(found.line.name, found.line.unit)
        axes.upward(paint, self.halves, y)
        axes.along(paint, self.halves, x, first.here, title, self.width())
        self._unfit(paint, found, x, labels)
        shifted = shifts.places(x, found.shifts)
        self._shares(paint, first, x, [*shifted, x.at(first.here)])
        self._lines(paint, found, x, y, labels)
        shifts.lines(paint, self.halves, x, found.shifts)
        top = self.halves[0]
        labels.take(*(QRectF(at - 2, top.top(), 4, top.height()) for at in shifted))
        for index in reversed(range(len(found.curves))):
            curve = found.curves[index]
            crosses(paint, curve.measured, self._colour(index, curve), x, y, labels)
        self._here(paint, found, x, y, labels)
        shifts.names(paint, self.halves, x, found.shifts, found.about)
        for index in reversed(range(len(found.curves))):
            self._name(paint, found.curves[index], index, x, y, labels)
        self._busy_name(paint, first, x, y, labels)
        if self.over is not None:
            at = self.point()
            _, low = self.halves
            paint.line([(at.x(), _TOP), (at.x(), low.bottom())], self.theme.ink3, 1.0, dotted=True)
            paint.mark(first.regime(self.over), at.x(), at.y(), 6.5, self.theme.ink)
        paint.painter.setOpacity(1.0)

    def _refused(self, paint: Paint, found: Curves) -> None:
        """Why there is no sweep, in as many lines as it takes."""
        area = QRectF(self.rect()).adjusted(24, 16, -24, -16)
        paint.painter.setFont(face(SUPPORT_PX)[0])
        paint.painter.setPen(QColor(self.theme.ink2))
        words = f"No sweep over {within_words(axis_name(found.axis))}.\n{found.refused}"
        flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
        paint.painter.drawText(area, int(flags), words)

    def _unfit(self, paint: Paint, found: Curves, x: Scale, labels: Labels) -> None:
        """From where on the GPU's memory is too small."""
        if found.unfit is None:
            return
        top, _ = self.halves
        left = x.at(found.unfit)
        area = QRectF(left, top.top(), max(4.0, top.right() - left), top.height())
        paint.area(area, "refused")
        words = f"{plain(found.unfit)} does not fit"
        box = pill_box(top.right() - 3, top.bottom() - 12, words, align=1.0)
        labels.take(box)
        paint.pill(top.right() - 3, top.bottom() - 12, words, self.theme.danger, align=1.0)

    def _shares(self, paint: Paint, first: Curve, x: Scale, lines: list[float]) -> None:
        """Each regime's share on those before it, its name where none of the lines goes through."""
        theme = self.theme
        _, area = self.halves
        xs = x.many(first.values)
        floor = np.zeros(xs.size)
        for regime in STACK:
            band = first.columns[regime]
            top = floor + band
            low_y, high_y = (area.bottom() - area.height() * v for v in (floor, top))
            if band.max() > 0:
                paint.area(ring(xs, low_y, high_y), regime)
                paint.line(points(xs, high_y), theme.bg1, 1.0)
            thick = band * area.height()
            inner = (xs > area.left() + 38) & (xs < area.right() - 38)
            for line in lines:
                inner &= np.abs(xs - line) > 0.5 * width(regime, LABEL_PX, 600) + 8
            if inner.any():
                at = int(np.argmax(np.where(inner, thick, -1.0)))
                if thick[at] >= 20:
                    paint.pill(
                        xs[at],
                        (low_y[at] + high_y[at]) / 2,
                        regime,
                        theme.regime(regime).ink,
                        weight=600,
                    )
            floor = top

    def _colour(self, index: int, curve: Curve) -> str:
        """Ink for the current side, its letter's colour for another."""
        place = "ABCD".find(curve.side.letter)
        return self.theme.ink if index == 0 else self.theme.sides[max(0, place)]

    def _lines(self, paint: Paint, found: Curves, x: Scale, y: Scale, labels: Labels) -> None:
        for index in reversed(range(len(found.curves))):
            curve = found.curves[index]
            if index and curve.same(found.curves[0]):
                continue
            colour = self._colour(index, curve)
            xs = x.many(curve.values)
            low, high, middle = (y.many(curve.columns[n]) for n in ("low_s", "high_s", "period_s"))
            path = ring(xs, low, high)
            paint.area(path, colour, _BAND if index == 0 else 0.6 * _BAND)
            if index == 0:
                busy = y.many(curve.columns["gpu_busy_s"])
                self._clipped(paint, points(xs, busy), self.theme.ink3)
                take(labels, xs, busy)
            paint.line(
                points(xs, middle), colour, SECOND_WIDTH if index else CURVE_WIDTH, dashed=index > 0
            )
            take(labels, xs, middle)

    def _clipped(self, paint: Paint, line: Points, colour: str) -> None:
        paint.painter.save()
        paint.painter.setClipRect(self.halves[0])
        paint.line(line, colour, 1.4, dotted=True)
        paint.painter.restore()

    def _name(
        self, paint: Paint, curve: Curve, index: int, x: Scale, y: Scale, labels: Labels
    ) -> None:
        """A side's name at its line; at its place where it shares the first one's line."""
        words = f"{curve.side.letter}  {curve.side.name}"
        if index and self.first is not None and curve.same(self.first):
            if x.low <= curve.here <= x.high:
                at = QPointF(x.at(curve.here), y.at(curve.side.prediction.period_s))
                box = pill_box(0, 0, words)
                room = labels.beside(at.x(), at.y(), 6, box.width(), box.height())
                if room:
                    paint.pill(
                        room.center().x(), room.center().y(), words, self._colour(index, curve)
                    )
            return
        at_line(
            paint,
            x.many(curve.values),
            y.many(curve.columns["period_s"]),
            words,
            self._colour(index, curve),
            labels,
        )

    def _busy_name(self, paint: Paint, curve: Curve, x: Scale, y: Scale, labels: Labels) -> None:
        ys = y.many(curve.columns["gpu_busy_s"])
        at_line(paint, x.many(curve.values), ys, "GPU busy", self.theme.ink3, labels, True)

    def _here(self, paint: Paint, found: Curves, x: Scale, y: Scale, labels: Labels) -> None:
        """Where the sides are: the current one with its time, the others hollow."""
        theme = self.theme
        _, below = self.halves
        for index in reversed(range(len(found.curves))):
            curve = found.curves[index]
            if not x.low <= curve.here <= x.high:
                continue
            time, low, high = curve.here_s()
            at = QPointF(x.at(curve.here), y.at(time))
            labels.take(QRectF(at.x() - 7, at.y() - 7, 14, 14))
            if index:
                paint.mark(None, at.x(), at.y(), 4.6, self._colour(index, curve), True, wide=1.8)
                continue
            paint.line([(at.x(), _TOP), (at.x(), below.bottom())], theme.ink, 1.4, casing=theme.bg1)
            labels.take(QRectF(at.x() - 2, _TOP, 4, self.halves[0].height()))
            paint.mark(None, at.x(), at.y(), 5.6, theme.bg1, wide=2.2)
            words = f"{seconds(time)}, {between(low, high, time)}"
            box = pill_box(0, 0, words, weight=600)
            room = labels.beside(at.x(), at.y(), 8, box.width(), box.height())
            if room:
                paint.pill(room.center().x(), room.center().y(), words, theme.ink, weight=600)

    # the pointer and the keys

    def hit(self, at: QPointF) -> int | None:
        first = self.first
        if first is None or self.stale:
            return None
        top, below = self.halves
        if not top.united(below).adjusted(-6, 0, 6, 0).contains(at):
            return None
        return int(np.argmin(np.abs(self.along.many(first.values) - at.x())))

    def card(self) -> Card | None:
        first, found = self.first, self.found
        if first is None or found is None or self.over is None:
            return None
        return card(found, first, int(self.over))

    def card_at(self) -> QPointF:
        """Beside the point, at the top, where lines that rise leave room."""
        point = self.point()
        return QPointF(point.x(), _TOP - 12)

    def point(self) -> QPointF:
        """Where `over` is on the line."""
        first = self.first
        if first is None or self.over is None:
            return self.at
        row = int(self.over)
        at = self.along.at(float(first.values[row]))
        return QPointF(at, self.upward.at(float(first.columns["period_s"][row])))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        first, key = self.first, Qt.Key(event.key())
        if first is None or self.stale:
            super().keyPressEvent(event)
            return
        last = first.values.size - 1
        now = self.over
        if now is None:
            now = int(np.argmin(np.abs(np.log(first.values / first.here))))
        steps = {
            Qt.Key.Key_Right: now + 1,
            Qt.Key.Key_Up: now + 1,
            Qt.Key.Key_Left: now - 1,
            Qt.Key.Key_Down: now - 1,
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: last,
        }
        if key in steps:
            self.show_over(min(max(steps[key], 0), last))
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            if self.over is not None:
                self.pressed_on.emit(self.over)
        elif key == Qt.Key.Key_Escape and self.over is not None:
            self.show_over(None)
        else:
            super().keyPressEvent(event)
