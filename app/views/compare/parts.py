"""Regimes of the network's parts in both scenarios, changed ones first."""

from __future__ import annotations

from PySide6.QtCore import QRectF

from app.answers.side import Side
from app.quantities import change, number, seconds, signed_seconds
from app.theme import LABEL_PX, SUPPORT_PX, Theme
from app.widgets.canvas import Card
from app.widgets.paint import Paint, width
from app.widgets.titled import Listed
from simulator.analysis.compare import Part
from simulator.prediction import Regime

_FIGURE_PX = 62.0


class Regimes(Listed):
    """One row per part: its regimes in A and B, its times, and the change."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Regime changes")
        self.setMinimumSize(330, 130)
        self.letters = ("A", "B")

    def show_parts(self, parts: tuple[Part, ...], letters: tuple[str, str], note: str = "") -> None:
        """Draw parts: the step, then parts whose regime changed, then the others by change in time.
        `note` explains the shares of the step."""
        self.letters, self.over = letters, None
        self.items = sorted(parts, key=lambda p: (p.part != "step", not p.flipped, -_moved(p)))
        count = sum(part.flipped for part in parts)
        self.about = f"{count} of {len(parts)} parts; {note}" if parts else ""
        self.setToolTip(self.about)
        self.update()

    def _columns(self, box: QRectF) -> tuple[float, float, float]:
        """Pixels where the regimes of A and of B begin, and the width of the names."""
        figures = 3 * _FIGURE_PX
        regime_px = min(112.0, 0.2 * box.width())
        second = box.right() - figures - regime_px - 6
        first = second - regime_px - 18
        return first, second, first - box.left() - 8

    def draw_heads(self, paint: Paint, box: QRectF) -> None:
        theme, y = self.theme, box.top() + 9
        first, second, _ = self._columns(box)
        for x, words in (
            (box.left(), "Part"),
            (first, f"In {self.letters[0]}"),
            (second, f"In {self.letters[1]}"),
        ):
            paint.text(x, y, words, theme.ink3)
        for place, words in enumerate((self.letters[0], self.letters[1], "Change")):
            x = box.right() - _FIGURE_PX * (2 - place)
            paint.text(x, y, words, theme.ink3, align=1.0)

    def draw_row(self, paint: Paint, item: Part, box: QRectF) -> None:
        theme, y = self.theme, box.center().y()
        first, second, room = self._columns(box)
        weight = 600 if item.flipped else 400
        ink = theme.ink if item.flipped else theme.ink2
        name = part_name(item)
        if width(name, SUPPORT_PX, weight) > room:
            name = name.removeprefix("family ").removeprefix("module ")
        paint.text(box.left(), y, name, ink, SUPPORT_PX, weight, room=room)
        self._regime(paint, first, y, item.before, True, second - first - 34)
        arrow = theme.ink if item.flipped else theme.line2
        paint.line([(second - 28, y), (second - 12, y)], arrow, 1.6)
        paint.line([(second - 16, y - 4), (second - 12, y), (second - 16, y + 4)], arrow, 1.6)
        left = box.right() - 3 * _FIGURE_PX
        self._regime(paint, second, y, item.after, False, left - second - 4)
        by = item.seconds[1] - item.seconds[0]
        colour = (
            theme.ink3
            if abs(by) < 5e-4 * item.seconds[0]
            else (theme.danger if by > 0 else theme.b)
        )
        for place, (words, ink) in enumerate(
            (
                (seconds(item.seconds[0]), theme.ink2),
                (seconds(item.seconds[1]), theme.ink),
                (signed_seconds(by, 2), colour),
            )
        ):
            x = box.right() - _FIGURE_PX * (2 - place)
            paint.text(x, y, words, ink, LABEL_PX, 600 if place else 400, 1.0)

    def _regime(
        self, paint: Paint, x: float, y: float, regime: Regime, hollow: bool, room: float
    ) -> None:
        paint.mark(regime, x + 5, y, 4.6, hollow=hollow, wide=1.6)
        words = regime if width(regime, LABEL_PX, 500) + 16 <= room else ""
        ink = self.theme.regime(regime).ink
        paint.text(x + 15, y, words, ink, LABEL_PX, 400 if hollow else 600)

    def card(self) -> Card | None:
        part = self.over
        if part is None:
            return None
        before, after = part.seconds
        rows = [
            (self.letters[0], f"{part.before}-bound, {seconds(before)}"),
            (self.letters[1], f"{part.after}-bound, {seconds(after)}"),
            ("Change", f"{signed_seconds(after - before)}, {change(before, after)}"),
            (
                "Time",
                "of the step"
                if part.part == "step"
                else "of its kernels and the waits before them",
            ),
        ]
        note = "regime changed" if part.flipped else "same regime"
        return Card(part_name(part), tuple(rows), note, part.after)


def saved_by_rate(a: Side, b: Side) -> str:
    """The time saved in both scenarios if B's limiting rate is raised by 1%. It equals the share of
    that regime.
    """
    regime = b.prediction.regime
    rate = {
        "compute": "FLOP/s peaks",
        "memory": "bandwidths",
        "overhead": "host and launch speed",
    }
    after, before = (number(side.prediction.shares[regime], 2) for side in (b, a))
    return f"raising {rate[regime]} by 1% saves {after}% in {b.letter}, {before}% in {a.letter}"


def part_name(part: Part) -> str:
    """Return "Whole step", "family gemm" or "module layers"."""
    return "Whole step" if part.part == "step" else part.part


def _moved(part: Part) -> float:
    return abs(part.seconds[1] - part.seconds[0])
