"""The axes of a lesson's plot: a figure over the values of an axis, or over sides."""

from __future__ import annotations

from math import floor, log10

from PySide6.QtCore import QRectF

from app.lessons.lesson import LessonSide
from app.quantities import number, plain, seconds_unit
from app.scenes.lessons.attempt import Attempt, Key
from app.scenes.pixel_scale import Scale
from app.theme import LABEL_PX, SUPPORT_PX, Theme
from app.widgets.canvas import Canvas
from app.widgets.paint import Paint, elided, width

_LEFT, _RIGHT, _TOP, _BOTTOM = 58.0, 22.0, 26.0, 44.0
_NAMES = {"batch": "Batch", "seq": "Sequence length"}


class LessonPlot(Canvas):
    """The base of the plots for predicting and revealing. `attempt` is None if no lesson is
    open."""

    foot_px = 0.0
    """Pixels between the plot and the names below it."""

    def __init__(self, theme: Theme, name: str) -> None:
        super().__init__(theme, name)
        self.attempt: Attempt | None = None

    def ends(self) -> tuple[float, float]:
        """The smallest and largest figure of the vertical axis."""
        attempt = self.attempt
        assert attempt is not None
        if attempt.lesson.guess != "shift":
            return attempt.range
        figure = attempt.known.figure("a")
        return figure / 2, figure * 100

    @property
    def plot(self) -> QRectF:
        """The area inside the axes."""
        return QRectF(self.rect()).adjusted(_LEFT, _TOP, -_RIGHT, -_BOTTOM - self.foot_px)

    @property
    def upward(self) -> Scale:
        """The vertical axis of figures."""
        assert self.attempt is not None
        low, high = self.ends()
        share = self.attempt.known.word.share
        return Scale(low, high, self.plot.bottom(), self.plot.top(), not share)

    @property
    def along(self) -> Scale:
        """The horizontal axis of values."""
        assert self.attempt is not None and self.attempt.lesson.line is not None
        values = self.attempt.lesson.line.values
        area = self.plot
        return Scale(values[0], values[-1], area.left(), area.right(), log=True)

    @property
    def beside(self) -> tuple[LessonSide, ...]:
        """The sides along the horizontal axis."""
        assert self.attempt is not None
        return self.attempt.lesson.sides

    def x_of(self, key: Key) -> float:
        """The x coordinate of a guess or a side."""
        assert self.attempt is not None
        lesson, area = self.attempt.lesson, self.plot
        if key == "shift":
            return self.along.at(self.attempt.guesses["shift"])
        if isinstance(key, int):
            return self.along.at(key)
        if lesson.line is not None:
            return area.left()
        place = [side.letter for side in self.beside].index(key)
        return area.left() + (place + 0.5) * area.width() / len(self.beside)

    def axes(self, paint: Paint) -> None:
        """Draw the grid and its labels."""
        attempt, theme, area = self.attempt, self.theme, self.plot
        assert attempt is not None
        up, word = self.upward, attempt.known.word
        unit, ticks = "", list[tuple[float, str]]()
        if word.share:
            ticks = [(v / 100, f"{v}%") for v in (0, 25, 50, 75, 100)]
        else:
            ticks = _ticks(up, area.height())
            unit = word.text(ticks[-1][0]).rpartition(" ")[2] if ticks else ""
            scale, unit = _scale(unit, ticks)
            ticks = [(v, _tick(v / scale)) for v, _ in ticks]
        for value, words in ticks:
            y = up.at(value)
            paint.line([(area.left(), y), (area.right(), y)], theme.grid)
            paint.text(area.left() - 8, y, words, theme.ink3, LABEL_PX, align=1.0)
        paint.text(area.left() - 8, area.top() - 14, unit, theme.ink3, LABEL_PX, align=1.0)
        paint.line([(area.left(), area.bottom()), (area.right(), area.bottom())], theme.line2)
        y = area.bottom() + self.foot_px + 12
        line = attempt.lesson.line
        if line is None:
            each = area.width() / len(self.beside)
            for side in self.beside:
                words = elided(side.label, each - 6, SUPPORT_PX, 500)
                paint.text(self.x_of(side.letter), y + 2, words, theme.ink2, SUPPORT_PX, 500, 0.5)
            return
        last = area.left() - 100
        for value in line.values:
            x, words = self.along.at(value), plain(value)
            paint.line([(x, area.top()), (x, area.bottom())], theme.grid)
            if x - width(words) / 2 > last + 8:
                paint.text(x, y, words, theme.ink3, LABEL_PX, align=0.5)
                last = x + width(words) / 2
        paint.text(
            area.center().x(),
            y + 17,
            _NAMES.get(line.name, line.name),
            theme.ink2,
            LABEL_PX,
            500,
            0.5,
        )


def _ticks(scale: Scale, pixels: float) -> list[tuple[float, str]]:
    """Return powers of ten, with their multiples by 2 and 5 if there is room."""
    decades = log10(scale.high / scale.low)
    parts = (1, 2, 5) if pixels / decades > 110 else (1, 3) if pixels / decades > 70 else (1,)
    ticks: list[tuple[float, str]] = []
    for power in range(floor(log10(scale.low)) - 1, floor(log10(scale.high)) + 2):
        for part in parts:
            value = part * 10.0**power
            if scale.low * 0.999 <= value <= scale.high * 1.001:
                ticks.append((value, ""))
    return ticks


def _scale(unit: str, ticks: list[tuple[float, str]]) -> tuple[float, str]:
    """Return one scale and unit for all ticks. Times use the middle tick to choose them, other
    quantities the last tick."""
    if unit in ("s", "ms", "µs", "ns"):
        return seconds_unit(ticks[len(ticks) // 2][0])
    prefixes = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
    binary = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
    if unit in binary:
        return binary[unit], unit
    if unit[:1] in prefixes and len(unit) > 1:
        return prefixes[unit[0]], unit
    return 1.0, unit


def _tick(value: float) -> str:
    return plain(float(f"{value:.3g}")) if value >= 0.01 else number(value, 1)
