"""The search for the fastest split: a button, its progress, the ranked and the pruned splits."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget

from app.answers.cluster.page import Clustered
from app.answers.cluster.splits import RankedSplit, SplitRanking, SplitSearch, switched
from app.quantities import percent, seconds
from app.views.cluster.text_row import TextRow, wrapped
from app.widgets.columns import discard

_PRUNED = 4
"""The number of pruned splits listed; the table of the panel lists all."""


class SplitSearchRows(QWidget):
    """The results of a search, the fastest split first, each with a button to switch to it."""

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
        self.start.setToolTip("Try every split over all GPUs, with the same total batch")
        self.start.clicked.connect(self.sought)
        self.column.addWidget(self.start)
        self.rows: list[QWidget] = []
        self.buttons: list[QPushButton] = []
        self._shown: tuple[object, ...] = ()

    def put(self, clustered: Clustered, busy: bool) -> None:
        """Show a search, or offer one; no search starts during a prediction."""
        search = clustered.search
        self.start.setEnabled(not busy)
        self.start.setVisible(search is None or search.ranking is None)
        now = clustered.question.choice.parallel
        shown = search.ranking if search else None, now
        if shown == self._shown:
            return
        self._shown = shown
        for row in self.rows:
            discard(row)
        self.rows, self.buttons = [], []
        if search is not None and search.ranking is not None:
            self._list(search, search.ranking, now)

    def _list(self, search: SplitSearch, ranking: SplitRanking, now: str) -> None:
        batch = search.target.question.scenario.batch
        self._add(wrapped(f"Fastest splits of batch {batch:,}", "title"))
        best_s = ranking.ranked[0].period_s
        for each in ranking.ranked:
            self._rank(search, each, best_s, now)
        if ranking.pruned:
            self._add(wrapped(ranking.pruned_words, "title"))
        for each in ranking.pruned[:_PRUNED]:
            self._add(wrapped(f"{each.layout}: {each.reason}", "quiet"))
        more = len(ranking.pruned) - _PRUNED
        if more > 0:
            self._add(wrapped(f"{more} more in the table of this panel (Ctrl+T)", "quiet"))

    def _rank(self, search: SplitSearch, each: RankedSplit, best_s: float, now: str) -> None:
        slower = "fastest" if each.period_s == best_s else f"+{percent(each.period_s / best_s - 1)}"
        figures = f"{seconds(each.period_s)}, {slower}; {each.reason}"
        if switched(search.target, each.layout).choice.parallel == now:
            self._add(TextRow(str(each.layout), figures, wrapped("in use", "quiet")))
            return
        button = QPushButton("Switch")
        button.setAccessibleName(f"Switch to this split: {each.layout}")
        button.setToolTip("Switch to this split; undo switches back")
        button.clicked.connect(lambda: self.chosen.emit(search.target, each.layout))
        self.buttons.append(button)
        self._add(TextRow(str(each.layout), figures, button))

    def _add(self, widget: QWidget) -> None:
        self.column.addWidget(widget)
        self.rows.append(widget)


def search_rows(search: SplitSearch | None) -> list[list[str]]:
    """A search as rows of a table."""
    if search is None or search.ranking is None:
        return []
    ranking = search.ranking
    fitting = [
        [str(each.layout), f"{seconds(each.period_s)}; {each.reason}"] for each in ranking.ranked
    ]
    pruned = [
        [str(each.layout), f"pruned by {each.cause}: {each.reason}"] for each in ranking.pruned
    ]
    return fitting + pruned
