"""Menu entries for ops of the scenario: select them, find them in the table, change them."""

from __future__ import annotations

from app.answers.side import Side
from app.scenes.part_what_ifs import PartChange
from app.scenes.row_what_ifs import parts_of_ops, row_choices
from app.views.modules.part_menu import part_entries
from app.widgets.context_menu import Entry
from app.widgets.view import View


def op_entries(
    view: View, side: Side | None, ops: frozenset[int], picked: frozenset[int]
) -> list[Entry]:
    """The entries for `ops`; the view has `picked` selected."""
    if side is None or not ops:
        return []

    def pick(chosen: frozenset[int]) -> None:
        view.pick(chosen)
        view.picked.emit(chosen)

    def show_rows() -> None:
        pick(ops)
        view.shown_in.emit("Ops")

    these = "these ops" if len(ops) > 1 else "this op"
    select = Entry(f"Select {these}", lambda: pick(ops))
    clear = Entry("Clear the selection", lambda: pick(frozenset()))
    changes: list[PartChange] = row_choices(
        parts_of_ops(ops, side.prediction), side.scenario, side.prediction
    )
    return [
        clear if ops == picked else select,
        *([Entry(f"Show {these} in the table", show_rows)] if view.title != "Ops" else []),
        Entry(
            f"What if, for {these}", children=part_entries(changes, view.scenario_requested.emit)
        ),
    ]
