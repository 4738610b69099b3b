"""Where a step's time goes: the tree of its modules, each as wide as its share."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QPointF
from PySide6.QtWidgets import QMenu, QWidget

from app.answers.figures import causes
from app.answers.side import Side
from app.formulas.changes import of_step
from app.formulas.formula import Formula
from app.quantities import percent, seconds
from app.scenes.module_tree import ModuleNode, module_tree
from app.scenes.part_what_ifs import PartChange, choices, dropped, pattern
from app.theme import Theme
from app.views.modules.canvas import IcicleCanvas
from app.views.modules.part_menu import part_menu
from app.widgets.drops import Offer, PlaceTarget
from app.widgets.strip_view import StripView
from simulator.prediction import REGIMES
from simulator.scenario.scenario import Scenario


class WhereTimeGoes(StripView):
    """Modules as wide as their share of the step; waiting stands beside them. A click or Enter
    zooms and picks, Backspace and Escape go up, arrows move; what-ifs can be dropped on a part, and
    are in its menu (Menu, Shift+F10)."""

    title = "Where time goes"

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.alike = self.strip.segments(
            "Members of a list", ["layers together", "each layer"], lambda _: self._build()
        )
        self.strip.stretch()
        self.legend = self.strip.legend(theme)
        self.canvas = self.below(IcicleCanvas(theme), self._pressed)
        self.canvas.wanted.connect(self.show_menu)
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
        return f"{seconds(p.period_s)} a step, {share} of it no kernel runs"

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
        """What a card would do to the part below it."""
        part, p, now = self.canvas.hit(at), self.canvas.prediction, self.scenario
        if p is None or now is None:
            return Offer("Nothing is predicted yet", None)
        self.canvas.drag_over(part)
        known = key, part.path if part else ""
        if known not in self._offers:
            self._offers[known] = dropped(key, part, now, p)
        change = self._offers[known]
        after = change.scenario
        return Offer(change.words, None if after is None else lambda: self.asked.emit(after))

    def menu(self, part: ModuleNode) -> QMenu | None:
        """What can be asked of a part; what is refused is greyed, with the reason."""
        p, now = self.canvas.prediction, self.scenario
        if p is None or now is None:
            return None
        changes = choices(part, now, p) if part.parent else []
        return part_menu(pattern(part) or "step", changes, self.asked.emit, self)

    def show_menu(self, part: ModuleNode, at: QPoint) -> None:
        """Open the menu of a part."""
        menu = self.menu(part)
        if menu is not None:
            menu.exec(at)

    def _build(self) -> None:
        """The tree anew; what had the whole width keeps it where it is still there."""
        p, canvas = self.canvas.prediction, self.canvas
        if p is None:
            return
        before = canvas.shown.path if canvas.shown else ""
        canvas.root = module_tree(p, self.alike.checkedId() == 0)
        same = (part for part in canvas.root.all() if part.path == before)
        canvas.show_part(next(same, canvas.root))

    def _pressed(self, part: ModuleNode | None) -> None:
        """Zoom to a part and pick its ops; the whole step, or what is beside, picks nothing."""
        if part is None and not self.canvas.picked:
            return
        if part is not None and not part.wait:
            self.canvas.show_part(part)
        root = part is None or part is self.canvas.root
        ops = frozenset[int]() if root or part is None else frozenset(part.ops)
        self.pick(ops)
        self.picked.emit(ops)
