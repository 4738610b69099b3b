"""What every view of the explorer is: a widget that draws sides, and says what is picked in it."""

from __future__ import annotations

from typing import Any, ClassVar

from PySide6.QtCore import QEvent, QPoint, QRect, Signal
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import QToolTip, QWidget

from app.answers.side import Question, Side
from app.formulas.formula import Formula
from app.theme import Theme


class View(QWidget):
    """A picture of one or several sides. Views share one selection, the picked ops (places in the
    trace of the current side), and ask for another scenario instead of making one.

    A view is made with a theme and nothing to show; `restyle` gives it another theme at any time.
    """

    title: ClassVar[str] = ""
    workspace: ClassVar[str] = "Explore"
    """Where the window offers it."""
    follows: ClassVar[bool] = True
    """Are its figures those of the scenarios?"""
    waits: ClassVar[bool] = False
    """Does it show what it showed before until its question is answered?"""
    picked = Signal(object)
    """frozenset[int]: the ops that the user chose here."""
    asked = Signal(object)
    """Scenario: what the user wants to see instead of the current side."""
    added = Signal(str, object)
    """Name and Scenario of a side that the user wants beside those that there are."""
    wondered = Signal()
    """The question of this view is another one now, such as after a change of its axis: ask
    `question` again."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.setAccessibleName(self.title)

    def event(self, event: QEvent) -> bool:
        """Rest on a picture, and the formula of its figure stands below it, where it hides no
        card; a control in it has a tooltip of its own."""
        if event.type() != QEvent.Type.ToolTip or not isinstance(event, QHelpEvent):
            return super().event(event)
        formula = self.formula(event.globalPos())
        if formula is not None:
            foot = self.mapToGlobal(QPoint(8, self.height() - 12))
            still = QRect(event.pos() - QPoint(4, 4), event.pos() + QPoint(4, 4))
            QToolTip.showText(foot, formula.text, self, still)
        return True

    def restyle(self, theme: Theme) -> None:
        """Show the same in another theme. A view that keeps colours elsewhere overrides this."""
        self.theme = theme
        self.update()

    def draw(self, sides: tuple[Side, ...], current: int) -> None:
        """Show these; called whenever a prediction changed."""
        raise NotImplementedError

    def pick(self, ops: frozenset[int]) -> None:
        """Show what was chosen in another view."""

    def question(self, sides: tuple[Side, ...], current: int) -> Question | None:
        """What must be computed before `answer`, or None when `draw` said it all."""
        return None

    def answer(self, found: Any) -> None:
        """What `question` came to."""

    def subtitle(self) -> str:
        """A few words beside the title: the figure that the picture is about."""
        return ""

    def formula(self, at: QPoint) -> Formula | None:
        """How the figure at a place of the screen comes about, or that which the picture is about;
        None where nothing is explained."""
        return None

    def rows(self) -> list[list[str]]:
        """The picture as a table, heads first: its twin for those who cannot see it, and its
        CSV."""
        return []
