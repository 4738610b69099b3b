"""The shelf: the cards that can be applied to a scenario, by section, with a search field."""

from __future__ import annotations

from collections.abc import Callable

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
from app.theme import Theme
from app.widgets.style import SHELF_WIDTH
from app.widgets.vertical_scroll_area import VerticalScrollArea
from simulator.errors import RidgepointError
from simulator.scenario.scenario import Scenario

_FIRST = 3
"""Number of cards in a collapsed section; cards in use come first."""


class Shelf(QWidget):
    """Cards in sections. `applied` carries a card and the index of a scenario (−1: the current)."""

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
        self.widgets: list[CardWidget] = []
        self.counts: dict[Kind, QLabel] = {}
        self.heads: dict[Kind, QFrame] = {}
        self.more: dict[Kind, QToolButton] = {}
        everything = cards()
        for kind, title in SECTIONS.items():
            self._section(kind, title, [c for c in everything if c.kind == kind])
        hint = QLabel("Drop a session, scenario,\ntrace or GPU file here")
        hint.setProperty("look", "drop")
        hint.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.column.addSpacing(6)
        self.column.addWidget(hint)
        self.column.addStretch(1)
        for widget in self.widgets:
            widget.put(widget.card.key in self.used)
        self._arrange()

    def card(self, key: str) -> Card | None:
        """The card with this key, or None."""
        return next((w.card for w in self.widgets if w.card.key == key), None)

    def reveal(self, kind: Kind) -> None:
        """Scroll to a section."""
        first = next(w for w in self.widgets if w.card.kind == kind)
        self.area.verticalScrollBar().setValue(self.heads[kind].y())
        first.setFocus()

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

    def _section(self, kind: Kind, title: str, section: list[Card]) -> None:
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
        for card in section:
            widget = CardWidget(card, self.theme, self.sides)
            widget.applied.connect(self.applied)
            self.column.addWidget(widget)
            self.widgets.append(widget)
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

    def _arrange(self) -> None:
        """Show the cards that match the search, else the first cards of each section and the cards
        in use."""
        words = self.search.text().lower().split()
        for kind, title in SECTIONS.items():
            section = [w for w in self.widgets if w.card.kind == kind]
            matching = [w for w in section if _matches(w.card, words)]
            whole = bool(words) or kind in self.expanded
            in_use = [w for w in matching if w.used]
            rest = [w for w in matching if not w.used]
            shown = matching if whole else in_use + rest[: max(0, _FIRST - len(in_use))]
            for widget in section:
                widget.setVisible(widget in shown)
            self.counts[kind].setText(
                f"{len(matching)} of {len(section)}" if words else str(len(section))
            )
            hidden = len(matching) - len(shown)
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


def _matches(card: Card, words: list[str]) -> bool:
    text = f"{card.title} {card.name} {card.detail} {card.help}".lower()
    return all(word in text for word in words)
