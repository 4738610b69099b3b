"""The choices of an axis as bars of their times, the shortest first."""

from __future__ import annotations

from PySide6.QtCore import QRectF

from app.drawing.colours import STACK
from app.quantities import between, percent, seconds
from app.scenes.regime_map.scene import Choice
from app.theme import LABEL_PX, Theme
from app.widgets.canvas import Card
from app.widgets.paint import Paint, width
from app.widgets.titled import Listed
from simulator.prediction import REGIMES

_TIME_PX, _ROW_PX = 112.0, 17.0


class ChoiceBars(Listed):
    """`here` is the index of the choice at the cursor. Choices that cannot run come last."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Choices", "", False, _ROW_PX)
        self.here = -1

    def show_choices(self, choices: list[Choice], here: int, title: str, about: str) -> None:
        """Draw choices below a title."""
        self.items = sorted(choices, key=lambda c: (bool(c.why), c.figures["period_s"]))
        self.here, self.title, self.about, self.over = here, title, about, None
        self.setAccessibleName(f"{title} {about}")
        self.update()

    def shown(self) -> list[tuple[Choice, QRectF]]:
        """The rows that fit; they always include the cursor's choice."""
        rows = super().shown()
        current = next((c for c in self.items if c.place == self.here), None)
        if rows and current is not None and all(item is not current for item, _ in rows):
            rows[-1] = current, rows[-1][1]
        return rows

    def draw_row(self, paint: Paint, item: Choice, box: QRectF) -> None:
        theme, y = self.theme, box.center().y()
        names = min(0.34 * box.width(), max(width(c.name, LABEL_PX, 600) for c in self.items) + 8)
        here = item.place == self.here
        paint.text(
            box.left(),
            y,
            item.name,
            theme.b if here else theme.ink,
            LABEL_PX,
            600 if here else 400,
            room=names - 6,
        )
        if item.why:
            paint.text(box.left() + names, y, item.why, theme.ink3, room=box.width() - names)
            return
        time = item.figures["period_s"]
        most = max((c.figures["period_s"] for c, _ in self.shown() if not c.why), default=time)
        room = box.width() - names - _TIME_PX
        left, high = box.left() + names, min(12.0, box.height() - 5)
        for regime in STACK:
            wide = room * item.figures[regime] * time / most
            if wide > 0.4:
                paint.area(QRectF(left, y - high / 2, wide, high), regime)
            left += wide
        low, high_s = item.figures["low_s"], item.figures["high_s"]
        words = f"{seconds(time)}, {between(low, high_s, time)}"
        ink = theme.ink if item.figures["fits"] else theme.danger
        paint.text(box.right(), y, words, ink, LABEL_PX, 600 if here else 400, 1.0)

    def card(self) -> Card | None:
        item = self.over
        if item is None or item.why:
            return None
        figures = item.figures
        regime = REGIMES[int(figures["regime"])]
        interval = between(figures["low_s"], figures["high_s"], figures["period_s"])
        rows = [("Time", seconds(figures["period_s"])), ("80% interval", interval)]
        rows += [(r.capitalize(), percent(figures[r])) for r in REGIMES]
        rows.append(("Memory", "fits" if figures["fits"] else "does not fit"))
        return Card(item.name, tuple(rows), f"{regime}-bound", regime)
