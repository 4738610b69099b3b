"""The base class of the explorer's views: a widget that draws sides and shares a selection."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from PySide6.QtCore import QEvent, QPoint, QRect, Signal
from PySide6.QtGui import QContextMenuEvent, QHelpEvent
from PySide6.QtWidgets import QApplication, QToolTip, QWidget

from app.answers.side import Question, Side
from app.scenes.timeline.pins import Pins
from app.theme import Theme
from app.widgets.canvas import Canvas
from app.widgets.context_menu import Entry, copy_entries, text_entries
from app.widgets.elided_label import clauses

if TYPE_CHECKING:
    from app.formulas.formula import Formula


class View(QWidget):
    """A chart of one or more sides. Views share a selection of ops (indices into the trace of the
    current side), and request changes of the scenario by signals.

    A view is created with a theme and without data.
    """

    title: ClassVar[str] = ""
    workspace: ClassVar[str] = "Explore"
    """The workspace that contains the view."""
    follows: ClassVar[bool] = True
    """Whether the view's figures belong to the scenarios."""
    waits: ClassVar[bool] = False
    """Whether the view keeps the previous data until its question is answered."""
    picked = Signal(object)
    """frozenset[int]: the user selected ops."""
    scenario_requested = Signal(object)
    """Scenario: the user requested a scenario in place of the current one."""
    added = Signal(str, object)
    """Name and Scenario: the user requested another side."""
    pin_requested = Signal(object)
    """Pin: the user pinned or unpinned a lane."""
    menu_requested = Signal(object, QPoint)
    """list[Entry] and a screen position: the user asked for the menu of an item or of the view."""
    shown_in = Signal(str)
    """The title of a view: the user asked for the selected ops there."""
    question_changed = Signal()
    """The result of `question` has changed, for example because the user chose another axis."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.setAccessibleName(self.title)

    def event(self, event: QEvent) -> bool:
        """Show the formula of a figure as a tooltip at the bottom of the view."""
        if event.type() != QEvent.Type.ToolTip or not isinstance(event, QHelpEvent):
            return super().event(event)
        formula = self.formula(event.globalPos())
        if formula is not None:
            foot = self.mapToGlobal(QPoint(8, self.height() - 12))
            still = QRect(event.pos() - QPoint(4, 4), event.pos() + QPoint(4, 4))
            QToolTip.showText(foot, formula.text, self, still)
        return True

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """Request the menu of the item below the pointer or, by key, of the chosen item."""
        by_key = event.reason() == QContextMenuEvent.Reason.Keyboard
        widget = QApplication.focusWidget() if by_key else self.childAt(event.pos())
        text = text_entries(widget)
        while widget is not None and widget is not self and not isinstance(widget, Canvas):
            widget = widget.parentWidget()
        canvas, at = widget if isinstance(widget, Canvas) else None, event.globalPos()
        if by_key and canvas is not None:
            chosen = canvas.over is not None
            place = canvas.card_at().toPoint() if chosen else canvas.rect().center()
            at = canvas.mapToGlobal(place)
        self.menu_requested.emit([*text, *self.entries(canvas)], at)

    def entries(self, canvas: Canvas | None) -> list[Entry]:
        """What can be done with the item `over` of a canvas; None stands for the rest of the
        view."""
        return copy_entries(canvas)

    def restyle(self, theme: Theme) -> None:
        """Apply a theme. A view that stores colours elsewhere overrides this."""
        self.theme = theme
        self.update()

    @abstractmethod
    def draw(self, sides: tuple[Side, ...], current: int) -> None:
        """Draw the sides; called whenever a prediction changes."""

    def pick(self, ops: frozenset[int]) -> None:
        """Show a selection of ops."""

    def show_pins(self, pins: Pins) -> None:
        """Show the pinned lanes."""

    def question(self, sides: tuple[Side, ...], current: int) -> Question | None:
        """The computation whose result `answer` shows, or None if `draw` is enough."""
        return None

    def answer(self, result: Any) -> None:
        """Show the result of `question`."""

    def show_part(self, result: Any) -> None:
        """Show the part of the result of `question` that is computed so far."""

    def fail(self, reason: str) -> None:
        """Show the reason why `question` has no result."""

    @property
    def when_cancelled(self) -> str:
        """The subtitle after the user cancelled `question`."""
        return "cancelled; leave the page and come back to continue"

    def show_cancelled(self, reason: str) -> None:
        """Show that the user cancelled `question`."""
        self.fail(reason)

    def subtitle(self) -> str:
        """The main figure of the view in a few words, shown beside the title."""
        return ""

    def subtitles(self) -> tuple[str, ...]:
        """The subtitle, then shorter texts that replace it if it does not fit."""
        return clauses(self.subtitle())

    def formula(self, at: QPoint) -> Formula | None:
        """The formula of the figure at a screen position, else of the main figure, else None."""
        return None

    def commands(self) -> list[tuple[str, Callable[[], None]]]:
        """The view's commands for the command palette, with their names."""
        return []

    def rows(self) -> list[list[str]]:
        """The data of the view as a table, column heads first; for screen readers."""
        return []

    def plain_rows(self) -> list[list[str]]:
        """The data of the view for CSV: numbers in SI units with the unit in the head, where the
        view has them; else `rows`."""
        return self.rows()
