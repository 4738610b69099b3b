"""The verdicts of both sides, and their ratio."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtWidgets import QSizePolicy

from app.answers.answer import subject_of
from app.answers.side import Side
from app.quantities import between, number, percent, seconds_unit, signed_seconds
from app.report.comparisons.ratios import per_sample, ratio, sample_s
from app.theme import BODY_PX, FIGURE_PX, HEAD_PX, LABEL_PX, SUPPORT_PX, Theme, mixed
from app.views.regime_map.cursor import share_bar
from app.widgets.canvas import Canvas
from app.widgets.paint import Paint, width
from simulator.prediction import REGIMES

HEIGHT_PX, _TIME_PX, _MIDDLE = 92, 26, 0.22
"""The row's height, the font size of a time, and the share of the width between the verdicts."""


class Verdicts(Canvas):
    """A's verdict, how many times faster B is, and B's verdict."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Verdicts of both sides")
        self.pair: tuple[Side, Side] | None = None
        self.abouts = ("", "")
        self.setFixedHeight(HEIGHT_PX)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_pair(self, a: Side, b: Side) -> None:
        """Compare two sides."""
        self.pair = a, b
        subjects = [subject_of(side.scenario, side.prediction) for side in self.pair]
        words = [f"{s.name}, {s.batch:,}" + (f" × {s.seq:,}" if s.seq else "") for s in subjects]
        self.abouts = words[0], words[1]
        sentences = [*map(self.sentence, (a, b)), *self.ratio()]
        self.setAccessibleDescription("; ".join(sentences))
        self.setToolTip("\n".join(sentences))
        self.update()

    @staticmethod
    def sentence(side: Side) -> str:
        """Return a sentence such as "A Eager: memory-bound, 46.0 ms, 44 to 49"."""
        p = side.prediction
        scale, unit = seconds_unit(p.period_s)
        time = f"{number(p.period_s / scale)} {unit}, {between(*p.interval_s, p.period_s)}"
        return f"{side.letter} {side.name}: {p.regime}-bound, {time}"

    def ratio(self) -> tuple[str, str]:
        """Return texts such as "1.92 times faster" and "−22.0 ms, 80% intervals apart"."""
        if self.pair is None:
            return "", ""
        a, b = (side.prediction for side in self.pair)
        head, _, intervals = ratio(a, b).partition(", ")
        by_sample = per_sample((a, b))
        change = sample_s(b) - sample_s(a) if by_sample else b.period_s - a.period_s
        change_words = signed_seconds(change) + (" per sample" if by_sample else "")
        return head, f"{change_words}, {intervals}" if intervals else "the same time"

    def draw(self, paint: Paint) -> None:
        if self.pair is None:
            return
        wide = float(self.width())
        middle = _MIDDLE * wide
        side_px = (wide - middle) / 2
        self._side(paint, QRectF(0, 0, side_px, HEIGHT_PX), self.pair[0], self.abouts[0])
        self._ratio(paint, QRectF(side_px, 0, middle, HEIGHT_PX))
        self._side(
            paint, QRectF(side_px + middle, 0, side_px, HEIGHT_PX), self.pair[1], self.abouts[1]
        )
        for x in (side_px, side_px + middle):
            paint.line([(x, 14), (x, HEIGHT_PX - 14)], self.theme.line)

    def _ratio(self, paint: Paint, box: QRectF) -> None:
        theme = self.theme
        head, ratio = self.ratio()
        ink = theme.danger if "slower" in head else theme.b if "faster" in head else theme.ink
        words = head.removesuffix(" per sample")
        px = next(
            (
                px
                for px in (HEAD_PX, FIGURE_PX, BODY_PX)
                if width(words, px, 600) < box.width() - 16
            ),
            SUPPORT_PX,
        )
        x = box.center().x()
        paint.text(x, 34, words, ink, px, 600, 0.5)
        lines = ratio.split(", ") if width(ratio) > box.width() - 16 else [ratio]
        for index, line in enumerate(lines):
            paint.text(x, 57 + 16 * index, line, theme.ink2, align=0.5, room=box.width() - 12)

    def _side(self, paint: Paint, box: QRectF, side: Side, about: str) -> None:
        theme, p = self.theme, side.prediction
        badge = QRectF(box.left() + 12, 32, 26, 26)
        letter_badge(paint, badge, side, theme)
        left = badge.right() + 10
        scale, unit = seconds_unit(p.period_s)
        time = number(p.period_s / scale)
        taken = (
            max(
                width(time, _TIME_PX, 600) + width(unit, BODY_PX) + 8,
                width(between(*p.interval_s, p.period_s)),
            )
            + 14
        )
        right = box.right() - 14
        room = right - taken - left
        named = 0.38 * room if room > 300 else 0.0
        if named:
            paint.text(left, 34, side.name, theme.ink, FIGURE_PX, 600, room=named - 10)
            paint.text(left, 55, about, theme.ink3, LABEL_PX, room=named - 10)
            left += named
        ink = theme.regime(p.regime).ink
        paint.mark(p.regime, left + 8, 27, 7)
        paint.text(
            left + 22,
            27,
            f"{p.regime.capitalize()}-bound",
            ink,
            FIGURE_PX,
            600,
            room=room - named - 22,
        )
        share_bar(paint, QRectF(left, 44, room - named, 8), p.shares)
        words = [f"{percent(p.shares[r])} {r}" for r in REGIMES]
        if sum(width(w) + 26 for w in words) > room - named:
            words = [w.partition(" ")[0] for w in words]
        for regime, text in zip(REGIMES, words, strict=True):
            paint.mark(regime, left + 5, 68, 4.2)
            left = paint.text(left + 13, 68, text, theme.ink2, LABEL_PX).right() + 10
        ink = theme.ink if p.fits else theme.danger
        after = paint.text(right, 42, unit, theme.ink2, BODY_PX, align=1.0)
        paint.text(after.left() - 5, 38, time, ink, _TIME_PX, 600, 1.0)
        text = between(*p.interval_s, p.period_s) if p.fits else "does not fit"
        paint.text(right, 65, text, theme.ink2 if p.fits else theme.danger, align=1.0)


def letter_badge(paint: Paint, box: QRectF, side: Side, theme: Theme) -> None:
    """Draw a side's letter in its colour."""
    colour = theme.sides[max(0, "ABCD".find(side.letter))]
    paint.box(box, colour, mixed(colour, theme.bg0, 0.7), 6)
    ink = theme.bg0 if theme.name == "dark" else theme.bg2
    paint.text(box.center().x(), box.center().y(), side.letter, ink, BODY_PX, 600, 0.5)
