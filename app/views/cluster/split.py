"""The question of the page: the step as a sentence, and its split over the GPUs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QProgressBar, QPushButton, QVBoxLayout, QWidget

from app.answers import sentence as sentence_parts
from app.answers.cluster.choice import ClusterChoice, ClusterQuestion, with_what_if
from app.answers.cluster.fields import more_field, own_cluster_field, sentence, with_choice
from app.answers.cluster.page import Clustered
from app.answers.cluster.splits import SplitQuestion, switched
from app.answers.cluster.words import product_words
from app.charts.cluster.memory import memory_drawing, memory_height
from app.drawing.picture import Drawing
from app.theme import Theme
from app.views.cluster.cluster_view import ClusterView
from app.views.cluster.split_search import SplitSearchRows, search_rows
from app.views.cluster.stepper import Stepper
from app.views.cluster.what_ifs import WhatIfRows
from app.widgets.context_menu import make_selectable
from app.widgets.drawing_canvas import DrawingCanvas
from app.widgets.drawn import QT_METRICS
from app.widgets.elided_label import Elided
from app.widgets.fields.controls import Segments
from app.widgets.fields.sentence import Sentence
from app.widgets.fields.sentence_fields import MenuField, TextField
from app.widgets.tab_order import insert_before
from app.widgets.vertical_scroll_area import VerticalScrollArea
from simulator.cluster.layout import Layout
from simulator.errors import RidgepointError

_DEGREES = (
    ("dp", "Data", "copies, a batch each"),
    ("tp", "Tensor", "products split, in a node"),
    ("pp", "Pipeline", "blocks split into stages"),
)


class MemoryCanvas(DrawingCanvas):
    """The memory of the rank that needs the most memory."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "Memory per rank")
        self.clustered: Clustered | None = None

    def put(self, clustered: Clustered) -> None:
        """Show the memory of a step."""
        self.clustered = clustered
        answer = clustered.answer
        self.setVisible(answer is not None)
        if answer is not None:
            self.setMinimumWidth(0)
            self.setFixedHeight(int(memory_height(answer)) + 2)
        self.redraw()

    def drawing(self, width: float, height: float) -> Drawing | None:
        answer = self.clustered.answer if self.clustered else None
        return None if answer is None else memory_drawing(answer, width, height, QT_METRICS)


class Split(ClusterView):
    """The editor of the question, with the check of the product, progress and errors."""

    title: ClassVar[str] = "Split"
    dims: ClassVar[bool] = False

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self._shown: ClusterQuestion | None = None
        self.sentence = Sentence("Step and cluster")
        self.more = Sentence("Other options of the split")
        for each in (self.sentence, self.more):
            each.entered.connect(self._entered)
            each.restored.connect(lambda: self.refuse(""))
        self.steppers = {key: Stepper(name, note) for key, name, note in _DEGREES}
        for key, stepper in self.steppers.items():
            stepper.changed.connect(partial(self._degree, key))
        self.sharding = Segments(
            "Weights of the copies", {"ddp": "copied, DDP", "fsdp": "sharded, FSDP2"}, {}
        )
        self.sharding.chosen.connect(self._shard)
        self.product = _label("")
        make_selectable(self.product)
        self.notes, self.message = _label("support"), _label("danger")
        self.step = Elided()
        self.step.setProperty("tone", "quiet")
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setRange(0, 0)
        self.bar.setAccessibleName("Progress of the prediction")
        self.stop = QPushButton("Cancel")
        self.stop.setAccessibleName("Cancel the prediction over several GPUs")
        self.stop.setToolTip("Stop predicting and keep the current figures (Esc)")
        self.stop.clicked.connect(self.cancelled)
        self.retry = QPushButton("Predict again")
        self.retry.setAccessibleName("Predict the step over several GPUs again")
        self.retry.clicked.connect(self.retried)
        self.memory = MemoryCanvas(theme)
        self.search = SplitSearchRows()
        self.search.sought.connect(self.sought)
        self.search.chosen.connect(self._switch)
        self.what_ifs = WhatIfRows()
        self.what_ifs.applied.connect(self._apply)
        self.setMinimumWidth(318)
        self._place()

    def _place(self) -> None:
        inside = QWidget()
        inside.setProperty("look", "plain")
        column = QVBoxLayout(inside)
        column.setContentsMargins(12, 6, 8, 8)
        column.setSpacing(8)
        column.addWidget(self.sentence)
        for stepper in self.steppers.values():
            column.addWidget(stepper)
        column.addWidget(self.sharding)
        column.addWidget(self.more)
        column.addWidget(self.product)
        column.addWidget(self.notes)
        wrong = QHBoxLayout()
        wrong.addWidget(self.message, 1)
        wrong.addWidget(self.retry, 0, Qt.AlignmentFlag.AlignTop)
        column.addLayout(wrong)
        column.addWidget(self.bar)
        progress = QHBoxLayout()
        progress.addWidget(self.step, 1)
        progress.addWidget(self.stop)
        column.addLayout(progress)
        column.addWidget(self.search)
        column.addWidget(self.memory)
        column.addWidget(self.what_ifs)
        column.addStretch(1)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        self.area = VerticalScrollArea(inside)
        outer.addWidget(self.area)

    def update_clustered(self, clustered: Clustered) -> None:
        focused = self.window().focusWidget() in self._replacing_buttons
        self._update(clustered)
        if focused:
            self._focus_replacement()

    @property
    def _replacing_buttons(self) -> tuple[QPushButton, ...]:
        """Buttons that replace each other: each is hidden or disabled while another applies."""
        return self.stop, self.retry, self.search.start, *self.search.buttons[:1]

    def _focus_replacement(self) -> None:
        """Keep the focus on the button that applies; Qt would move it to the next widget."""
        for button in self._replacing_buttons:
            if button.isVisibleTo(self) and button.isEnabled():
                button.setFocus()
                return

    def _update(self, clustered: Clustered) -> None:
        question = clustered.question
        if question != self._shown:
            self._show_question(question)
        search = clustered.search
        words = clustered.progress or (search.doing if search else "")
        busy = bool(words)
        share = search.share if search and not clustered.progress else 0.0
        self.bar.setRange(0, 100 if share else 0)
        self.bar.setValue(round(100 * share))
        self.step.say(f"{words[0].upper()}{words[1:]}" if words else "")
        for widget in (self.step, self.bar, self.stop):
            widget.setVisible(busy)
        self._say(clustered.error, bool(clustered.error))
        self._put_notes(clustered)
        self.memory.put(clustered)
        self.memory.setEnabled(not clustered.stale)
        self.search.put(clustered, busy)
        self.what_ifs.put(clustered)

    def _put_notes(self, clustered: Clustered) -> None:
        notes = clustered.answer.notes if clustered.answer else ()
        self.notes.setText("\n".join(f"{note[0].upper()}{note[1:]}." for note in notes))
        self.notes.setVisible(bool(notes))
        self.notes.setEnabled(not clustered.stale)

    def refuse(self, reason: str) -> None:
        clustered = self.clustered
        error = clustered.error if clustered else ""
        self._say(reason or error, bool(error) and not reason)

    def restyle(self, theme: Theme) -> None:
        super().restyle(theme)
        self.memory.restyle(theme)

    def subtitle(self) -> str:
        clustered = self.clustered
        return "" if clustered is None else clustered.question.choice.parallel

    def rows(self) -> list[list[str]]:
        clustered = self.clustered
        if clustered is None:
            return []
        choice = clustered.question.choice
        rows = [["Split", "Value"], ["Cluster", choice.cluster], ["Layout", choice.parallel]]
        answer = clustered.answer
        if answer is not None:
            needed = answer.largest.memory
            rows += [[f"{role}, MiB", f"{nbytes / 2**20:,.1f}"] for role, nbytes in needed]
            rows += [["Note", note] for note in answer.notes]
        return rows + search_rows(clustered.search)

    def _say(self, reason: str, retry: bool) -> None:
        self.message.setText(reason)
        self.message.setVisible(bool(reason))
        self.retry.setVisible(retry)

    def _show_question(self, question: ClusterQuestion) -> None:
        self._shown = question
        choice = question.choice
        if self.sentence.put(sentence(question)):
            insert_before(self.steppers["dp"].less, self.sentence.fields)
        parts = (
            "with",
            more_field(question),
            ", on a cluster by name or file:",
            own_cluster_field(question),
        )
        if self.more.put(parts):
            insert_before(self.retry, self.more.fields)
        try:
            gpus = choice.machine.gpus
        except RidgepointError:
            gpus = choice.dp * choice.tp * choice.pp
        for key, stepper in self.steppers.items():
            stepper.put(getattr(choice, key), gpus)
        alone = {} if choice.dp > 1 else {"fsdp": "a single copy has nothing to shard"}
        self.sharding.put("fsdp" if choice.fsdp else "ddp", alone)
        words, holds = product_words(choice)
        self.product.setText(words)
        tone = "title" if holds else "danger"
        if self.product.property("tone") != tone:
            self.product.setProperty("tone", tone)
            self.product.style().unpolish(self.product)
            self.product.style().polish(self.product)

    def _entered(self, field: sentence_parts.Field[Any], text: str) -> None:
        widgets = [*self.sentence.fields, *self.more.fields]
        widget = next(widget for widget in widgets if widget.field == field)
        self._edit(lambda question: field.put(question, text), field.name.lower(), widget=widget)

    def _degree(self, key: str, value: int) -> None:
        self._choose(lambda choice: choice.of_degree(key, value), f"{key} {value}", key)

    def _shard(self, name: str) -> None:
        self._apply(f"fsdp={int(name == 'fsdp')}")

    def _apply(self, text: str) -> None:
        self._choose(lambda choice: with_what_if(choice, text), text)

    def _switch(self, question: SplitQuestion, spread: Layout) -> None:
        self._edit(lambda _: switched(question, spread), f"split {spread}")

    def _choose(
        self, change: Callable[[ClusterChoice], ClusterChoice], words: str, merge: str = ""
    ) -> None:
        self._edit(lambda question: with_choice(question, change), words, merge)

    def _edit(
        self,
        change: Callable[[ClusterQuestion], ClusterQuestion],
        words: str,
        merge: str = "",
        widget: TextField | MenuField | None = None,
    ) -> None:
        """Change the question, or show why the change is refused."""
        if self.clustered is None:
            return
        before = self.clustered.question
        try:
            after = change(before)
        except RidgepointError as error:
            if widget is not None:
                widget.mark(str(error))
            self.refuse(str(error))
            return
        if isinstance(widget, TextField):
            widget.setModified(False)
        self._shown = None
        if after == before:
            self.update_clustered(self.clustered)
        else:
            self.edited.emit(after, words, merge)


def _label(tone: str) -> QLabel:
    label = QLabel()
    label.setProperty("tone", tone)
    label.setWordWrap(True)
    return label
