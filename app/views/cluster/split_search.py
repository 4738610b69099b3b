"""The search for the fastest split: a button, its progress, and the splits ranked and pruned."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.answers.cluster_splits import RankedSplit, SplitRanking, SplitSearch, switched
from app.answers.clustered import Clustered
from app.quantities import percent, seconds

_PRUNED = 4
"""Pruned splits that are listed; the table of the panel has all."""


class SplitSearchRows(QWidget):
    """The splits that a search found, the fastest first; each can be switched to."""

    sought = Signal()
    chosen = Signal(object, object)
    """SplitQuestion, and the Layout to switch to."""

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("look", "plain")
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(4)
        self.start = QPushButton("Find the fastest split")
        self.start.setAccessibleName("Find the fastest split")
        self.start.setToolTip("Try every split of all GPUs with the same batch over all of them")
        self.start.clicked.connect(self.sought)
        self.column.addWidget(self.start)
        self.rows: list[QWidget] = []
        self.buttons: list[QPushButton] = []
        self._shown: tuple[object, ...] = ()

    def put(self, clustered: Clustered, busy: bool) -> None:
        """Show a search, or offer one; no search starts while something is being predicted."""
        search = clustered.search
        self.start.setEnabled(not busy)
        self.start.setVisible(search is None or search.ranking is None)
        now = clustered.question.choice.parallel
        shown = search.ranking if search else None, now
        if shown == self._shown:
            return
        self._shown = shown
        for row in self.rows:
            row.hide()
            row.deleteLater()
        self.rows, self.buttons = [], []
        if search is not None and search.ranking is not None:
            self._list(search, search.ranking, now)

    def _list(self, search: SplitSearch, ranking: SplitRanking, now: str) -> None:
        batch = search.asked.question.scenario.batch
        self._add(_label(f"Fastest splits of batch {batch:,}", "title"))
        best_s = ranking.ranked[0].period_s
        for each in ranking.ranked:
            self._rank(search, each, best_s, now)
        if ranking.pruned:
            self._add(_label(ranking.pruned_words, "title"))
        for each in ranking.pruned[:_PRUNED]:
            self._add(_label(f"{each.layout}: {each.reason}", "quiet"))
        more = len(ranking.pruned) - _PRUNED
        if more > 0:
            self._add(_label(f"{more} more in the table of this panel (Ctrl+T)", "quiet"))

    def _rank(self, search: SplitSearch, each: RankedSplit, best_s: float, now: str) -> None:
        slower = "fastest" if each.period_s == best_s else f"+{percent(each.period_s / best_s - 1)}"
        name = _label(str(each.layout), "")
        reason = _label(f"{seconds(each.period_s)}, {slower}; {each.reason}", "quiet")
        texts = QVBoxLayout()
        texts.setSpacing(0)
        texts.addWidget(name)
        texts.addWidget(reason)
        row = QWidget()
        row.setProperty("look", "plain")
        line = QHBoxLayout(row)
        line.setContentsMargins(0, 0, 0, 0)
        line.addLayout(texts, 1)
        if switched(search.asked, each.layout).choice.parallel == now:
            line.addWidget(_label("in use", "quiet"))
        else:
            button = QPushButton("Switch")
            button.setAccessibleName(f"Switch to this split: {each.layout}")
            button.setToolTip("Switch to this split; undo takes it back")
            button.clicked.connect(lambda: self.chosen.emit(search.asked, each.layout))
            line.addWidget(button)
            self.buttons.append(button)
        self._add(row)

    def _add(self, widget: QWidget) -> None:
        self.column.addWidget(widget)
        self.rows.append(widget)


def search_rows(search: SplitSearch | None) -> list[list[str]]:
    """A search as rows of a table."""
    if search is None or search.ranking is None:
        return []
    ranking = search.ranking
    rows = [[str(each.layout), f"{seconds(each.period_s)}; {each.reason}"]
            for each in ranking.ranked]  # fmt: skip
    return [
        *rows,
        *([str(each.layout), f"pruned by {each.cause}: {each.reason}"] for each in ranking.pruned),
    ]


def _label(text: str, tone: str) -> QLabel:
    label = QLabel(text)
    label.setWordWrap(True)
    if tone:
        label.setProperty("tone", tone)
    return label
