"""What-ifs on rows of the table of ops: dropped there, or chosen in a row's menu."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF
from PySide6.QtWidgets import QMenu

from app.scenes.part_what_ifs import PartChange
from app.scenes.row_what_ifs import on_row, parts_of, row_choices
from app.views.modules.part_menu import part_menu
from app.widgets.drops import Offer, PlaceTarget
from simulator.prediction import Prediction
from simulator.scenario.scenario import Scenario

if TYPE_CHECKING:
    from app.views.ops.view import OpTable


class RowWhatIfs:
    """`under` is the group below a dragged card: −1 beside every row, None without a card."""

    def __init__(self, view: OpTable) -> None:
        self.view = view
        self.under: int | None = None
        self.asked_of: tuple[Scenario, Prediction] | None = None
        self._known: dict[tuple[str, int], PartChange] = {}
        viewport = view.table.viewport()
        self.target = PlaceTarget(viewport, view.theme, self.offered, self.leave)

    def show(self, scenario: Scenario, p: Prediction) -> None:
        """Rows are of this from now on."""
        self.asked_of = scenario, p
        self.forget()

    def forget(self) -> None:
        """Groups are others now."""
        self._known.clear()

    def offered(self, key: str, at: QPointF) -> Offer:
        """What a card would do to the row below it, or to the step where there is none."""
        found, asked = self.view.model.groups, self.asked_of
        if found is None or asked is None:
            return Offer("Nothing is predicted yet", None)
        row = self.view.table.rowAt(int(at.y()))
        group = int(self.view.model.order[row]) if row >= 0 else -1
        self._stand_on(group)
        if (key, group) not in self._known:
            parts = parts_of(found, group, asked[1]) if group >= 0 else []
            self._known[key, group] = on_row(key, parts, *asked)
        change = self._known[key, group]
        after = change.scenario
        return Offer(change.words, None if after is None else lambda: self.view.asked.emit(after))

    def menu(self, row: int) -> QMenu | None:
        """What can be asked of a row."""
        model, asked = self.view.model, self.asked_of
        if model.groups is None or asked is None or row < 0:
            return None
        group = int(model.order[row])
        head = model.text(group, model.shown()[0])
        changes = row_choices(parts_of(model.groups, group, asked[1]), *asked)
        return part_menu(head, changes, self.view.asked.emit, self.view)

    def leave(self) -> None:
        """The card is gone."""
        self._stand_on(None)

    def _stand_on(self, group: int | None) -> None:
        self.under = group
        self.view.table.viewport().update()
