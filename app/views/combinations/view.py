"""All combinations of several axes: filter with brushes, then select the best."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, ClassVar

import numpy as np
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QWidget

from app.answers.side import Question, Side
from app.formulas.formula import Formula
from app.formulas.points import rate_at
from app.quantities import plain
from app.scenes.combinations.axes import axes_of, usual, values
from app.scenes.combinations.importance import group_summaries, importance
from app.scenes.combinations.table import (
    FIGURES,
    USUAL_FIGURES,
    CombinationTable,
    combined,
    in_sentence,
)
from app.scenes.sweep.curves import axis_name, or_none
from app.theme import Theme
from app.views.combinations.axes_menu import AxesMenu
from app.views.combinations.canvas import LinesCanvas
from app.views.combinations.explain_menu import ExplainMenu
from app.views.combinations.group_legend import GroupLegend
from app.widgets.canvas import Canvas
from app.widgets.context_menu import Entry
from app.widgets.strip_view import StripView
from simulator.prediction import REGIMES

_BEST = "Switch to the matching scenario with the most samples/s"


class Combinations(StripView):
    """Parallel coordinates. Dragging along an axis (or the up and down keys) filters the lines. The
    button, or Enter, switches to the matching scenario with the most samples/s; a click on a line
    to its own. The menu selects the axes; dragging their titles moves them. Below each axis is the
    share of the spread of a figure that it explains; V and G, or a menu, choose the figure and the
    groups."""

    title: ClassVar[str] = "Combinations"

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.side: Side | None = None
        self.table: CombinationTable | None = None
        self.part = False
        """Whether the table holds the first combinations of the current question."""
        self.names: list[str] | None = None
        """The axes that the user selected; None for the default axes."""
        self.order: list[str] = [*USUAL_FIGURES]
        """The names of drawn columns from left to right; axes that are not listed come first."""
        self.legend = self.strip.legend(theme)
        self.status = self.strip.hint()
        self.axes = AxesMenu(self.strip, self._choose)
        self.explain = ExplainMenu(self.strip, USUAL_FIGURES[0], self._explain)
        self.best = self.strip.button("Highest rate", _BEST, self._take)
        name = "Predict the missing combinations"
        self.more = self.strip.button("Continue", name, self._continue)
        self.more.hide()
        self.canvas = self.below(LinesCanvas(theme), self._take)
        self.canvas.brushed.connect(self._count)
        self.canvas.reordered.connect(self._reorder)
        self.canvas.cycled.connect(self._cycle)
        self.groups = GroupLegend(theme)
        column = self.layout()
        assert column is not None
        column.addWidget(self.groups)

    def draw(self, sides: tuple[Side, ...], current: int) -> None:
        self.side = sides[current]
        self.part = False
        self.more.hide()
        self.best.setEnabled(False)
        self.canvas.stale, self.canvas.failure = True, ""
        self.canvas.update()
        figures = [name for name in FIGURES if name in self.order]
        self.axes.fill(self.side, self.chosen(), figures)

    def chosen(self) -> list[str]:
        """The selected axes."""
        return [] if self.side is None else self._axes(self.side)

    def _axes(self, side: Side) -> list[str]:
        """The user's axes that exist for a side; the default axes if none of them exists."""
        offered = values(side)
        return [name for name in self.names or () if name in offered] or usual(side)

    def question(self, sides: tuple[Side, ...], current: int) -> Question | None:
        side = sides[current]
        names = self._axes(side)

        return or_none(lambda cancelled: combined(side, names, cancelled))

    def answer(self, result: Any) -> None:
        if isinstance(result, CombinationTable):
            self.table, self.part = result, False
            self.more.hide()
            self._arrange()

    def show_part(self, result: Any) -> None:
        """Show the scenarios so far, faded until all are predicted."""
        self.answer(result)
        self.part = self.canvas.stale = True

    @property
    def when_cancelled(self) -> str:
        return "cancelled; Continue predicts the rest" if self.part else super().when_cancelled

    def show_cancelled(self, reason: str) -> None:
        """Keep the scenarios so far; the others are predicted on request."""
        if not self.part:
            self.fail(reason)
            return
        self.canvas.stale = False
        self.canvas.update()
        self.more.show()

    def fail(self, reason: str) -> None:
        self.table, self.part = None, False
        self.canvas.fail(f"No combinations.\n{reason}")

    def fastest(self) -> int | None:
        """The matching row with the most samples per second; None before all are predicted."""
        if self.canvas.table is None or self.canvas.table.missing:
            return None
        rows = self.canvas.fastest_first
        matching = rows[self.canvas.matching[rows]]
        return int(matching[0]) if matching.size else None

    def entries(self, canvas: Canvas | None) -> list[Entry]:
        table, over = self.canvas.table, self.canvas.over
        if table is None or self.side is None or canvas is not self.canvas:
            return super().entries(canvas)
        own: list[Entry] = []
        if over is not None:
            after = table.scenario(self.side.scenario, int(over))
            words = ", ".join(
                c.value_text(float(c.values[int(over)])) for c in table.columns if c.words
            )
            own.append(Entry("Use this scenario\tEnter", lambda: self._take(int(over))))
            own.append(Entry("Add it as a scenario", lambda: self.added.emit(words, after)))
        if self.canvas.brushes:
            own.append(Entry("Clear all brushes", self.canvas.clear_brushes))
        take = None if self.fastest() is None else self._take
        own.append(Entry("Use the highest rate that matches", take, self.best.toolTip()))
        return [*own, *super().entries(canvas)]

    def formula(self, at: QPoint) -> Formula | None:
        row = self.fastest() if self.canvas.over is None else int(self.canvas.over)
        if row is None or self.table is None:
            return None
        columns = {column.name: column for column in self.table.columns}
        time, rate = (float(columns[name].values[row]) for name in ("Time", "Throughput"))
        where = ", ".join(c.value_text(float(c.values[row])) for c in self.table.columns if c.words)
        return rate_at(where, rate, time, columns["Throughput"].value_text(rate))

    def subtitle(self) -> str:
        table = self.table
        if table is None:
            return "one line per scenario"
        total = f" of {len(table) + table.missing:,}" if table.missing else ""
        return f"{len(table):,}{total} scenarios, one line each"

    def rows(self) -> list[list[str]]:
        table = self.canvas.table
        if table is None:
            return []
        rows = [[*(column.name for column in table.columns), "Bound by"]]
        for row in np.flatnonzero(self.canvas.matching).tolist():
            figures = [column.value_text(float(column.values[row])) for column in table.columns]
            rows.append([*figures, table.regime(row)])
        return rows

    def plain_rows(self) -> list[list[str]]:
        table = self.canvas.table
        if table is None:
            return []
        rows = [[*(column.plain_head for column in table.columns), "Bound by"]]
        for row in np.flatnonzero(self.canvas.matching).tolist():
            values = [column.plain_text(float(column.values[row])) for column in table.columns]
            rows.append([*values, table.regime(row)])
        return rows

    def commands(self) -> list[tuple[str, Callable[[], None]]]:
        return self.explain.commands()

    def restyle(self, theme: Theme) -> None:
        super().restyle(theme)
        self.groups.restyle(theme)

    # reactions to the controls

    def _continue(self) -> None:
        """Predict the missing combinations."""
        self.more.hide()
        self.canvas.stale = True
        self.canvas.update()
        self.question_changed.emit()

    def _cycle(self, groups: bool) -> None:
        if groups:
            self.explain.next_group()
        else:
            self.explain.next_figure()

    def _explain(self) -> None:
        """Group the lines, and show the shares of the chosen figure."""
        if self.explain.figure not in self.order:
            self.order = [*self.order, self.explain.figure]
            self._arrange()
            return
        self.canvas.group(self.explain.by)
        self._count()

    def _show_importance(self, table: CombinationTable) -> str:
        """Show the shares of the axes and the groups over the matching lines. Returns the shares
        in words."""
        canvas, figure = self.canvas, self.explain.figure
        explained = importance(table, figure, canvas.matching)
        columns = {column.name: column for column in table.columns}
        by = columns.get(self.explain.by)
        canvas.figure, canvas.shares = figure, explained.shares
        canvas.groups = () if by is None else group_summaries(by, columns[figure], canvas.matching)
        head = f"Median {in_sentence(figure)} by {in_sentence(by.name)}" if by else ""
        self.groups.show_groups(head, len(by.words) if by else 0, canvas.groups)
        self.legend.setVisible(by is None)
        canvas.update()
        return f"spread of {in_sentence(figure)}: {explained.words}" if explained.words else ""

    def _choose(self, names: list[str], figures: list[str]) -> None:
        """Change the axes, which requires new predictions, or the figures, which does not."""
        new_axes = set(names) != set(self.chosen())
        if new_axes:
            self.names, self.part = names, False
            self.more.hide()
        drawn = [name for name in self.order if name not in FIGURES]
        self.order = [*drawn, *figures]
        if new_axes and self.side is not None:
            count = prod(map(len, axes_of(self.side, names).values()))
            self.status.say(f"Predicting {plain(count)} …")
            self.canvas.stale, self.canvas.failure = True, ""
            self.canvas.update()
            self.question_changed.emit()
        else:
            self._arrange()

    def _reorder(self, names: list[str]) -> None:
        self.order = names
        self._arrange()

    def _arrange(self) -> None:
        """Draw the selected columns in their order."""
        table = self.table
        if table is None:
            return
        axes = [axis_name(name) for name in table.axes]
        new = [name for name in axes if name not in self.order]
        shown = [name for name in self.order if name in axes or name in FIGURES]
        rate = next(c for c in table.columns if c.name == "Throughput").values
        self.explain.offer(axes)
        self.canvas.by = self.explain.by
        self.canvas.show_table(table.arranged([*new, *shown]), np.argsort(-rate, kind="stable"))
        self._count()

    def _count(self) -> None:
        table, row = self.canvas.table, self.fastest()
        if table is None:
            return
        matching = self.canvas.matching
        refused = f", {table.refused:,} cannot run" if table.refused else ""
        missing = f", {table.missing:,} to predict" if table.missing else ""
        words = f"{plain(int(matching.sum()))} of {plain(len(table))} match{refused}{missing}"
        assert self.table is not None
        spread = self._show_importance(self.table)
        self.status.say(f"{words}; {spread}" if spread else words, words)
        self.status.setToolTip(f"What explains the {spread}" if spread else "")
        self.legend.show_counts(
            {r: int((table.regimes[matching] == at).sum()) for at, r in enumerate(REGIMES)}
        )
        self.best.setEnabled(row is not None)
        none = f"once the other {table.missing:,} are predicted" if table.missing else "if one does"
        self.best.setToolTip(f"{_BEST} (Enter)" if row is not None else f"{_BEST}, {none}")
        best = ""
        if row is not None:
            figures = [c.value_text(float(c.values[row])) for c in table.columns]
            best = "; most samples/s: " + ", ".join(figures)
        self.canvas.setAccessibleDescription("; ".join(filter(None, (words + best, spread))))

    def _take(self, line: int | None = None) -> None:
        """Switch to the scenario of a line, or to the matching one with the most samples/s."""
        row, table = self.fastest() if line is None else line, self.canvas.table
        if row is not None and table is not None and self.side is not None:
            self.scenario_requested.emit(table.scenario(self.side.scenario, row))
