"""The inputs of a plan: the workload as a sentence, the candidates as cards, power prices."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from PySide6.QtWidgets import (
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.answers.plan.cards import (
    CandidateCard,
    Dimension,
    candidate_cards,
    priced,
    switched,
    toggled,
    without_gpu,
)
from app.answers.plan.details import details
from app.answers.plan.draft import Draft
from app.answers.plan.fields import Field, prices, sentence
from app.answers.plan.planned import Planned
from app.answers.plan.words import load_words
from app.theme import Theme
from app.views.plan.add_gpu import AddGpu
from app.views.plan.candidate import CandidateWidget, form_of
from app.views.plan.plan_view import PlanView
from app.widgets.context_menu import make_selectable
from app.widgets.fields.sentence import Sentence
from app.widgets.fields.sentence_fields import MenuField, TextField
from app.widgets.tab_order import insert_after, insert_before, tab_stops
from app.widgets.vertical_scroll_area import VerticalScrollArea
from simulator.errors import InputError


class Workload(PlanView):
    """The editor of a plan. Each edit is checked at once: a refused edit stays in its field, with
    the planner's message below the sentence, and the plan does not change."""

    title: ClassVar[str] = "Workload"
    dims: ClassVar[bool] = False

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self._shown: Draft | None = None
        self.sentence = Sentence()
        self.power = Sentence()
        self.power.setAccessibleName("Power and buildings")
        self.details = Sentence("Details")
        for each in (self.sentence, self.details, self.power):
            each.entered.connect(self._entered)
            each.restored.connect(lambda: self.refuse(""))
        self.message = QLabel()
        self.message.setProperty("tone", "danger")
        self.message.setWordWrap(True)
        make_selectable(self.message)
        self.message.hide()
        self.meaning = QLabel()
        self.meaning.setProperty("tone", "quiet")
        self.meaning.setWordWrap(True)
        self.trace = QPushButton("Use a trace …")
        self.trace.setAccessibleName("Read the requests from a file, or give lengths and a rate")
        self.trace.clicked.connect(self._choose_trace)
        self.count = QLabel()
        self.count.setProperty("tone", "quiet")
        self.reveal = QPushButton("Details")
        self.reveal.setAccessibleName("Show the other fields of the plan")
        self.reveal.setToolTip("Show the other fields of the plan, below the candidates")
        self.reveal.clicked.connect(self._show_details)
        self.add = AddGpu()
        self.add.chosen.connect(self._add)
        self.cards: list[CandidateWidget] = []
        self.inside = QWidget()
        self.inside.setProperty("look", "plain")
        self.stack = QVBoxLayout(self.inside)
        self.stack.setContentsMargins(0, 0, 6, 0)
        self.stack.setSpacing(5)
        self.drop = QToolButton()
        self.drop.setText("Drop a GPU card or a plan file here;\nclick to show the shelf of cards")
        self.drop.setAccessibleName("Show the shelf, to drop a GPU card or a plan file here")
        self.drop.setToolTip("Show the shelf, which has the cards")
        self.drop.setProperty("look", "drop")
        self.drop.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.drop.clicked.connect(self.shelf_requested)
        self.stack.addWidget(self.drop)
        self.stack.addWidget(_heading("Details"))
        self.stack.addWidget(self.details)
        self.stack.addStretch(1)
        self.area = VerticalScrollArea(self.inside)
        self.setMinimumWidth(318)
        self._place()

    def _place(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 6, 6, 4)
        column.setSpacing(8)
        below = QHBoxLayout()
        below.addWidget(self.meaning, 1)
        below.addWidget(self.trace)
        heads = QHBoxLayout()
        heads.addWidget(_heading("Candidates"))
        heads.addStretch(1)
        heads.addWidget(self.count)
        heads.addWidget(self.reveal)
        heads.addWidget(self.add)
        column.addWidget(self.sentence)
        column.addWidget(self.message)
        column.addLayout(below)
        column.addWidget(_rule())
        column.addLayout(heads)
        column.addWidget(self.area, 1)
        column.addWidget(_rule())
        column.addWidget(self.power)
        insert_after(self.trace, [self.reveal, self.add, self.drop])

    def update_plan(self, planned: Planned) -> None:
        draft = planned.draft
        if draft == self._shown:
            return
        self._shown = draft
        if self.sentence.put(sentence(draft)):
            insert_before(self.trace, self.sentence.fields)
        self.meaning.setText(load_words(draft))
        traced = draft.get("workload", "requests_csv") is not None
        self.trace.setVisible(draft.spec.workload.kind == "serving")
        self.trace.setText("Use lengths" if traced else "Use a trace …")
        if self.power.put(prices(draft)):
            insert_after(self.drop, self.power.fields)
        self._show_cards(candidate_cards(draft))
        if self.details.put(details(draft)):
            insert_before(self.power.fields[0], self.details.fields)
        self.add.draft = draft
        self.refuse("")

    def refuse(self, reason: str) -> None:
        self.message.setText(reason)
        self.message.setVisible(bool(reason))

    def restyle(self, theme: Theme) -> None:
        super().restyle(theme)
        for card in self.cards:
            card.restyle(theme)

    def rows(self) -> list[list[str]]:
        if self.planned is None:
            return []
        draft = self.planned.draft
        price = f"{draft.spec.prices.currency.name} an hour"
        rows = [["GPU", "Included", "Counts", "Engines", price, "Price from"]]
        for c in candidate_cards(draft):
            tried = [", ".join(n for n, on in each if on) for each in (c.counts, c.engines)]
            rows.append([c.title, "yes" if c.use else "no", *tried, c.price, c.source_whole])
        return rows

    def _show_cards(self, cards: tuple[CandidateCard, ...]) -> None:
        if form_of(cards) != [widget.form() for widget in self.cards]:
            for widget in self.cards:
                widget.hide()
                widget.deleteLater()
            self.cards = [self._card(card) for card in cards]
            for at, widget in enumerate(self.cards):
                self.stack.insertWidget(at, widget)
            stops = [stop for each in self.cards for stop in (each, *tab_stops(each))]
            insert_before(self.drop, stops)
        for widget, card in zip(self.cards, cards, strict=True):
            widget.put(card)
        self.count.setText(f"{sum(card.use for card in cards)} on")

    def _add(self, name: str) -> None:
        self._edit(self.add.edit(name), f"add {name}")

    def _card(self, card: CandidateCard) -> CandidateWidget:
        widget = CandidateWidget(card, self.theme)

        def switch(name: str, on: bool) -> None:
            words = f"{card.title} {'on' if on else 'off'}"
            self._edit(lambda draft: switched(draft, name, on), words)

        def toggle(name: str, dimension: Dimension, which: str) -> None:
            words = f"{dimension} of {card.title}"
            self._edit(lambda draft: toggled(draft, name, dimension, which), words)

        def set_price(name: str, text: str) -> None:
            words = f"price of {card.title}"
            self._edit(lambda draft: priced(draft, name, text), words, widget.price)

        def remove(name: str) -> None:
            self._edit(lambda draft: without_gpu(draft, name), f"remove {card.title}")

        widget.switched.connect(switch)
        widget.toggled.connect(toggle)
        widget.priced.connect(set_price)
        widget.restored.connect(lambda: self.refuse(""))
        widget.removed.connect(remove)
        return widget

    def _entered(self, field: Field, text: str) -> None:
        widget = self._widget(field)
        self._edit(lambda draft: field.put(draft, text), field.name.lower(), widget)

    def _widget(self, field: Field) -> TextField | MenuField:
        widgets = [*self.sentence.fields, *self.details.fields, *self.power.fields]
        return next(widget for widget in widgets if widget.field == field)

    def _edit(
        self,
        change: Callable[[Draft], Draft],
        words: str,
        widget: TextField | MenuField | None = None,
    ) -> None:
        """Change the draft, or show why the planner refuses the change."""
        if self.planned is None:
            return
        before = self.planned.draft
        try:
            after = change(before)
            _ = after.spec
        except InputError as error:
            if widget is None:  # a pressed button shows the current state again
                for card in self.cards:
                    card.show_again()
            else:
                widget.mark(str(error))
            self.refuse(str(error))
            return
        if widget is not None and isinstance(widget, TextField):
            widget.setModified(False)
        if after == before:
            self._shown = None
            self.update_plan(self.planned)
        else:
            self.edited.emit(after, words)

    def _show_details(self) -> None:
        self.area.ensureWidgetVisible(self.details, 0, 0)
        self.area.ensureWidgetVisible(self.details.fields[0])
        self.details.fields[0].setFocus()

    def _choose_trace(self) -> None:
        if self.planned is None:
            return
        if self.planned.draft.get("workload", "requests_csv") is not None:
            self._edit(Draft.without_trace, "lengths in place of a trace")
            return
        name, _ = QFileDialog.getOpenFileName(self, "Requests", "", "Requests (*.csv)")
        if name:
            self._edit(lambda draft: draft.of_trace(Path(name)), "requests of a trace")


def _heading(text: str) -> QLabel:
    label = QLabel(text)
    label.setProperty("tone", "title")
    return label


def _rule() -> QFrame:
    line = QFrame()
    line.setProperty("look", "rule")
    line.setFixedHeight(1)
    return line
