"""The ops of a step as a table: their time, FLOPs, bytes and achieved rates."""

from __future__ import annotations

from math import ceil
from typing import get_args

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QItemSelection, QItemSelectionModel, QModelIndex, QPoint, QSize, Qt
from PySide6.QtGui import (
    QContextMenuEvent,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QBoxLayout,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from app.answers.side import Side
from app.formulas.formula import Formula
from app.quantities import percent, seconds
from app.scenes.op_table import KEYS, By, groups
from app.theme import LABEL_PX, Theme
from app.views.ops.cells import OpCells, OpHeads, sheet
from app.views.ops.model import COLUMNS, NAMES, OpModel
from app.views.ops.row_what_ifs import RowWhatIfs
from app.widgets.context_menu import Entry
from app.widgets.paint import width
from app.widgets.strip import HEIGHT_PX, Strip
from app.widgets.view import View
from simulator.prediction import REGIMES, Prediction

_ROW_PX = 24
_LEAST = {"Op": 150, "Module": 190, "Shape": 118}
_BYS: tuple[By, ...] = get_args(By)


class Table(QTableView):
    """A table in which S sorts by the current column, Ctrl+C copies, and Escape deselects."""

    def __init__(self, view: OpTable) -> None:
        super().__init__(view)
        self.op_view = view
        self.setAccessibleName(f"{view.title}, one row per group of launches")
        self.setModel(view.model)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setShowGrid(False)
        self.setCornerButtonEnabled(False)
        for corner in self.findChildren(QAbstractButton):
            corner.setAccessibleName("Select all rows")
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setMouseTracking(True)
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(_ROW_PX)
        self.verticalHeader().setMinimumSectionSize(_ROW_PX)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.op_view.copy()
        elif event.key() == Qt.Key.Key_Escape and self.op_view.chosen:
            self.op_view.clear_selection()
        elif event.key() == Qt.Key.Key_S and self.currentIndex().isValid():
            self.op_view.sort(self.currentIndex().column())
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        by_key = event.reason() == QContextMenuEvent.Reason.Keyboard
        row = self.currentIndex().row() if by_key else self.rowAt(event.pos().y())
        below = self.visualRect(self.model().index(row, 0)).bottomLeft()
        at = self.viewport().mapToGlobal(below) if by_key and row >= 0 else event.globalPos()
        column = self.currentIndex().column() if by_key else self.columnAt(event.pos().x())
        self.op_view.menu_requested.emit(self.op_view.row_entries(row, column), at)


class OpTable(View):
    """Launches grouped by op, module or shape, or one by one.

    Selecting rows selects their ops. A click on a header (or S in its column) sorts by this column;
    a second one reverses the order. Ctrl+C copies the selection, or all shown rows, as TSV; Escape
    deselects. What-ifs can be dropped on a row, or selected in its menu (Menu, Shift+F10).
    """

    title = "Ops"

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.prediction: Prediction | None = None
        self.model = OpModel()
        self.chosen: frozenset[int] = frozenset()
        self.marked: NDArray[np.bool_] = np.zeros(0, np.bool_)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        self.strips = (Strip(theme), Strip(theme))
        self.by = self.strips[0].segments("Group by", _BYS, self._group)
        self.search = self.strips[0].field("Filter by name", lambda _: self._filter(), "Filter")
        self.regime = self.strips[1].segments("Regime", ["all", *REGIMES], lambda _: self._filter())
        self.status = self.strips[1].label()
        self.table = Table(self)
        self.heads = OpHeads(theme, self.model)
        self.cells = OpCells(theme, self)
        self.table.setHorizontalHeader(self.heads)
        self.table.setItemDelegate(self.cells)
        self.heads.sectionClicked.connect(self.sort)
        self.table.selectionModel().selectionChanged.connect(self._selected)
        self.controls = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self.controls.setSpacing(0)
        for strip in self.strips:
            self.controls.addWidget(strip)
        column.addLayout(self.controls)
        column.addWidget(self.table, 1)
        self.what_ifs = RowWhatIfs(self)
        self.setFocusProxy(self.table)
        self.restyle(theme)

    def draw(self, sides: tuple[Side, ...], current: int) -> None:
        self.prediction = sides[current].prediction
        self.what_ifs.show(sides[current].scenario, self.prediction)
        self._group(self.by.checkedId())

    def pick(self, ops: frozenset[int]) -> None:
        if ops == self.chosen:
            return
        self.chosen = ops
        selection = self.table.selectionModel()
        selection.blockSignals(True)
        selection.clear()
        selection.blockSignals(False)
        self._mark()
        rows = np.flatnonzero(self.marked[self.model.order])
        if rows.size:
            self.table.scrollTo(self.model.index(int(rows[0]), 0))

    def restyle(self, theme: Theme) -> None:
        super().restyle(theme)
        for strip in self.strips:
            strip.restyle(theme)
        self.heads.theme = self.cells.theme = self.what_ifs.target.outline.theme = theme
        self.setStyleSheet(sheet(theme))
        self.table.viewport().update()
        self.heads.viewport().update()

    def minimumSizeHint(self) -> QSize:
        """The minimum size, with the controls one above another."""
        widest = max(strip.minimumSizeHint().width() for strip in self.strips)
        return QSize(widest, 2 * HEIGHT_PX + _ROW_PX)

    def formula(self, at: QPoint) -> Formula | None:
        """The formula of the column at a point, with the numbers of the row there or the current
        row."""
        place = self.table.indexAt(self.table.viewport().mapFromGlobal(at))
        column = self.heads.logicalIndexAt(self.heads.mapFromGlobal(at).x())
        current = self.table.currentIndex()
        row = place.row() if place.isValid() else max(0, current.row())
        formula = self.model.formula(column, row) if column >= 0 else None
        return formula or self.model.formula(NAMES.index("Time"), row)

    def subtitle(self) -> str:
        p = self.prediction
        if p is None:
            return ""
        launches = f"{p.kernel_count:,} launch{'es' * (p.kernel_count != 1)}"
        return f"{launches}, {seconds(p.gpu_busy_s)} of GPU time"

    def rows(self) -> list[list[str]]:
        return self.model.table() if self.model.groups is not None else []

    def plain_rows(self) -> list[list[str]]:
        return self.model.table(plain=True) if self.model.groups is not None else []

    # controls

    def sort(self, column: int) -> None:
        """Sort by a column: figures descending, text from A; a second call reverses the order."""
        model = self.model
        falling = COLUMNS[column].values is not None
        if column == model.column:
            falling = not model.falling
        order = Qt.SortOrder.DescendingOrder if falling else Qt.SortOrder.AscendingOrder
        model.sort(column, order)
        self._rearranged()
        self.table.setCurrentIndex(QModelIndex())
        self.table.selectionModel().setCurrentIndex(
            model.index(0, column), QItemSelectionModel.SelectionFlag.NoUpdate
        )

    def copy(self) -> None:
        """Copy the selected rows, or all shown rows, to the clipboard as TSV in SI units."""
        if self.model.groups is None:
            return
        lines = self.model.table(sorted(self.selected()) or None, plain=True)
        QGuiApplication.clipboard().setText("\n".join("\t".join(line) for line in lines))

    def row_entries(self, row: int, column: int) -> list[Entry]:
        """What can be done with a cell of the table; a negative row is beside all rows."""
        entries = self.what_ifs.entries(row)
        if column >= 0:
            entries.append(Entry(f"Sort by {NAMES[column]}\tS", lambda: self.sort(column)))
        rows = len(self.selected()) or self.model.rowCount()
        which = "selected" if self.selected() else "shown"
        plural = "s" if rows != 1 else ""
        entries.append(Entry(f"Copy {rows:,} {which} row{plural}\tCtrl+C", self.copy))
        if self.chosen:
            entries.append(Entry("Clear the selection\tEsc", self.clear_selection))
        return entries

    def selected(self) -> list[int]:
        """The selected rows."""
        runs = self.table.selectionModel().selection().toList()
        return [row for run in runs for row in range(run.top(), run.bottom() + 1)]

    def clear_selection(self) -> None:
        """Deselect all ops."""
        if self.chosen:
            self.pick(frozenset())
            self.picked.emit(frozenset[int]())

    def _group(self, place: int) -> None:
        if self.prediction is None:
            return
        self.what_ifs.forget()
        self.model.show(groups(self.prediction, _BYS[place]))
        shown = self.model.shown()
        for column in range(len(NAMES)):
            self.table.setColumnHidden(column, column not in shown)
        self._rearranged()
        self._widths()

    def _filter(self) -> None:
        regime = self.regime.checkedId()
        self.model.filter(self.search.text(), REGIMES[regime - 1] if regime > 0 else None)
        self._rearranged()

    def _rearranged(self) -> None:
        """Update the summary and the marked rows after a change of order or filter."""
        groups = self.model.groups
        if groups is None:
            return
        order = self.model.order
        share = percent(float(groups.share[order].sum())) if order.size else "0%"
        self.status.setText(f"{order.size:,} of {len(groups):,}, {share}")
        self.status.setToolTip(f"The rows shown take {share} of the GPU's busy time")
        self._mark()

    def _mark(self) -> None:
        if self.model.groups is not None:
            self.marked = self.model.groups.with_ops(self.chosen)
        self.table.viewport().update()

    def _selected(self, added: QItemSelection, removed: QItemSelection) -> None:
        """Select the ops of the rows that the user selected."""
        groups = self.model.groups
        if groups is None:
            return
        rows = self.selected()
        ops = groups.ops_of(self.model.order[rows].tolist() if rows else [])
        if ops != self.chosen:
            self.chosen = ops
            self._mark()
            self.picked.emit(ops)

    def _widths(self) -> None:
        """Make columns as wide as their longest figures; text columns share the rest."""
        model, keys = self.model, KEYS[self.model.groups.by] if self.model.groups else ()
        sample = model.order[:200].tolist()
        wide: dict[int, int] = {}
        for n in model.shown():
            mono = NAMES[n] in ("Op", "Module")
            words = {model.text(g, n) for g in sample}
            longest = max((width(w, LABEL_PX, 500, mono) for w in words), default=0.0)
            head = width(NAMES[n], LABEL_PX, 500) + 14
            extra = {"Share": 66, "Regime": 16}.get(NAMES[n], 0)
            wide[n] = ceil(max(head, longest + extra)) + 22
        spare = self.table.viewport().width() - sum(wide.values())
        names = [n for n in wide if NAMES[n] in keys and NAMES[n] in _LEAST]
        for n in names:  # longer text is elided, and complete in the tooltip
            own = wide[n] + spare // len(names)
            wide[n] = max(own, min(wide[n], _LEAST[NAMES[n]]))
        for n, pixels in wide.items():
            self.table.setColumnWidth(n, pixels)

    def resizeEvent(self, event: QResizeEvent) -> None:
        beside = sum(strip.minimumSizeHint().width() for strip in self.strips) <= self.width()
        way = QBoxLayout.Direction
        self.controls.setDirection(way.LeftToRight if beside else way.TopToBottom)
        super().resizeEvent(event)
        self._widths()
