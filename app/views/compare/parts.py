"""Parts of the network by regime: those that flipped first."""

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
    """A row a part: its regime in A and in B, its times, its change."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Regimes that flipped")
        self.setMinimumSize(330, 130)
        self.letters = ("A", "B")

    def show_parts(
        self, parts: tuple[Part, ...], letters: tuple[str, str], bought: str = ""
    ) -> None:
        """Draw these: the step, then those that flipped, then by change. `bought` says what the
        shares of the step mean."""
        self.letters, self.over = letters, None
        self.items = sorted(parts, key=lambda p: (p.part != "step", not p.flipped, -_moved(p)))
        count = sum(part.flipped for part in parts)
        self.about = f"{count} of {len(parts)} parts; {bought}" if parts else ""
        self.setToolTip(self.about)
        self.update()

    def _columns(self, box: QRectF) -> tuple[float, float, float]:
        """Where the regimes of A and of B begin, and where the names end."""
        figures = 3 * _FIGURE_PX
        each = min(112.0, 0.2 * box.width())
        second = box.right() - figures - each - 6
        first = second - each - 18
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
        for place, (words, each) in enumerate(
            (
                (seconds(item.seconds[0]), theme.ink2),
                (seconds(item.seconds[1]), theme.ink),
                (signed_seconds(by, 2), colour),
            )
        ):
            x = box.right() - _FIGURE_PX * (2 - place)
            paint.text(x, y, words, each, LABEL_PX, 600 if place else 400, 1.0)

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
            ("Time", "the step's" if part.part == "step" else "its kernels, and waits before them"),
        ]
        note = "flipped" if part.flipped else "as before"
        return Card(part_name(part), tuple(rows), note, part.after)


def bought(a: Side, b: Side) -> str:
    """What 1% more of the rate that rules B buys, there and in A: its shares."""
    regime = b.prediction.regime
    rate = {
        "compute": "of the peaks",
        "memory": "of the bandwidths",
        "overhead": "speed of the host and launches",
    }
    after, before = (number(side.prediction.shares[regime], 2) for side in (b, a))
    return f"1% more {rate[regime]} buys {after}% in {b.letter}, {before}% in {a.letter}"


def part_name(part: Part) -> str:
    """ "Whole step", "family gemm", "module layers"."""
    return "Whole step" if part.part == "step" else part.part


def _moved(part: Part) -> float:
    return abs(part.seconds[1] - part.seconds[0])
