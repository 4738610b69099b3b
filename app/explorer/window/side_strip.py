"""The strip below the views: a card for each scenario, and a button that adds one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QToolButton, QWidget

from app.explorer.background.answering import Answering
from app.explorer.state.session import LETTERS, Session
from app.explorer.window.side_cards import SideCard
from app.explorer.window.side_contents import Shown
from app.theme import Theme
from app.widgets.style import SIDE_HEIGHT, SIDE_LOW
from simulator.errors import InputError


class SideStrip(QWidget):
    """The cards of scenarios A to D. `refused` carries the reason why a change is not possible."""

    refused = Signal(str)
    action_requested = Signal(str)
    """The name of an action of the window, for the current scenario."""

    def __init__(self, session: Session, answering: Answering, theme: Theme) -> None:
        super().__init__()
        self.session, self.answering = session, answering
        self.setAccessibleName("Scenarios")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 8, 0, 0)
        row.setSpacing(8)
        self.cards = [SideCard(theme, place) for place in range(len(LETTERS))]
        for place, card in enumerate(self.cards):
            card.chosen.connect(lambda at=place: session.switch_to(at))
            card.renamed.connect(partial(session.rename, place))
            card.copied.connect(lambda at=place: self.copy(at))
            card.removed.connect(lambda at=place: self.remove(at))
            card.action_requested.connect(partial(self._act, place))
            row.addWidget(card, 1)
        self.more = QToolButton()
        self.more.setText("+")
        self.more.setProperty("look", "more")
        self.more.setAccessibleName("Duplicate the current scenario")
        self.more.setFixedWidth(40)
        self.more.setMinimumHeight(SIDE_LOW)
        self.more.setMaximumHeight(SIDE_HEIGHT)
        self.more.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
        self.more.clicked.connect(lambda: self.copy(session.state.current))
        row.addWidget(self.more)
        self.show_sides()

    def show_sides(self) -> None:
        """Update the cards from the session and its answers."""
        state, answers = self.session.state, self.answering.answers
        first = state.sides[0].scenario.key
        base, waits = answers.get(first), first not in answers.keys() | self.answering.refused
        for place, card in enumerate(self.cards):
            card.setVisible(place < len(state.sides))
            if place < len(state.sides):
                side = state.sides[place]
                key = side.scenario.key
                current = place == state.current
                reason = self.answering.refused.get(key, "")
                stale = key in self.answering.outdated
                answer = answers.get(key)
                card.put(
                    Shown(LETTERS[place], side.name, current, answer, base, reason, stale, waits)
                )
        self.more.setVisible(len(state.sides) < len(LETTERS))

    def set_low(self, low: bool) -> None:
        """Use cards of two lines instead of three."""
        for card in self.cards:
            card.set_low(low)
        self.more.setMaximumHeight(SIDE_LOW if low else SIDE_HEIGHT)

    def copy(self, place: int) -> None:
        """Add a copy of a scenario."""
        self._try(lambda: self.session.add(scenario=self.session.state.sides[place].scenario))

    def remove(self, place: int) -> None:
        """Remove a scenario."""
        self._try(lambda: self.session.remove(place))

    def rename(self) -> None:
        """Rename the current scenario."""
        self.cards[self.session.state.current].rename()

    def _act(self, place: int, name: str) -> None:
        self.session.switch_to(place)
        self.action_requested.emit(name)

    def restyle(self, theme: Theme) -> None:
        """Apply a theme."""
        for card in self.cards:
            card.theme = theme
            card.update()

    def _try(self, run: Callable[[], None]) -> None:
        try:
            run()
        except InputError as error:
            self.refused.emit(str(error))
