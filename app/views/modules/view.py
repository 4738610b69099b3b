"""Where a step's time goes: an icicle plot of its modules."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QPointF
from PySide6.QtWidgets import QWidget

from app.answers.figures import causes
from app.answers.side import Side
from app.formulas.changes import of_step
from app.formulas.formula import Formula
from app.quantities import percent, seconds
from app.scenes.module_tree import ModuleNode, module_tree
from app.scenes.part_what_ifs import PartChange, choices, dropped, is_of_whole, pattern
from app.theme import Theme
from app.views.modules.canvas import IcicleCanvas
from app.views.modules.part_menu import part_entries
from app.widgets.canvas import Canvas
from app.widgets.context_menu import Entry
from app.widgets.drops import Offer, PlaceTarget
from app.widgets.strip_view import StripView
from simulator.prediction import REGIMES
from simulator.scenario.scenario import Scenario


class WhereTimeGoes(StripView):
    """Modules whose widths are their shares of the step, and the waiting time. A click or Enter
    zooms and selects, Backspace and Escape go up, and arrow keys move. What-ifs can be dropped on a
    part, or selected in its menu (Menu, Shift+F10)."""

    title = "Where time goes"

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.layers = self.strip.segments(
            "Layers of a list", ["Merge layers", "Each layer"], lambda _: self._build()
        )
        self.strip.stretch()
        self.legend = self.strip.legend(theme)
        self.canvas = self.below(IcicleCanvas(theme), self._pressed)
        self.target = PlaceTarget(self.canvas, theme, self.offered, self.canvas.drag_over)
        self.scenario: Scenario | None = None
        self._offers: dict[tuple[str, str], PartChange] = {}

    def draw(self, sides: tuple[Side, ...], current: int) -> None:
        self.canvas.prediction = sides[current].prediction
        self.scenario = sides[current].scenario
        self._offers.clear()
        self.legend.show_shares(sides[current].prediction.shares)
        self._build()

    def pick(self, ops: frozenset[int]) -> None:
        self.canvas.picked = ops
        self.canvas.update()

    def formula(self, at: QPoint) -> Formula | None:
        p, part = self.canvas.prediction, self.canvas.over or self.canvas.shown
        if p is None or not isinstance(part, ModuleNode):
            return None
        return of_step(part.path or "the step", part.total_s, p.period_s, part.launches)

    def subtitle(self) -> str:
        p = self.canvas.prediction
        if p is None:
            return ""
        waiting = sum(value for _, value in causes(p))
        share = percent(waiting / p.period_s) if p.period_s else "0%"
        return f"{seconds(p.period_s)} per step, GPU idle for {share}"

    def rows(self) -> list[list[str]]:
        root = self.canvas.root
        if root is None:
            return []
        heads = ["Part", "Level", "Launches", "Time", "Share of the step", *map(str.title, REGIMES)]
        rows = [heads]
        for part in root.all():
            shares = ["", "", ""] if part.wait else [percent(part.shares[r]) for r in REGIMES]
            rows.append(
                [
                    part.path or "step",
                    str(part.depth),
                    f"{part.launches:,}",
                    seconds(part.total_s),
                    self.canvas.share(part),
                    *shares,
                ]
            )
        return rows

    def restyle(self, theme: Theme) -> None:
        super().restyle(theme)
        self.target.outline.theme = theme

    def offered(self, key: str, at: QPointF) -> Offer:
        """Return the effect of dropping a card on the part at a point."""
        part, p, scenario = self.canvas.hit(at), self.canvas.prediction, self.scenario
        if p is None or scenario is None:
            return Offer("No prediction yet", None)
        of_whole = is_of_whole(key, part)
        self.canvas.drag_over(None if of_whole else part)
        target = key, part.path if part else ""
        if target not in self._offers:
            self._offers[target] = dropped(key, part, scenario, p)
        change = self._offers[target]
        after = change.scenario
        return Offer(
            change.words,
            None if after is None else lambda: self.scenario_requested.emit(after),
            of_whole,
        )

    def entries(self, canvas: Canvas | None) -> list[Entry]:
        p, scenario, part = self.canvas.prediction, self.scenario, self.canvas.over
        part = part or self.canvas.shown
        if canvas is not self.canvas or p is None or scenario is None or part is None:
            return super().entries(canvas)
        changes = choices(part, scenario, p) if part.parent else []
        canvas, name = self.canvas, pattern(part) or "step"
        own = [Entry(name, None), *part_entries(changes, self.scenario_requested.emit)]
        wide = canvas.shown if canvas.shown is not part else part.parent
        if part is not canvas.root and wide is not None:
            words = f"Zoom to {name}" if canvas.shown is not part else "Zoom out"
            own.append(Entry(words, lambda: self._pressed(part if wide is canvas.shown else wide)))
        return [*own, *super().entries(canvas)]

    def _build(self) -> None:
        """Rebuild the tree; keep the zoom on its part if the part still exists."""
        p, canvas = self.canvas.prediction, self.canvas
        if p is None:
            return
        before = canvas.shown.path if canvas.shown else ""
        canvas.root = module_tree(p, self.layers.checkedId() == 0)
        same = (part for part in canvas.root.all() if part.path == before)
        canvas.show_part(next(same, canvas.root))

    def _pressed(self, part: ModuleNode | None) -> None:
        """Zoom to a part and select its ops; a click on the whole step or on empty space clears the
        selection."""
        if part is None and not self.canvas.picked:
            return
        if part is not None and not part.wait:
            self.canvas.show_part(part)
        root = part is None or part is self.canvas.root
        ops = frozenset[int]() if root or part is None else frozenset(part.ops)
        self.pick(ops)
        self.picked.emit(ops)
