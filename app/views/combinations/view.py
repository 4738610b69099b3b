"""Every combination of batch, sequence, GPU and mode: brush what must hold, take the best."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from PySide6.QtWidgets import QWidget

from app.quantities import plain
from app.theme import Theme
from app.views.combinations.canvas import LinesCanvas
from app.views.combinations.table import Table, combined
from app.views.strip_view import StripView
from app.views.sweep.curves import CancelledError
from app.views.view import Question, Side


class Combinations(StripView):
    """Lines through axes. A drag along an axis (arrows up and down) keeps what goes through there;
    the button, or Enter, asks for the fastest of what is kept."""

    title: ClassVar[str] = "Combinations"

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.side: Side | None = None
        self.legend = self.strip.legend(theme)
        self.strip.stretch()
        self.said = self.strip.label()
        name = "Work on the fastest of what is kept"
        self.best = self.strip.button("Take the fastest", name, self._take)
        self.best.setToolTip("Most samples a second of what the brushes keep (Enter)")
        self.canvas = self.below(LinesCanvas(theme), lambda _: self._take())
        self.canvas.brushed.connect(self._count)

    def draw(self, sides: tuple[Side, ...], current: int) -> None:
        self.side = sides[current]
        self.legend.show_shares(self.side.prediction.shares)
        self.canvas.stale = True
        self.canvas.update()

    def question(self, sides: tuple[Side, ...], current: int) -> Question | None:
        side = sides[current]

        def work(cancelled: Any) -> Table | None:
            try:
                return combined(side, cancelled)
            except CancelledError:
                return None

        return work

    def answer(self, found: Any) -> None:
        if isinstance(found, Table):
            self.canvas.show_table(found)
            self._count()

    def fastest(self) -> int | None:
        """The row of most samples a second that is kept."""
        table = self.canvas.table
        if table is None:
            return None
        kept = np.flatnonzero(self.canvas.kept)
        rate = next(c for c in table.columns if c.name == "Throughput").values
        return int(kept[np.argmax(rate[kept])]) if kept.size else None

    def subtitle(self) -> str:
        table = self.canvas.table
        return f"{len(table):,} predicted, each line one" if table else "each line is one scenario"

    def rows(self) -> list[list[str]]:
        table = self.canvas.table
        if table is None:
            return []
        rows = [[*(column.name for column in table.columns), "Bound by"]]
        for row in np.flatnonzero(self.canvas.kept).tolist():
            said = [column.said(float(column.values[row])) for column in table.columns]
            rows.append([*said, table.regime(row)])
        return rows

    def _count(self) -> None:
        table, row = self.canvas.table, self.fastest()
        if table is None:
            return
        kept = int(self.canvas.kept.sum())
        refused = f", {table.refused:,} have no answer" if table.refused else ""
        words = f"{plain(kept)} of {plain(len(table))} kept{refused}"
        self.said.setText(words)
        self.best.setEnabled(row is not None)
        best = ""
        if row is not None:
            named = [c.said(float(c.values[row])) for c in table.columns]
            best = ", the fastest: " + ", ".join(named)
        self.canvas.setAccessibleDescription(words + best)

    def _take(self) -> None:
        row, table = self.fastest(), self.canvas.table
        if row is not None and table is not None and self.side is not None:
            self.asked.emit(table.scenario(self.side.scenario, row))
