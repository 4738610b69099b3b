"""Kernels whose time changed, as pairs of dots: A hollow, B filled, largest change first."""

from __future__ import annotations

from collections import Counter

from PySide6.QtCore import QRectF

from app.quantities import change, seconds, signed_seconds
from app.scenes.pixel_scale import Scale
from app.theme import LABEL_PX, Theme
from app.widgets.canvas import Card
from app.widgets.paint import Paint, width
from app.widgets.titled import Listed
from simulator.analysis.compare import Moved

_CHANGE_PX, _LEAST_S = 74.0, 1e-7
_LEAST_SHARE = 1e-3
"""Kernels whose time changes by a smaller share count as unchanged: the clock of a GPU at its power
limit changes all of them a little."""


class MovedKernels(Listed):
    """One row per op and family, with seconds per step on a logarithmic axis."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Kernels that changed", "A hollow, B filled, largest change first")
        self.setMinimumSize(280, 160)
        self.letters = ("A", "B")
        self.chosen: frozenset[tuple[str, str]] = frozenset()
        """Op and family of kernels whose ops are selected."""
        self.empty = ""
        self.repeated: frozenset[str] = frozenset()

    def show_moved(
        self, moved: tuple[Moved, ...], letters: tuple[str, str], ready: bool = True
    ) -> None:
        """Draw the kernels that changed; unless `ready`, they are still being computed."""
        changed = [m for m in moved if abs(m.change_s) >= _LEAST_SHARE * max(m.seconds)]
        self.items, self.letters, self.over = changed, letters, None
        ops = Counter(m.op for m in moved)
        self.repeated = frozenset(op for op, count in ops.items() if count > 1)
        self.about = f"{letters[0]} hollow, {letters[1]} filled, largest change first"
        self.empty = "All kernels take the same time in both." if ready else ""
        self.update()

    @property
    def track(self) -> Scale:
        """The axis of seconds, over the shown rows."""
        times = [s for item, _ in self.shown() for s in item.seconds if s > 0]
        low, high = max(_LEAST_S, min(times, default=1e-6)), max(times, default=1e-3)
        body = self.body
        left = body.left() + self.names_px + 16
        return Scale(
            low / 1.3, max(high, 2 * low) * 1.3, left, body.right() - _CHANGE_PX - 16, True
        )

    @property
    def names_px(self) -> float:
        """The width of the names."""
        names = [self.name(m) for m, _ in self.shown()]
        most = max((width(name, LABEL_PX, 400, True) for name in names), default=60.0)
        return min(most, 0.36 * self.body.width())

    def name(self, item: Moved) -> str:
        """The op, followed by the family if several families have kernels of the op."""
        op = item.op.removesuffix(".default")
        return f"{op} ({item.family})" if item.op in self.repeated else op

    def draw_heads(self, paint: Paint, box: QRectF) -> None:
        theme, x = self.theme, self.track
        if not self.items:
            middle = self.body.center()
            paint.text(middle.x(), middle.y(), self.empty, theme.ink3, align=0.5)
            return
        body = self.body
        taken = -1e9
        for value, _ in x.ticks(5):
            words, at = seconds(value, 1), x.at(value)
            if at - width(words) / 2 < taken or not x.begin <= at <= x.end:
                continue
            foot = body.top() + self.heads_px + self.high * len(self.shown())
            paint.line([(at, box.bottom()), (at, foot)], theme.grid)
            taken = paint.text(at, box.top() + 9, words, theme.ink3, align=0.5).right() + 12
        paint.text(body.right(), box.top() + 9, "change", theme.ink3, align=1.0)

    def draw_row(self, paint: Paint, item: Moved, box: QRectF) -> None:
        theme, x, y = self.theme, self.track, box.center().y()
        if (item.op, item.family) in self.chosen:
            paint.area(QRectF(box.left() - 8, box.top() + 4, 3, box.height() - 8), theme.b)
        paint.text(
            box.left(), y, self.name(item), theme.ink, LABEL_PX, room=self.names_px, mono=True
        )
        places = [
            x.at(max(s, x.low)) if n else None
            for s, n in zip(item.seconds, item.count, strict=True)
        ]
        before, after = places
        if before is not None and after is not None and abs(after - before) > 16:
            _arrow(paint, before, after, y)
        radius = 5.0
        if before is not None:
            paint.mark(item.regimes[0], before, y, radius, theme.a, True, wide=1.8)
        if after is not None:
            paint.mark(item.regimes[1], after, y, radius, theme.b, wide=1.8)
        worse = item.change_s > 0
        words = signed_seconds(item.change_s, 2)
        ink = theme.danger if worse else theme.b
        paint.text(box.right(), y, words, ink, LABEL_PX, 600, 1.0)
        if before is None or after is None:
            at = (after if before is None else before) or x.begin
            change_words = "new" if before is None else "removed"
            side = 0.0 if at + 60 < x.end else 1.0
            paint.text(at + (12 if side == 0 else -12), y, change_words, theme.ink3, align=side)

    def card(self) -> Card | None:
        item = self.over
        if item is None:
            return None
        rows: list[tuple[str, str]] = []
        for letter, n, s, regime in zip(
            self.letters, item.count, item.seconds, item.regimes, strict=True
        ):
            launches = f"{n:,} launch{'es' * (n != 1)}"
            rows.append((letter, f"{launches}, {seconds(s)}, {regime}-bound" if n else "none"))
        rows.append(("Change", f"{signed_seconds(item.change_s)}, {change(*item.seconds)}"))
        return Card(self.name(item), tuple(rows), item.family, item.regimes[1] or item.regimes[0])


def _arrow(paint: Paint, before: float, after: float, y: float) -> None:
    """Draw an arrow from one dot to the other."""
    sign = 1 if after > before else -1
    end = after - 8 * sign
    ink = paint.theme.ink2
    paint.line([(before + 7 * sign, y), (end, y)], ink, 1.4)
    paint.line([(end - 5 * sign, y - 4), (end, y), (end - 5 * sign, y + 4)], ink, 1.4)
