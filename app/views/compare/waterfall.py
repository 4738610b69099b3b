"""The waterfall of two sides in a window, with its cards and keys."""

from __future__ import annotations

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QKeyEvent

from app.answers.side import Side
from app.charts.waterfall.frame import BOTTOM_PX, End, Frame
from app.charts.waterfall.waterfall import waterfall
from app.drawing import Box, Role
from app.drawing.colours import SIDES, STACK
from app.quantities import between, change, seconds, signed_seconds
from app.theme import Theme
from app.widgets.canvas import Card
from app.widgets.drawn import QT_METRICS, box_of, render
from app.widgets.paint import Paint
from app.widgets.titled import Titled
from simulator.analysis.compare import Waterfall

_ABOUT = "each change after the previous ones; the changes add up"


class WaterfallCanvas(Titled):
    """`over` is the index of a bar: 0 is A, then the changes, then B."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "From A to B, one change at a time", _ABOUT)
        self.fall: Waterfall | None = None
        self.pair: tuple[Side, Side] | None = None
        self.reason = ""
        """Why there is no waterfall."""
        self.setMinimumSize(360, 200)

    def show_fall(self, fall: Waterfall | None, a: Side, b: Side) -> None:
        """Draw a waterfall; None while it is being computed."""
        self.fall, self.pair, self.over = fall, (a, b), None
        self.reason = "Predicting each change …"
        self.title = f"From {a.letter} to {b.letter}, one change at a time"
        slower = [s for s in fall.steps if s.change_s > 0.005 * fall.a.period_s] if fall else []
        self.about = _ABOUT
        if slower and fall and len(fall.steps) > 1:
            names = ", ".join(s.label for s in slower)
            added = signed_seconds(sum(s.change_s for s in slower))
            self.about = f"a step takes longer because of {names}: {added}"
        self.update()

    def fail(self, reason: str) -> None:
        """Show why there is no waterfall."""
        self.reason = reason
        self.update()

    # the drawing

    @property
    def frame(self) -> Frame | None:
        """The geometry of the waterfall, or None while it is being computed."""
        body = self.body
        box = box_of(body)
        return Frame(box, self.fall) if self.fall else None

    def draw_body(self, paint: Paint) -> None:
        frame, middle = self.frame, self.body.center()
        if frame is not None and self.pair is not None:
            a, b = (End(side.name, _colour(side), side.letter) for side in self.pair)
            render(waterfall(frame, (a, b), QT_METRICS, self.over), paint)
        elif self.pair is not None:
            paint.text(middle.x(), middle.y(), self.reason, self.theme.ink3, align=0.5)

    # the pointer and the keys

    def hit(self, at: QPointF) -> int | None:
        frame = self.frame
        if frame is None:
            return None
        area = frame.plot
        if not Box(area.left, area.top - 8, area.width, area.height + 8 + BOTTOM_PX).holds(
            at.x(), at.y()
        ):
            return None
        return min(int((at.x() - area.left) / frame.room), frame.count - 1)

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
                ("Step time after the change", seconds(step.period_s)),
                ("80% interval", between(*step.interval_s, step.period_s)),
            ]
            return Card(step.label, tuple(r for r in rows if r[1]))
        p, side = (fall.b, pair[1]) if place else (fall.a, pair[0])
        rows = [("Time", seconds(p.period_s)), ("80% interval", between(*p.interval_s, p.period_s))]
        rows += [(r.capitalize(), seconds(p.shares[r] * p.period_s)) for r in reversed(STACK)]
        return Card(f"{side.letter}  {side.name}", tuple(rows), f"{p.regime}-bound", p.regime)

    def card_at(self) -> QPointF:
        frame = self.frame
        if frame is None or self.over is None:
            return self.at
        return QPointF(*frame.column(int(self.over)).centre)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, fall = Qt.Key(event.key()), self.fall
        if fall is None:
            super().keyPressEvent(event)
            return
        last, place = len(fall.steps) + 1, -1 if self.over is None else int(self.over)
        steps = {
            Qt.Key.Key_Right: place + 1,
            Qt.Key.Key_Left: place - 1,
            Qt.Key.Key_Home: 0,
            Qt.Key.Key_End: last,
        }
        if key in steps:
            self.show_over(min(max(steps[key], 0), last))
        elif key == Qt.Key.Key_Escape and self.over is not None:
            self.show_over(None)
        else:
            super().keyPressEvent(event)


def _colour(side: Side) -> Role:
    """The colour of a scenario by its letter."""
    return SIDES[max(0, "ABCD".find(side.letter))]
