"""The roofline: the ceiling above each launch, and its share of the time."""

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
from app.widgets.canvas import Canvas
from app.widgets.context_menu import Entry
from app.widgets.strip_view import StripView

_DEFAULT_COUNT = 40
_HEADS = [
    "Launches",
    "Op",
    "Shape",
    "Dtype",
    "Count",
    "Total time",
    "Share of busy time",
    "Regime",
    "FLOP per byte",
    "FLOP/s",
    "Share of roof",
    "Roof",
]


class Roofline(StripView):
    """One mark per group of identical launches; its area is the share of the GPU's busy time. A
    click isolates a mark, arrow keys step through the marks, the wheel and + − zoom, and F fits."""

    title = "Roofline"

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.side: Side | None = None
        self.groups: list[LaunchGroup] = []
        self.requested_count = _DEFAULT_COUNT
        self.legend = self.strip.legend(theme)
        self.strip.stretch()
        self.status = self.strip.label()
        self.heaviest = self.strip.slider("Number of heaviest launch groups shown", self._limit)
        self.canvas = self.below(RooflineCanvas(theme), self._pressed)
        self.fit = self.strip.button("Fit (F)", "Fit the axes to all launches", self.canvas.fit)
        self.fit.hide()
        self.canvas.fitted.connect(self.fit.setHidden)

    def draw(self, sides: tuple[Side, ...], current: int) -> None:
        self.side, p = sides[current], sides[current].prediction
        self.groups = launch_groups(p)
        before = launch_groups(sides[0].prediction) if current else []
        self.legend.show_shares(p.shares)
        with QSignalBlocker(self.heaviest):
            self.heaviest.setRange(1, max(1, len(self.groups)))
            self.heaviest.setValue(min(self.requested_count, len(self.groups)))
        self.canvas.set(p, self.groups, before)
        self._limit(self.heaviest.value(), False)

    def pick(self, ops: frozenset[int]) -> None:
        self.canvas.picked = ops
        self.canvas.update()

    def entries(self, canvas: Canvas | None) -> list[Entry]:
        from app.views.op_entries import op_entries  # imported with the first menu: it is slow

        group = self.canvas.over if canvas is self.canvas else None
        ops = group.ops if isinstance(group, LaunchGroup) else frozenset[int]()
        own = op_entries(self, self.side, ops, self.canvas.picked)
        if self.canvas.zoomed:
            own.append(Entry("Fit the axes\tF", self.canvas.fit))
        return [*own, *super().entries(canvas)]

    def formula(self, at: QPoint) -> Formula | None:
        scene, over = self.canvas.scene, self.canvas.over
        group = over if isinstance(over, LaunchGroup) else next(iter(self.groups), None)
        return intensity(group, scene.prediction) if scene and group else None

    def subtitle(self) -> str:
        return "area: share of time"

    def rows(self) -> list[list[str]]:
        scene = self.canvas.scene
        if scene is None:
            return []
        rows = [list(_HEADS)]
        for a in self.groups:
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
            [name, "overhead", "", "", "", seconds(value)]
            for name, value in overhead_parts(scene.prediction)
        ]
        roofs = scene.roof
        rows += [["ceiling", c.label] for c in roofs.engines]
        rows += [["ceiling", roofs.label(level)] for level in roofs.memories]
        wide = len(_HEADS)
        return [row + [""] * (wide - len(row)) for row in rows]

    def _limit(self, count: int, by_user: bool = True) -> None:
        """Show the `count` heaviest groups."""
        if by_user:
            self.requested_count = count if count < len(self.groups) else 10**6
        self.canvas.shown = count
        share = sum(a.share for a in self.groups[:count])
        bytes_shown = sum(a.bytes * a.count for a in self.groups[:count])
        self.status.setText(f"heaviest {count} of {len(self.groups)}: {percent(share)}")
        tip = f"{percent(share)} of the GPU's busy time, {data(bytes_shown)} of DRAM traffic"
        self.status.setToolTip(tip)
        self.canvas.update()

    def _pressed(self, group: Any) -> None:
        if group is None and not self.canvas.picked:
            return
        ops: frozenset[int] = group.ops if isinstance(group, LaunchGroup) else frozenset()
        if ops == self.canvas.picked:
            ops = frozenset()
        self.pick(ops)
        self.picked.emit(ops)
