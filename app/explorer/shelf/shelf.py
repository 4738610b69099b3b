"""The shelf: everything that a scenario can be given, by section, with a search."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QScrollArea,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.answers.cards import SECTIONS, Card, Kind, cards, used
from app.explorer.shelf.card_widget import CardWidget
from app.theme import Theme
from app.widgets.style import SHELF_WIDTH
from simulator.errors import RidgepointError
from simulator.scenario.scenario import Scenario

_FIRST = 3
"""Cards of a section that are shown before it is opened, and those in use."""


class Shelf(QWidget):
    """Cards in sections. `applied` gives a card and the place of a scenario (−1: the current)."""

    applied = Signal(object, int)

    def __init__(self, theme: Theme, sides: Callable[[], list[str]]) -> None:
        super().__init__()
        self.theme = theme
        self.open: set[Kind] = set()
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
        self.search.returnPressed.connect(self._first)
        field = QHBoxLayout()
        field.setContentsMargins(0, 0, 8, 0)
        field.addWidget(self.search)
        column.addLayout(field)
        area = QScrollArea()
        area.setWidgetResizable(True)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        column.addWidget(area, 1)
        self.area, self.sides = area, sides
        self.fill()

    def fill(self) -> None:
        """Lay out what there is now, such as after a GPU was saved."""
        inside = QWidget()
        inside.setProperty("look", "plain")
        self.column = QVBoxLayout(inside)
        self.column.setContentsMargins(0, 0, 8, 0)
        self.column.setSpacing(5)
        self.area.setWidget(inside)
        self.widgets: list[CardWidget] = []
        self.counts: dict[Kind, QLabel] = {}
        self.more: dict[Kind, QToolButton] = {}
        everything = cards()
        for kind, title in SECTIONS.items():
            self._section(kind, title, [c for c in everything if c.kind == kind])
        hint = QLabel("Drop a session, a scenario,\na trace or a GPU file")
        hint.setProperty("look", "drop")
        hint.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.column.addSpacing(6)
        self.column.addWidget(hint)
        self.column.addStretch(1)
        for widget in self.widgets:
            widget.put(widget.card.key in self.used)
        self._arrange()

    def card(self, key: str) -> Card | None:
        """The card that a drag carries; None where there is no such."""
        return next((w.card for w in self.widgets if w.card.key == key), None)

    def show_scenario(self, scenario: Scenario) -> None:
        """Outline what is in use."""
        try:
            now = used(scenario)
        except RidgepointError:  # the banner says why
            now = frozenset[str]()
        if now != self.used:
            self.used = now
            for widget in self.widgets:
                widget.put(widget.card.key in now)
            self._arrange()

    def restyle(self, theme: Theme) -> None:
        """Another theme."""
        self.theme = theme
        for widget in self.widgets:
            widget.theme = theme
            widget.update()

    def _section(self, kind: Kind, title: str, found: list[Card]) -> None:
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
        self.counts[kind] = count
        for card in found:
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
        if kind in self.open:
            self.open.remove(kind)
        else:
            self.open.add(kind)
        self._arrange()

    def _arrange(self) -> None:
        """Show what is searched, or the first cards of a section and those in use."""
        words = self.search.text().lower().split()
        for kind, title in SECTIONS.items():
            mine = [w for w in self.widgets if w.card.kind == kind]
            found = [w for w in mine if _matches(w.card, words)]
            whole = bool(words) or kind in self.open
            used_ones = [w for w in found if w.used]
            rest = [w for w in found if not w.used]
            shown = found if whole else used_ones + rest[: max(0, _FIRST - len(used_ones))]
            for widget in mine:
                widget.setVisible(widget in shown)
            self.counts[kind].setText(f"{len(found)} of {len(mine)}" if words else str(len(mine)))
            hidden = len(found) - len(shown)
            more = self.more[kind]
            more.setVisible(not words and (hidden > 0 or kind in self.open) and len(mine) > _FIRST)
            more.setText("Show fewer" if kind in self.open else f"Show {hidden} more")
            more.setAccessibleName(f"{more.text()} of {title}")

    def _first(self) -> None:
        """Enter in the search goes to the first card that was found."""
        for widget in self.widgets:
            if not widget.isHidden():
                widget.setFocus()
                self.area.ensureWidgetVisible(widget)
                return


def _matches(card: Card, words: list[str]) -> bool:
    text = f"{card.title} {card.name} {card.detail} {card.help}".lower()
    return all(word in text for word in words)
