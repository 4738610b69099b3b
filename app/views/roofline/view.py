"""The roofline: which ceiling each launch is under, and how much of the time it takes."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QPoint, QSignalBlocker
from PySide6.QtWidgets import QWidget

from app.answers.side import Side
from app.formulas.formula import Formula
from app.formulas.launches import intensity
from app.quantities import data, number, percent, scaled, seconds
from app.scenes.launches import LaunchGroup, launch_groups
from app.scenes.roofline import overhead_parts
from app.theme import Theme
from app.views.roofline.canvas import RooflineCanvas
from app.widgets.strip_view import StripView

_USUAL = 40
_HEADS = [
    "Launches",
    "Op",
    "Shape",
    "Dtype",
    "Count",
    "Time in all",
    "Share of busy",
    "Regime",
    "FLOP per byte",
    "FLOP/s",
    "Of roof",
    "Roof",
]


class Roofline(StripView):
    """Marks are launches alike: area is the share of the GPU's busy time. Click isolates one,
    arrows go from one to the next, the wheel and + − zoom, F shows everything."""

    title = "Roofline"

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.found: list[LaunchGroup] = []
        self.wanted = _USUAL
        self.legend = self.strip.legend(theme)
        self.strip.stretch()
        self.said = self.strip.label()
        self.heaviest = self.strip.slider("How many of the heaviest launches are shown", self._cut)
        self.canvas = self.below(RooflineCanvas(theme), self._pressed)
        self.fit = self.strip.button("F fit", "Show everything", self.canvas.fit)
        self.fit.hide()
        self.canvas.fitted.connect(self.fit.setHidden)

    def draw(self, sides: tuple[Side, ...], current: int) -> None:
        p = sides[current].prediction
        self.found = launch_groups(p)
        before = launch_groups(sides[0].prediction) if current else []
        self.legend.show_shares(p.shares)
        with QSignalBlocker(self.heaviest):
            self.heaviest.setRange(1, max(1, len(self.found)))
            self.heaviest.setValue(min(self.wanted, len(self.found)))
        self.canvas.set(p, self.found, before)
        self._cut(self.heaviest.value(), False)

    def pick(self, ops: frozenset[int]) -> None:
        self.canvas.picked = ops
        self.canvas.update()

    def formula(self, at: QPoint) -> Formula | None:
        p, over = self.canvas.prediction, self.canvas.over
        chosen = over if isinstance(over, LaunchGroup) else next(iter(self.found), None)
        return intensity(chosen, p) if p is not None and chosen is not None else None

    def subtitle(self) -> str:
        return "area is share of time"

    def rows(self) -> list[list[str]]:
        p = self.canvas.prediction
        if p is None or self.canvas.roof is None:
            return []
        rows = [list(_HEADS)]
        for a in self.found:
            rows.append(
                [
                    a.label,
                    a.op,
                    a.shape,
                    a.dtype,
                    str(a.count),
                    seconds(a.total_s),
                    percent(a.share),
                    a.regime,
                    number(a.intensity) if a.flops else "",
                    scaled(a.achieved_flops_per_s, "FLOP/s") if a.flops else "",
                    percent(a.of_roof),
                    a.roof,
                ]
            )
        rows += [
            [name, "overhead", "", "", "", seconds(value)] for name, value in overhead_parts(p)
        ]
        roofs = self.canvas.roof
        rows += [["ceiling", c.label] for c in roofs.engines]
        rows += [["ceiling", roofs.label(level)] for level in roofs.memories]
        wide = len(_HEADS)
        return [row + [""] * (wide - len(row)) for row in rows]

    def _cut(self, count: int, chosen: bool = True) -> None:
        """Show so many of the heaviest."""
        if chosen:
            self.wanted = count if count < len(self.found) else 10**6
        self.canvas.shown = count
        share = sum(a.share for a in self.found[:count])
        bytes_shown = sum(a.bytes * a.count for a in self.found[:count])
        self.said.setText(f"heaviest {count} of {len(self.found)}: {percent(share)}")
        self.said.setToolTip(f"{percent(share)} of the GPU's busy time, {data(bytes_shown)} moved")
        self.canvas.update()

    def _pressed(self, what: Any) -> None:
        if what is None and not self.canvas.picked:
            return
        ops: frozenset[int] = what.ops if isinstance(what, LaunchGroup) else frozenset()
        if ops == self.canvas.picked:
            ops = frozenset()
        self.pick(ops)
        self.picked.emit(ops)
