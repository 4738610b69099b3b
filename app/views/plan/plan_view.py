"""The base class of the views of a plan."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from PySide6.QtCore import Signal

from app.answers.plan.planned import Planned, candidate_of, page_of
from app.answers.side import Side
from app.widgets.context_menu import Entry
from app.widgets.view import View
from simulator.planning import Row


class PlanView(View):
    """A view of the session's plan; it requests changes by signals."""

    workspace: ClassVar[str] = "Plan"
    follows: ClassVar[bool] = False
    dims: ClassVar[bool] = True
    """Whether the panel is dimmed while its figures are stale."""
    edited = Signal(object, str)
    """Draft and the name of the change: the user edited the plan."""
    chose = Signal(object)
    """Candidate: the user chose one."""
    opened = Signal()
    """The user asked for the scenario of the chosen candidate."""
    reported = Signal()
    """The user asked for the plan as an HTML page."""
    shelf_requested = Signal()
    """The user asked for the cards of GPUs."""
    cancelled = Signal()
    retried = Signal()
    """The user asked to plan again."""
    planned: Planned | None = None

    def draw(self, sides: tuple[Side, ...], current: int) -> None:
        """Do nothing: a plan does not show the scenarios."""

    def show_plan(self, planned: Planned) -> None:
        """Show a plan, or its progress."""
        self.planned = planned
        self.update_plan(planned)

    @abstractmethod
    def update_plan(self, planned: Planned) -> None:
        """Draw from `planned`."""

    def candidate_entries(self, row: Row) -> list[Entry]:
        """What can be done with a candidate of the plan."""
        candidate, chosen = candidate_of(row), self.planned.row if self.planned else None
        is_chosen = chosen is not None and candidate_of(chosen) == candidate

        def open_it() -> None:
            self.chose.emit(candidate)
            self.opened.emit()

        choose = Entry("Choose this candidate", lambda: self.chose.emit(candidate))
        return [
            Entry(choose.text, None, "chosen already") if is_chosen else choose,
            Entry(f"Open it in {page_of(row)}", open_it),
            Entry("Write the plan as an HTML page …", self.reported.emit),
        ]

    def refuse(self, reason: str) -> None:
        """Show the reason why the planner refuses the last edit."""
