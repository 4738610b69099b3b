"""The plot that reveals the simulated figures beside the learner's prediction."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QKeyEvent, QPainterPath

from app.drawing.geometry import Box
from app.drawing.labels import Labels
from app.lessons.outcome import Curve, Outcome
from app.quantities import percent, plain
from app.scenes.lessons.attempt import Key
from app.theme import BODY_PX, CURVE_WIDTH, SUPPORT_PX, Theme, mixed
from app.views.lessons.labels import STRIP, label, regime_strip, spanned
from app.views.lessons.plot import LessonPlot
from app.widgets.canvas import Card
from app.widgets.drawn import box_of
from app.widgets.paint import Paint, elided, width
from simulator.parallel.prediction import ParallelRegime
from simulator.prediction import REGIMES


class RevealCanvas(LessonPlot):
    """Arrow keys step through the points, each with a card. `outcome` is None until it is
    revealed."""

    foot_px = 24.0

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Simulated figures")
        self.outcome: Outcome | None = None
        self.waiting = ""

    def show_outcome(self, outcome: Outcome | None) -> None:
        """Reveal an outcome, or hide it with None."""
        self.outcome, self.over = outcome, None
        self.update()

    def ends(self) -> tuple[float, float]:
        low, high = super().ends()
        attempt, outcome = self.attempt, self.outcome
        if attempt is None or outcome is None or attempt.known.word.share:
            return low, high
        shown = [figure for key in self._places() if (figure := self._figure(key)) > 0]
        if attempt.lesson.guess != "shift":
            shown += attempt.guesses.values()
        return min(shown) / 1.8, max(shown) * 2.2

    def _places(self) -> list[Key]:
        outcome = self.outcome
        assert outcome is not None
        if outcome.curve is not None:
            return [int(value) for value in outcome.curve.values]
        return [side.letter for side in outcome.lesson.sides]

    def _figure(self, place: Key) -> float:
        assert self.outcome is not None
        return self.outcome.at(place) if isinstance(place, int) else self.outcome.figure(str(place))

    def _regime(self, place: Key) -> ParallelRegime:
        outcome = self.outcome
        assert outcome is not None
        if outcome.curve is not None:
            return outcome.curve.regimes[self._places().index(place)]
        return outcome.sides[str(place)].regime

    # painting

    def draw(self, paint: Paint) -> None:
        if self.outcome is None or self.attempt is None:
            self._before(paint)
            return
        self.axes(paint)
        inside = QRectF(self.rect()).adjusted(4, 2, -4, 0)
        inside.setBottom(self.plot.bottom() + 3)
        labels = Labels(box_of(inside))
        if self.outcome.curve is not None:
            self._line(paint, self.outcome, self.outcome.curve, labels)
        else:
            self._sides(paint, self.outcome, labels)

    def _before(self, paint: Paint) -> None:
        """Draw the given figure, and the instruction to the learner."""
        if self.attempt is not None:
            self.axes(paint)
            if "a" not in self.attempt.keys:
                known, x = self.attempt.known, self.x_of("a")
                y = self.upward.at(known.figure("a"))
                paint.mark(None, x, y, 6)
                words = f"given: {known.word.text(known.figure('a'))}"
                paint.pill(x + 12, y, words, self.theme.ink, SUPPORT_PX, 600, 0.0)
        area = self.plot
        words = elided(self.waiting, self.width() - 60.0, BODY_PX)
        paint.pill(area.center().x(), area.top() + 16, words, self.theme.ink2, BODY_PX)

    def _line(self, paint: Paint, outcome: Outcome, curve: Curve, labels: Labels) -> None:
        attempt, theme, along, up = self.attempt, self.theme, self.along, self.upward
        assert attempt is not None
        regime_strip(paint, outcome, curve, self.plot, self.along)
        xs = [along.at(v) for v in curve.values]
        band = QPainterPath(QPointF(xs[0], up.at(float(curve.low[0]))))
        for x, y in zip(xs[1:], curve.low[1:], strict=True):
            band.lineTo(x, up.at(float(y)))
        for x, y in zip(reversed(xs), curve.high[::-1], strict=True):
            band.lineTo(x, up.at(float(y)))
        paint.area(band, mixed(theme.ink, theme.bg1, 0.16))
        points = [(x, up.at(float(y))) for x, y in zip(xs, curve.figures, strict=True)]
        labels.take(*(Box.around(x, y, 6) for x, y in points))
        if attempt.lesson.guess == "shift":
            paint.line(points, theme.ink, CURVE_WIDTH)
            self._shift(paint, outcome)
            return
        self._guessed(paint, points)
        if outcome.change is not None:
            x = along.at(outcome.change.at)
            paint.line(
                [(x, self.plot.top()), (x, self.plot.bottom())], theme.ink3, 1.2, dashed=True
            )
            words = f"shift at {plain(outcome.change.last)}"
            labels.take(box_of(paint.pill(x, self.plot.top() - 6, words, theme.ink, weight=600)))
        paint.line(points, theme.ink, CURVE_WIDTH)
        for x, y in points:
            paint.mark(None, x, y, 4, theme.ink, hollow=True, wide=1.8)
        key = attempt.farthest
        for guess in attempt.keys:
            self._compare(paint, outcome, guess, labels, full=guess == key)

    def _guessed(self, paint: Paint, points: list[tuple[float, float]]) -> None:
        """Draw the learner's curve, and the area between it and the answer."""
        attempt, theme = self.attempt, self.theme
        assert attempt is not None
        first = points[0]
        line = [first, *((self.x_of(k), self.upward.at(attempt.guesses[k])) for k in attempt.keys)]
        between = QPainterPath(QPointF(*line[0]))
        for x, y in line[1:]:
            between.lineTo(x, y)
        for x, y in reversed([p for p in points if p[0] <= line[-1][0] + 0.5]):
            between.lineTo(x, y)
        paint.area(between, theme.b, 0.08)
        paint.line(line, theme.b, 2.2, dotted=True)
        for x, y in line[1:]:
            paint.mark(None, x, y, 6, theme.bg1)
            paint.painter.setBrush(Qt.BrushStyle.NoBrush)
            paint.area(QRectF(x - 5, y - 5, 10, 10), theme.b, radius=5)

    def _shift(self, paint: Paint, outcome: Outcome) -> None:
        attempt, theme, area = self.attempt, self.theme, self.plot
        assert attempt is not None
        guess_px, change = self.along.at(attempt.guesses["shift"]), outcome.change
        paint.line([(guess_px, area.top()), (guess_px, area.bottom())], theme.b, 2.2, dotted=True)
        right = guess_px > area.center().x()
        paint.pill(
            guess_px + (-6 if right else 6),
            area.bottom() - 14,
            f"you: {attempt.written('shift')}",
            theme.on_accent,
            SUPPORT_PX,
            600,
            1.0 if right else 0.0,
            theme.b,
        )
        if change is None:
            return
        left, end = self.along.at(change.last), self.along.at(change.first)
        paint.area(
            QRectF(left, area.top(), end - left, area.height()), mixed(theme.ink, theme.bg1, 0.16)
        )
        at = self.along.at(change.at)
        paint.line([(at, area.top()), (at, area.bottom())], theme.ink, 1.6)
        right = at > area.center().x()
        words = f"{change.before}-bound, then {change.after}-bound: {outcome.filled('{shift}')}"
        paint.pill(
            at + (-8 if right else 8),
            area.top() + 12,
            words,
            theme.bg1,
            SUPPORT_PX,
            600,
            1.0 if right else 0.0,
            theme.ink,
        )
        paint.pill(
            at + (-8 if right else 8),
            area.top() + 34,
            attempt.relative_to_guess(outcome, "shift"),
            theme.ink,
            SUPPORT_PX,
            600,
            1.0 if right else 0.0,
            theme.bg2,
            theme.line2,
        )

    def _sides(self, paint: Paint, outcome: Outcome, labels: Labels) -> None:
        attempt, theme, up = self.attempt, self.theme, self.upward
        assert attempt is not None
        column_px = self.plot.width() / len(outcome.lesson.sides)
        for side in outcome.lesson.sides:
            x, regime = self.x_of(side.letter), self._regime(side.letter)
            bounds, y = outcome.interval(side.letter), up.at(self._figure(side.letter))
            box = QRectF(x - column_px / 2 + 6, self.plot.bottom() + 5, column_px - 12, STRIP)
            paint.area(box, regime)
            words = f"{regime}-bound"
            if width(words, weight=600) + 14 < box.width():
                paint.pill(x, box.center().y(), words, theme.regime(regime).ink, weight=600)
            if bounds:
                low, high = up.at(bounds[0]), up.at(bounds[1])
                paint.area(
                    QRectF(x - 11, high, 22, max(2.0, low - high)),
                    mixed(theme.ink, theme.bg1, 0.20),
                    radius=3,
                )
            labels.take(Box(x - 11, y - 9, 22, 18))
        for key in attempt.keys:
            self._compare(paint, outcome, key, labels, full=True)
        for side in outcome.lesson.sides:
            x, y = self.x_of(side.letter), up.at(self._figure(side.letter))
            paint.mark(self._regime(side.letter), x, y, 7, theme.bg1, wide=2)
            if side.letter not in attempt.keys:
                words = outcome.word.text(self._figure(side.letter))
                label(paint, labels, x, y, [words], theme.ink, theme.bg2, theme.line2)

    def _compare(
        self, paint: Paint, outcome: Outcome, key: Key, labels: Labels, full: bool
    ) -> None:
        """Draw a guess, the answer, and an arrow between them."""
        attempt, theme, up = self.attempt, self.theme, self.upward
        assert attempt is not None
        x, guess_px = self.x_of(key), up.at(attempt.guesses[key])
        figure = self._figure(key)
        y = up.at(figure)
        away = 12 if guess_px < y else -12
        if abs(guess_px - y) > 34:
            paint.line([(x, guess_px + away), (x, y - away)], theme.ink, 1.6)
            tip = y - 0.8 * away
            paint.line(
                [(x - 4, tip - 0.5 * away), (x, tip), (x + 4, tip - 0.5 * away)], theme.ink, 1.6
            )
        if isinstance(key, str):
            paint.area(QRectF(x - 6, guess_px - 6, 12, 12), theme.b, radius=6)
        labels.take(Box.around(x, guess_px, 7))
        words = f"you: {attempt.written(key)}" if full else attempt.written(key)
        label(paint, labels, x, guess_px, [words], theme.on_accent, theme.b)
        bounds = outcome.interval(key)
        lines = [outcome.word.text(figure)]
        if full and bounds and bounds[0] < bounds[1]:
            lines.append(f"80%: {spanned(outcome.word, bounds)}")
        label(paint, labels, x, y, lines, theme.bg1, theme.ink)
        if full and abs(guess_px - y) > 60:
            guess = attempt.relative_to_guess(outcome, key)
            label(paint, labels, x, (guess_px + y) / 2, [guess], theme.ink, theme.bg2, theme.line2)

    # pointer and keys

    def hit(self, at: QPointF) -> Any:
        if self.outcome is None or self.attempt is None:
            return None
        near = min(self._places(), key=lambda place: abs(self.x_of(place) - at.x()))
        inside = self.plot.adjusted(-8, 0, 8, 0).contains(at)
        return near if inside and abs(self.x_of(near) - at.x()) < 40 else None

    def card(self) -> Card | None:
        outcome, attempt = self.outcome, self.attempt
        if outcome is None or attempt is None or self.over is None:
            return None
        place: Key = self.over
        bounds, word = outcome.interval(place), outcome.word
        rows = [(word.says, word.text(self._figure(place)))]
        if bounds and bounds[0] < bounds[1]:
            rows.append(("80% interval", spanned(word, bounds)))
        if place in attempt.keys:
            rows += [
                ("Your prediction", attempt.written(place)),
                ("The answer is", attempt.relative_to_guess(outcome, place)),
            ]
        regime = self._regime(place)
        if outcome.curve is None:
            side = outcome.lesson.side(str(place))
            shares = outcome.sides[side.letter].shares
            rows.append(("Shares", ", ".join(f"{percent(shares[r])} {r}" for r in REGIMES)))
            return Card(side.label, tuple(rows), f"{regime}-bound", regime)
        name = outcome.lesson.line.name.capitalize() if outcome.lesson.line else ""
        return Card(f"{name} {plain(float(place))}", tuple(rows), f"{regime}-bound", regime)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {Qt.Key.Key_Right: 1, Qt.Key.Key_Left: -1}.get(Qt.Key(event.key()), 0)
        if self.outcome is None or not step:
            if event.key() == Qt.Key.Key_Escape and self.over is not None:
                self.show_over(None)
                return
            super().keyPressEvent(event)
            return
        places = self._places()
        index = places.index(self.over) + step if self.over in places else 0
        place = places[min(max(index, 0), len(places) - 1)]
        self.at = QPointF(self.x_of(place), self.upward.at(self._figure(place)))
        self.show_over(place)
