"""Every combination of several axes: brush what must hold, take the best."""

from __future__ import annotations

from math import prod
from typing import Any, ClassVar

import numpy as np
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QWidget

from app.answers.side import Question, Side
from app.formulas.formula import Formula
from app.formulas.points import rate_at
from app.quantities import plain
from app.scenes.combinations import FIGURES, USUAL_FIGURES, Table, combined
from app.scenes.combinations_axes import axes_of, usual, values
from app.scenes.sweep_curves import CancelledError, axis_name
from app.theme import Theme
from app.views.combinations.axes_menu import AxesMenu
from app.views.combinations.canvas import LinesCanvas
from app.widgets.strip_view import StripView
from simulator.prediction import REGIMES


class Combinations(StripView):
    """Lines through axes. A drag along an axis (arrows up and down) keeps what goes through there;
    the button, or Enter, asks for the fastest of what is kept, a click on a line for that one. The
    menu chooses the axes; dragging their titles moves them."""

    title: ClassVar[str] = "Combinations"

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.side: Side | None = None
        self.table: Table | None = None
        self.names: list[str] | None = None
        """The axes that the user chose; None for the usual ones."""
        self.order: list[str] = [*USUAL_FIGURES]
        """The names of what is drawn, from the left; axes that are not in it come first."""
        self.legend = self.strip.legend(theme)
        self.strip.stretch()
        self.said = self.strip.label()
        self.axes = AxesMenu(self.strip, self._choose)
        name = "Work on the fastest of what is kept"
        self.best = self.strip.button("Take the fastest", name, self._take)
        self.best.setToolTip("Most samples a second of what the brushes keep (Enter)")
        self.canvas = self.below(LinesCanvas(theme), self._take)
        self.canvas.brushed.connect(self._count)
        self.canvas.reordered.connect(self._reorder)

    def draw(self, sides: tuple[Side, ...], current: int) -> None:
        self.side = sides[current]
        self.canvas.stale = True
        self.canvas.update()
        figures = [name for name in FIGURES if name in self.order]
        self.axes.fill(self.side, self.chosen(), figures)

    def chosen(self) -> list[str]:
        """The axes that are asked for."""
        return [] if self.side is None else self._axes(self.side)

    def _axes(self, side: Side) -> list[str]:
        """Those of the user's that a side has; the usual ones where there are none."""
        every = values(side)
        return [name for name in self.names or () if name in every] or usual(side)

    def question(self, sides: tuple[Side, ...], current: int) -> Question | None:
        side = sides[current]
        names = self._axes(side)

        def work(cancelled: Any) -> Table | None:
            try:
                return combined(side, names, cancelled)
            except CancelledError:
                return None

        return work

    def answer(self, found: Any) -> None:
        if isinstance(found, Table):
            self.table = found
            self._arrange()

    def fastest(self) -> int | None:
        """The row of most samples a second that is kept."""
        if self.canvas.table is None:
            return None
        rows = self.canvas.fastest_first
        kept = rows[self.canvas.kept[rows]]
        return int(kept[0]) if kept.size else None

    def formula(self, at: QPoint) -> Formula | None:
        row = self.fastest() if self.canvas.over is None else int(self.canvas.over)
        if row is None or self.table is None:
            return None
        known = {column.name: column for column in self.table.columns}
        time, rate = (float(known[name].values[row]) for name in ("Time", "Throughput"))
        where = ", ".join(c.said(float(c.values[row])) for c in self.table.columns if c.words)
        return rate_at(where, rate, time, known["Throughput"].said(rate))

    def subtitle(self) -> str:
        table = self.table
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

    # what the controls do

    def _choose(self, names: list[str], figures: list[str]) -> None:
        """Other axes, which must be predicted, or other figures, which are known."""
        again = set(names) != set(self.chosen())
        if again:
            self.names = names
        drawn = [name for name in self.order if name not in FIGURES]
        self.order = [*drawn, *figures]
        if again and self.side is not None:
            count = prod(map(len, axes_of(self.side, names).values()))
            self.said.setText(f"predicting {plain(count)} …")
            self.canvas.stale = True
            self.canvas.update()
            self.question_changed.emit()
        else:
            self._arrange()

    def _reorder(self, names: list[str]) -> None:
        self.order = names
        self._arrange()

    def _arrange(self) -> None:
        """Draw the columns that are chosen, in their order."""
        table = self.table
        if table is None:
            return
        axes = [axis_name(name) for name in table.axes]
        new = [name for name in axes if name not in self.order]
        shown = [name for name in self.order if name in axes or name in FIGURES]
        rate = next(c for c in table.columns if c.name == "Throughput").values
        self.canvas.show_table(table.arranged([*new, *shown]), np.argsort(-rate, kind="stable"))
        self._count()

    def _count(self) -> None:
        table, row = self.canvas.table, self.fastest()
        if table is None:
            return
        kept = self.canvas.kept
        refused = f", {table.refused:,} have no answer" if table.refused else ""
        words = f"{plain(int(kept.sum()))} of {plain(len(table))} kept{refused}"
        self.said.setText(words)
        self.legend.show_counts(
            {r: int((table.regimes[kept] == at).sum()) for at, r in enumerate(REGIMES)}
        )
        self.best.setEnabled(row is not None)
        best = ""
        if row is not None:
            named = [c.said(float(c.values[row])) for c in table.columns]
            best = ", the fastest: " + ", ".join(named)
        self.canvas.setAccessibleDescription(words + best)

    def _take(self, line: int | None = None) -> None:
        """Ask for a line, else for the fastest that is kept."""
        row, table = self.fastest() if line is None else line, self.canvas.table
        if row is not None and table is not None and self.side is not None:
            self.asked.emit(table.scenario(self.side.scenario, row))
