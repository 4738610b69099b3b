"""What-ifs on rows of the op table, dropped there or selected in a row's menu."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPointF

from app.scenes.part_what_ifs import PartChange, is_of_whole
from app.scenes.row_what_ifs import on_row, parts_of, row_choices
from app.views.modules.part_menu import part_entries
from app.widgets.context_menu import Entry
from app.widgets.drops import Offer, PlaceTarget
from simulator.prediction import Prediction
from simulator.scenario.scenario import Scenario

if TYPE_CHECKING:
    from app.views.ops.view import OpTable


class RowWhatIfs:
    """`hovered` is the group below a dragged card: −1 outside all rows, None if no card is
    dragged."""

    def __init__(self, view: OpTable) -> None:
        self.view = view
        self.hovered: int | None = None
        self.subject: tuple[Scenario, Prediction] | None = None
        self._changes: dict[tuple[str, int], PartChange] = {}
        viewport = view.table.viewport()
        self.target = PlaceTarget(viewport, view.theme, self.offered, self.leave)

    def show(self, scenario: Scenario, p: Prediction) -> None:
        """Set the scenario and prediction of the rows."""
        self.subject = scenario, p
        self.forget()

    def forget(self) -> None:
        """Clear the cached changes because the groups have changed."""
        self._changes.clear()

    def offered(self, key: str, at: QPointF) -> Offer:
        """Return the effect of dropping a card on the row below it, or on the step if outside all
        rows."""
        groups, subject = self.view.model.groups, self.subject
        if groups is None or subject is None:
            return Offer("No prediction yet", None)
        row = self.view.table.rowAt(int(at.y()))
        group = int(self.view.model.order[row]) if row >= 0 else -1
        parts = parts_of(groups, group, subject[1]) if group >= 0 else []
        of_whole = is_of_whole(key, parts[0] if parts else None)
        self._hover(-1 if of_whole else group)
        if (key, group) not in self._changes:
            self._changes[key, group] = on_row(key, parts, *subject)
        change = self._changes[key, group]
        after = change.scenario
        return Offer(
            change.words,
            None if after is None else lambda: self.view.scenario_requested.emit(after),
            of_whole,
        )

    def entries(self, row: int) -> list[Entry]:
        """Return the what-ifs on a row, below its name."""
        model, subject = self.view.model, self.subject
        if model.groups is None or subject is None or row < 0:
            return []
        group = int(model.order[row])
        head = model.text(group, model.shown()[0])
        changes = row_choices(parts_of(model.groups, group, subject[1]), *subject)
        return [Entry(head), *part_entries(changes, self.view.scenario_requested.emit)]

    def leave(self) -> None:
        """Forget the row when the card leaves the table."""
        self._hover(None)

    def _hover(self, group: int | None) -> None:
        self.hovered = group
        self.view.table.viewport().update()
