"""The shelf: the cards that can be applied to a scenario, by section, with a search field."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.answers.cards import SECTIONS, Card, Kind, cards, used
from app.explorer.shelf.card_widget import CardWidget
from app.explorer.state.gpu_cache import stored_gpus
from app.theme import Theme
from app.widgets.style import SHELF_WIDTH
from app.widgets.tab_order import insert_before
from app.widgets.vertical_scroll_area import VerticalScrollArea
from simulator.errors import RidgepointError
from simulator.scenario.scenario import Scenario

_FIRST = 3
"""Number of cards in a collapsed section; cards in use come first."""


class Shelf(QWidget):
    """Cards in sections. `applied` carries a card and the index of a scenario (−1: the current).

    The widget of a card is created when it is first shown: most cards of a section are folded
    away."""

    applied = Signal(object, int)

    def __init__(self, theme: Theme, sides: Callable[[], list[str]]) -> None:
        super().__init__()
        self.theme = theme
        self.expanded: set[Kind] = set()
        self.used = frozenset[str]()
        self.setMinimumWidth(SHELF_WIDTH - 4)
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 6, 2, 4)
        column.setSpacing(6)
        self.search = QLineEdit()
        self.search.setPlaceholderText("Search cards")
        self.search.setAccessibleName("Search cards")
        self.search.setClearButtonEnabled(True)
        self.search.textChanged.connect(self._arrange)
        self.search.returnPressed.connect(self._focus_first)
        field = QHBoxLayout()
        field.setContentsMargins(0, 0, 8, 0)
        field.addWidget(self.search)
        column.addLayout(field)
        area = VerticalScrollArea()
        column.addWidget(area, 1)
        self.area, self.sides = area, sides
        self.fill()

    def fill(self) -> None:
        """Create all cards, at startup and each time a GPU is saved."""
        inside = QWidget()
        inside.setProperty("look", "plain")
        self.column = QVBoxLayout(inside)
        self.column.setContentsMargins(0, 0, 8, 0)
        self.column.setSpacing(5)
        self.area.setWidget(inside)
        self.cards = cards(stored_gpus())
        self._widgets: dict[str, CardWidget] = {}
        self._places: dict[Kind, QVBoxLayout] = {}
        self.counts: dict[Kind, QLabel] = {}
        self.heads: dict[Kind, QFrame] = {}
        self.more: dict[Kind, QToolButton] = {}
        for kind, title in SECTIONS.items():
            self._section(kind, title)
        hint = QLabel("Drop a session, scenario,\ntrace or GPU file here")
        hint.setProperty("look", "drop")
        hint.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.column.addSpacing(6)
        self.column.addWidget(hint)
        self.column.addStretch(1)
        self._arrange()

    @property
    def widgets(self) -> list[CardWidget]:
        """The widgets that exist, in the order of their cards."""
        return [self._widgets[card.key] for card in self.cards if card.key in self._widgets]

    def widget(self, key: str) -> CardWidget:
        """The widget of the card with this key. Raises StopIteration if there is no such card."""
        if key not in self._widgets:
            self._create(next(card for card in self.cards if card.key == key))
        return self._widgets[key]

    def card(self, key: str) -> Card | None:
        """The card with this key, or None."""
        return next((card for card in self.cards if card.key == key), None)

    def reveal(self, kind: Kind) -> None:
        """Scroll to a section."""
        first = next(card for card in self.cards if card.kind == kind)
        self.area.verticalScrollBar().setValue(self.heads[kind].y())
        self.widget(first.key).setFocus()

    def show_scenario(self, scenario: Scenario) -> None:
        """Outline the cards that a scenario uses."""
        try:
            in_use = used(scenario)
        except RidgepointError:  # the banner shows the error
            in_use = frozenset[str]()
        if in_use != self.used:
            self.used = in_use
            for widget in self.widgets:
                widget.put(widget.card.key in in_use)
            self._arrange()

    def restyle(self, theme: Theme) -> None:
        """Apply a theme."""
        self.theme = theme
        for widget in self.widgets:
            widget.theme = theme
            widget.update()

    def _section(self, kind: Kind, title: str) -> None:
        head = QFrame()
        head.setProperty("look", "plain")
        row = QHBoxLayout(head)
        row.setContentsMargins(2, 4, 2, 0)
        name, count = QLabel(title), QLabel()
        name.setProperty("tone", "support")
        count.setProperty("tone", "label")
        row.addWidget(name, 1)
        row.addWidget(count)
        self.column.addWidget(head)
        self.counts[kind], self.heads[kind] = count, head
        place = self._places[kind] = QVBoxLayout()
        place.setSpacing(self.column.spacing())
        self.column.addLayout(place)
        for card in self._shown(kind):  # before the button in the Tab order
            self._create(card)
        more = QToolButton()
        more.setProperty("look", "quiet")
        more.clicked.connect(lambda: self._toggle(kind))
        self.column.addWidget(more)
        self.more[kind] = more

    def _toggle(self, kind: Kind) -> None:
        if kind in self.expanded:
            self.expanded.remove(kind)
        else:
            self.expanded.add(kind)
        self._arrange()

    def _create(self, card: Card) -> None:
        """Create the widget of a card, in its place in the layout and in the Tab order."""
        section = [w for w in self.widgets if w.card.kind == card.kind]
        index = sum(self.cards.index(w.card) < self.cards.index(card) for w in section)
        widget = self._widgets[card.key] = CardWidget(card, self.theme, self.sides)
        widget.applied.connect(self.applied)
        widget.put(card.key in self.used)
        self._places[card.kind].insertWidget(index, widget)
        following = section[index] if index < len(section) else self.more.get(card.kind)
        if following is not None:
            insert_before(following, [widget])

    def _shown(self, kind: Kind) -> list[Card]:
        """The cards that match the search, else the first cards of a section and the cards in
        use."""
        words = self.search.text().lower().split()
        matching = [card for card in _matching(self.cards, words) if card.kind == kind]
        if words or kind in self.expanded:
            return matching
        in_use = sum(card.key in self.used for card in matching)
        others = [card.key for card in matching if card.key not in self.used]
        first = others[: max(0, _FIRST - in_use)]
        return [card for card in matching if card.key in self.used or card.key in first]

    def _arrange(self) -> None:
        """Show the cards of each section, and count them."""
        words = self.search.text().lower().split()
        matching_cards = _matching(self.cards, words)
        for kind, title in SECTIONS.items():
            section = [card for card in self.cards if card.kind == kind]
            matching = sum(card.kind == kind for card in matching_cards)
            shown = {card.key: self.widget(card.key) for card in self._shown(kind)}
            for widget in self.widgets:
                if widget.card.kind == kind:
                    widget.setVisible(widget.card.key in shown)
            self.counts[kind].setText(
                f"{matching} of {len(section)}" if words else str(len(section))
            )
            hidden = matching - len(shown)
            more = self.more[kind]
            more.setVisible(
                not words and (hidden > 0 or kind in self.expanded) and len(section) > _FIRST
            )
            more.setText("Show fewer" if kind in self.expanded else f"Show {hidden} more")
            more.setAccessibleName(f"{more.text()} of {title}")

    def _focus_first(self) -> None:
        """Focus the first visible card."""
        for widget in self.widgets:
            if not widget.isHidden():
                widget.setFocus()
                self.area.ensureWidgetVisible(widget)
                return


def _matching(cards: Sequence[Card], words: list[str]) -> list[Card]:
    """The cards whose title, name or detail has all words; without such a card, those whose help
    has them too."""
    named = [card for card in cards if _has(f"{card.title} {card.name} {card.detail}", words)]
    return named or [
        card for card in cards if _has(f"{card.title} {card.name} {card.detail} {card.help}", words)
    ]


def _has(text: str, words: list[str]) -> bool:
    return all(word in text.lower() for word in words)
