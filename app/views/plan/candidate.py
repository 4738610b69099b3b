"""The card of one candidate GPU: its switch, the counts and engines to try, and its price."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QToolButton, QVBoxLayout, QWidget

from app.answers.gpu_names import short_gpu
from app.answers.plan.cards import CandidateCard, Dimension
from app.answers.plan.fields import Field
from app.theme import Theme
from app.widgets.context_menu import ContextMenu, Entry
from app.widgets.elided_label import Elided, clauses
from app.widgets.fields.sentence_fields import TextField
from app.widgets.fields.switch import Switch

_COUNT_PX = 23
_SHORT = {"compiled+graph": "compiled", "tensorrt-llm": "tensorrt"}
_BESIDE_PRICE = 2  # engines that fit beside the price; more are on a separate line


class CandidateWidget(QFrame):
    """A candidate's card. Delete removes it, Space on its switch turns it off or on."""

    toggled = Signal(str, str, str)
    """The GPU, "counts" or "engines", and the chosen value."""
    switched = Signal(str, bool)
    priced = Signal(str, str)
    removed = Signal(str)
    restored = Signal()

    def __init__(self, card: CandidateCard, theme: Theme) -> None:
        super().__init__()
        self.card = card
        self._shown: CandidateCard | None = None
        self.setProperty("look", "card")
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.title, self.source = Elided(), Elided()
        self.title.setProperty("tone", "title")
        self.source.setProperty("tone", "label")
        self.switch = Switch(theme, f"{card.title} is a candidate")
        self.switch.clicked.connect(self._switch)
        self.price = TextField(_price(card))
        self.price.entered.connect(self._enter_price)
        self.price.restored.connect(self.restored)
        self.unit = QLabel()
        self.unit.setProperty("tone", "label")
        self.buttons: dict[tuple[Dimension, str], QToolButton] = {}
        counts, engines = (
            self._toggles("counts", card.counts),
            self._toggles("engines", card.engines),
        )
        column = QVBoxLayout(self)
        column.setContentsMargins(9, 5, 7, 6)
        column.setSpacing(3)
        lines: list[tuple[QWidget, ...]] = [
            (self.title, _label("count"), *counts, self.switch),
            (self.price, self.unit, self.source, *engines),
        ]
        if len(engines) > _BESIDE_PRICE:
            engine = Elided()
            engine.say("engine")
            engine.setProperty("tone", "label")
            lines[1:] = [(self.price, self.unit, self.source), (engine, *engines)]
        for widgets in lines:
            row = QHBoxLayout()
            row.setSpacing(4)
            for widget in widgets:
                row.addWidget(widget, isinstance(widget, Elided))
            column.addLayout(row)
        self.put(card)

    def _switch(self, on: bool) -> None:
        self.switched.emit(self.card.id, on)

    def _enter_price(self, _field: object, text: str) -> None:
        self.priced.emit(self.card.id, text)

    def put(self, card: CandidateCard) -> None:
        """Show other choices for the same GPU."""
        if card == self._shown:
            return
        self.card = self._shown = card
        self.title.say(short_gpu(card.title))
        self.title.setToolTip(f"{card.title}: {card.detail}. Delete removes it")
        self.source.say(*clauses(card.source))
        self.source.setToolTip(card.source_whole)
        self.switch.setChecked(card.use)
        self.price.put(_price(card))
        self.unit.setText(f"{card.currency}/h")
        offered: tuple[tuple[Dimension, tuple[tuple[str, bool], ...]], ...] = (
            ("counts", card.counts),
            ("engines", card.engines),
        )
        for dimension, each in offered:
            for name, on in each:
                button = self.buttons[dimension, name]
                button.setChecked(on)
                button.setEnabled(card.use)
        for widget in (self.price, self.unit, self.source, self.title):
            widget.setEnabled(card.use)
        state = "on" if card.use else "off"
        self.setAccessibleName(
            f"Candidate {card.title}, {state}, {card.price or 'no'} {card.currency} an hour"
        )

    def show_again(self) -> None:
        """Show the last card again."""
        self._shown = None
        self.put(self.card)

    def restyle(self, theme: Theme) -> None:
        """Apply a theme."""
        self.switch.theme = theme
        self.switch.update()

    def form(self) -> object:
        """The key of the widgets that this card needs."""
        return _form(self.card)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self._menu(event.globalPos())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = event.key()
        if key == Qt.Key.Key_Delete:
            self.removed.emit(self.card.id)
        elif key == Qt.Key.Key_Space:
            self.switched.emit(self.card.id, not self.card.use)
        elif key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self.focusNextPrevChild(key == Qt.Key.Key_Down)
        else:
            super().keyPressEvent(event)

    def _menu(self, at: QPoint) -> None:
        card = self.card
        switch = Entry(
            "Switch off" if card.use else "Switch on",
            lambda: self.switched.emit(card.id, not card.use),
        )
        price = Entry("Use the list's price", lambda: self.priced.emit(card.id, ""))
        if card.source != "yours":
            price = Entry(price.text, None, "used already" if card.price else "no price is listed")
        remove = Entry("Remove", lambda: self.removed.emit(card.id))
        ContextMenu(self, card.title, [switch, price, remove]).popup(at)

    def _toggles(self, dimension: Dimension, offered: Sequence[tuple[str, bool]]) -> list[QWidget]:
        buttons: list[QWidget] = []
        for name, _ in offered:
            button = QToolButton()
            button.setText(_SHORT.get(name, name))
            button.setCheckable(True)
            button.setProperty("look", "toggle")
            if dimension == "counts":
                button.setFixedWidth(_COUNT_PX)
            words = f"{name} of them" if dimension == "counts" else f"engine {name}"
            button.setAccessibleName(f"{self.card.title}: {words}")
            button.setToolTip(f"Try {words}")
            button.clicked.connect(
                lambda _=False, name=name: self.toggled.emit(self.card.id, dimension, name)
            )
            self.buttons[dimension, name] = button
            buttons.append(button)
        return buttons


def form_of(cards: Sequence[CandidateCard]) -> list[object]:
    """A key for the widgets of these cards; cards with equal keys can share widgets."""
    return [_form(card) for card in cards]


def _form(card: CandidateCard) -> object:
    return card.id, [name for name, _ in card.counts], [name for name, _ in card.engines]


def _price(card: CandidateCard) -> Field:
    return Field(
        f"Price of {card.title}",
        card.price,
        lambda draft, text: draft,
        f"{card.currency} per hour of one GPU; leave it empty for the list's price",
        empty="none",
    )


def _label(text: str) -> QLabel:
    label = QLabel(text)
    label.setProperty("tone", "label")
    return label
