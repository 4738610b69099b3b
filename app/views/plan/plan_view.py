"""The base class of the views of a plan."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from PySide6.QtCore import Signal

from app.answers.plan.planned import Planned
from app.answers.side import Side
from app.widgets.view import View


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

    def refuse(self, reason: str) -> None:
        """Show the reason why the planner refuses the last edit."""
