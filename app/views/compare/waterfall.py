"""The waterfall plot: A by its shares, one bar per change, B by its shares."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QKeyEvent

from app.answers.side import Side
from app.quantities import between, change, number, plain, seconds, seconds_unit, signed_seconds
from app.scenes.pixel_scale import Scale
from app.scenes.ticks import linear_ticks
from app.scenes.waterfall import broken, highest_s
from app.theme import BODY_PX, LABEL_PX, SUPPORT_PX, Theme
from app.views.compare.verdicts import letter_badge
from app.widgets.canvas import Card
from app.widgets.paint import Paint, elided, width
from app.widgets.patterns import STACK
from app.widgets.titled import Titled
from simulator.analysis.compare import Step, Waterfall

_LEFT, _TOP, _BOTTOM = 46.0, 28.0, 58.0
_ABOUT = "each change on top of the ones before it; the changes add up"


class WaterfallCanvas(Titled):
    """`over` is the index of a bar: 0 is A, then the changes, then B."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "From A to B, one change at a time", _ABOUT)
        self.fall: Waterfall | None = None
        self.pair: tuple[Side, Side] | None = None
        self.setMinimumSize(360, 200)

    def show_fall(self, fall: Waterfall | None, a: Side, b: Side) -> None:
        """Draw a waterfall, or None while it is being computed."""
        self.fall, self.pair, self.over = fall, (a, b), None
        self.title = f"From {a.letter} to {b.letter}, one change at a time"
        slower = [s for s in fall.steps if s.change_s > 0.005 * fall.a.period_s] if fall else []
        self.about = _ABOUT
        if slower and fall and len(fall.steps) > 1:
            names = ", ".join(s.label for s in slower)
            self.about = (
                f"slower because of {names}: {signed_seconds(sum(s.change_s for s in slower))}"
            )
        self.update()

    # geometry

    @property
    def plot(self) -> QRectF:
        """The area of the bars."""
        body = self.body
        return QRectF(
            body.left() + _LEFT,
            body.top() + _TOP,
            body.width() - _LEFT,
            body.height() - _TOP - _BOTTOM,
        )

    def upward(self, fall: Waterfall) -> Scale:
        """The axis of seconds."""
        area = self.plot
        return Scale(0.0, 1.06 * highest_s(fall), area.bottom(), area.top())

    def column(self, fall: Waterfall, place: int) -> QRectF:
        """The column of a bar, over the full height of the plot."""
        area, count = self.plot, len(fall.steps) + 2
        each = area.width() / count
        wide = min(104.0, 0.74 * each)
        return QRectF(
            area.left() + each * (place + 0.5) - wide / 2, area.top(), wide, area.height()
        )

    # painting

    def draw_body(self, paint: Paint) -> None:
        fall, pair = self.fall, self.pair
        if fall is None or pair is None:
            if pair is not None:
                middle = self.body.center()
                paint.text(
                    middle.x(), middle.y(), "Predicting each change …", self.theme.ink3, align=0.5
                )
            return
        y, area = self.upward(fall), self.plot
        scale, unit = seconds_unit(highest_s(fall))
        paint.text(area.left() - 8, area.top() - 12, unit, self.theme.ink3, align=1.0)
        self._legend(paint, fall, area.right(), area.top() - 18)
        for value in linear_ticks(0.0, y.high / scale, max(2, int(area.height() / 40))):
            at = y.at(value * scale)
            paint.line([(area.left(), at), (area.right(), at)], self.theme.grid)
            paint.text(area.left() - 8, at, plain(value), self.theme.ink3, align=1.0)
        last = len(fall.steps) + 1
        self._end(paint, fall, 0, y)
        for place, step in enumerate(fall.steps):
            self._step(paint, fall, place + 1, step, y)
        self._end(paint, fall, last, y)

    def _legend(self, paint: Paint, fall: Waterfall, right: float, y: float) -> None:
        """Draw the legend of rings and whiskers."""
        theme = self.theme
        box = paint.text(right, y, "80% interval of the step", theme.ink3, align=1.0)
        self._whisker(paint, box.left() - 9, y - 5, y + 5)
        if len(fall.steps) > 1:
            words = "this change alone"
            box = paint.text(box.left() - 28, y, words, theme.ink3, align=1.0)
            paint.mark(None, box.left() - 10, y, 4.6, theme.ink, True, wide=1.8)

    def _joint(self, paint: Paint, fall: Waterfall, place: int, at: float) -> None:
        """Connect the previous bar to this one with a dashed line."""
        line = [(self.column(fall, place - 1).right(), at), (self.column(fall, place).left(), at)]
        paint.line(line, self.theme.ink3, 1.0, dashed=True)

    def _end(self, paint: Paint, fall: Waterfall, place: int, y: Scale) -> None:
        """Draw a side's time by its shares, with its interval."""
        assert self.pair is not None
        theme, side = self.theme, self.pair[bool(place)]
        p = fall.b if place else fall.a
        column = self.column(fall, place)
        if place:
            self._joint(paint, fall, place, y.at(p.period_s))
        floor = 0.0
        for regime in STACK:
            top = floor + p.shares[regime] * p.period_s
            box = QRectF(column.left(), y.at(top), column.width(), y.at(floor) - y.at(top))
            if box.height() > 0.3:
                paint.area(box, regime)
            if box.height() > 22 and column.width() > width(regime) + 14:
                ink = theme.regime(regime).ink
                paint.pill(box.center().x(), box.center().y(), regime, ink)
            floor = top
        whole = QRectF(column.left(), y.at(floor), column.width(), column.bottom() - y.at(floor))
        paint.box(whole, "", theme.sides[max(0, "ABCD".find(side.letter))], 3, wide=2.0)
        self._whisker(paint, column.right() - 9, *map(y.at, p.interval_s))
        top = min(y.at(p.interval_s[1]), whole.top()) - 10
        scale, unit = seconds_unit(p.period_s)
        words = f"{number(p.period_s / scale)} {unit}"
        paint.text(column.center().x(), top, words, theme.ink, BODY_PX, 600, 0.5)
        badge = QRectF(column.center().x() - 10, column.bottom() + 7, 20, 20)
        letter_badge(paint, badge, side, theme)
        room = column.width() / 0.74 - 6
        paint.text(
            column.center().x(), badge.bottom() + 12, elided(side.name, room), theme.ink2, align=0.5
        )
        self._outline(paint, place, whole)

    def _whisker(self, paint: Paint, x: float, low: float, high: float) -> None:
        theme = self.theme
        lines = (
            [(x, low), (x, high)],
            [(x - 4, low), (x + 4, low)],
            [(x - 4, high), (x + 4, high)],
        )
        for colour, wide in ((theme.bg1, 4.0), (theme.ink, 1.5)):
            for line in lines:
                paint.line(line, colour, wide)

    def _step(self, paint: Paint, fall: Waterfall, place: int, step: Step, y: Scale) -> None:
        """Draw a change on top of the ones before it, and a ring for the change alone."""
        theme, column = self.theme, self.column(fall, place)
        before, after = y.at(step.period_s - step.change_s), y.at(step.period_s)
        self._joint(paint, fall, place, before)
        worse = step.change_s > 0
        colour = theme.danger if worse else theme.b
        top = min(before, after)
        box = QRectF(column.left(), top, column.width(), max(2.0, abs(after - before)))
        paint.area(box, colour, 0.45, edge=colour, radius=3)
        ends = sorted(map(y.at, step.interval_s))
        self._whisker(paint, column.right() - 9, ends[0], ends[1])
        if step.alone_s is not None and len(fall.steps) > 1:
            alone = y.at(fall.a.period_s + step.alone_s)
            paint.mark(None, column.left() + 9, alone, 4.6, theme.ink, True, wide=1.8)
        at = min(top, ends[0]) - 10
        room = self.plot.width() / (len(fall.steps) + 2)
        words, px = self._change(fall, step, room)
        ink = theme.danger if worse else theme.ink
        paint.pill(column.center().x(), at, words, ink, px, 600)
        lines = _lines(step.label, room - 6)
        for index, words in enumerate(lines[:3]):
            ink, weight = (theme.ink, 500) if index == 0 else (theme.ink3, 400)
            paint.text(
                column.center().x(),
                column.bottom() + 13 + 15 * index,
                elided(words, room - 6),
                ink,
                LABEL_PX,
                weight,
                0.5,
            )
        self._outline(paint, place, box)

    def _change(self, fall: Waterfall, step: Step, room: float) -> tuple[str, int]:
        """The text and font size of a change that fit, with its unit or in the axis's unit."""
        scale, _ = seconds_unit(highest_s(fall))
        sign = "+" if step.change_s > 0 else ""
        for digits, px in ((3, SUPPORT_PX), (2, LABEL_PX)):
            words = signed_seconds(step.change_s, digits)
            if width(words, px, 600) + 12 < room:
                return words, px
        return f"{sign}{plain(round(step.change_s / scale, 2))}", LABEL_PX

    def _outline(self, paint: Paint, place: int, box: QRectF) -> None:
        if place == self.over:
            paint.box(box.adjusted(-3, -3, 3, 3), "", self.theme.ink, 4, wide=1.6)

    # the pointer and the keys

    def hit(self, at: QPointF) -> int | None:
        fall, area = self.fall, self.plot
        if fall is None or not area.adjusted(0, -8, 0, _BOTTOM).contains(at):
            return None
        count = len(fall.steps) + 2
        return min(int((at.x() - area.left()) / area.width() * count), count - 1)

    def card(self) -> Card | None:
        fall, pair = self.fall, self.pair
        if fall is None or pair is None or self.over is None:
            return None
        place = int(self.over)
        if 0 < place <= len(fall.steps):
            step = fall.steps[place - 1]
            before = step.period_s - step.change_s
            rows = [
                ("On top of earlier changes", signed_seconds(step.change_s)),
                ("", change(before, step.period_s)),
                (
                    "Alone (ring)",
                    "cannot run" if step.alone_s is None else signed_seconds(step.alone_s),
                ),
                ("Step time after it", seconds(step.period_s)),
                ("80% interval", between(*step.interval_s, step.period_s)),
            ]
            return Card(step.label, tuple(r for r in rows if r[1]))
        p, side = (fall.b, pair[1]) if place else (fall.a, pair[0])
        rows = [("Time", seconds(p.period_s)), ("80% interval", between(*p.interval_s, p.period_s))]
        rows += [(r.capitalize(), seconds(p.shares[r] * p.period_s)) for r in reversed(STACK)]
        return Card(f"{side.letter}  {side.name}", tuple(rows), f"{p.regime}-bound", p.regime)

    def card_at(self) -> QPointF:
        if self.fall is None or self.over is None:
            return self.at
        column = self.column(self.fall, int(self.over))
        return QPointF(column.center().x(), column.center().y())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, fall = Qt.Key(event.key()), self.fall
        if fall is None:
            super().keyPressEvent(event)
            return
        last, here = len(fall.steps) + 1, -1 if self.over is None else int(self.over)
        steps = {
            Qt.Key.Key_Right: here + 1,
            Qt.Key.Key_Left: here - 1,
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: last,
        }
        if key in steps:
            self.show_over(min(max(steps[key], 0), last))
        elif key == Qt.Key.Key_Escape and self.over is not None:
            self.show_over(None)
        else:
            super().keyPressEvent(event)


def _lines(label: str, room: float) -> list[str]:
    """Split a change's name into lines, with more breaks until each line fits."""
    text = broken(label)
    for old, new in (("=", "\n"), ("+", ""), ("_", "\n")):
        if all(width(line, LABEL_PX, 500) <= room for line in text.split("\n")):
            break
        text = text.replace(old, new)
    return text.split("\n")
