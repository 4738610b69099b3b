"""The data of a chart as a table: readable by screen readers, copied or written as CSV."""

from __future__ import annotations

import re
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence, QShowEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
)

from app.outputs import whole
from app.report.exports import csv_text
from app.widgets.view import View
from simulator.errors import InputError

_WIDEST_PX, _AIR_PX, _NO_LIMIT = 320, 16, 2**20
_NEGATIVE = re.compile(r"-\d+(\.\d+)?(e[+-]\d+)?")


class TableDialog(QDialog):
    """The rows of a view. Ctrl+C copies the selected ones, or all, with cells separated by tabs."""

    def __init__(self, view: View) -> None:
        super().__init__(view.window())
        self.setWindowTitle(f"{view.title} as table")
        self.setAccessibleName(self.windowTitle())
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        heads, *rows = view.rows() or [["No data yet"]]
        self.table = QTableWidget(len(rows), len(heads))
        self.table.setAccessibleName(self.windowTitle())
        self.table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.table.setTabKeyNavigation(False)
        self.table.setStyleSheet("QTableView::item { padding: 0 8px; }")  # like headers
        self.table.setCornerButtonEnabled(False)
        self.table.verticalHeader().hide()
        alignments = [_alignment([row[column] for row in rows]) for column in range(len(heads))]
        for at, row in enumerate(rows):
            for column, words in enumerate(row):
                item = QTableWidgetItem(words)
                item.setToolTip(words)
                item.setTextAlignment(alignments[column] | Qt.AlignmentFlag.AlignVCenter)
                self.table.setItem(at, column, item)
        for column, alignment in enumerate(alignments):
            head = QTableWidgetItem(heads[column])
            head.setTextAlignment(alignment)
            self.table.setHorizontalHeaderItem(column, head)
        self.table.horizontalHeader().setMaximumSectionSize(_WIDEST_PX)
        column = QVBoxLayout(self)
        column.addWidget(self.table)
        self.resize(900, 520)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.table.resizeColumnsToContents()  # the fonts of the style sheet now apply
        for column in range(self.table.columnCount()):
            wide = self.table.columnWidth(column) + _AIR_PX
            self.table.setColumnWidth(column, min(wide, _WIDEST_PX))
        self.table.horizontalHeader().setMaximumSectionSize(_NO_LIMIT)
        self.table.horizontalHeader().setStretchLastSection(True)  # the last column may hold notes

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            QGuiApplication.clipboard().setText(self.selected_text())
        else:
            super().keyPressEvent(event)

    def selected_text(self) -> str:
        """The selected rows, or all, as text."""
        table = self.table
        selected = sorted({index.row() for index in table.selectedIndexes()})
        lines: list[str] = []
        for row in selected or range(table.rowCount()):
            cells = [table.item(row, column) for column in range(table.columnCount())]
            lines.append("\t".join(cell.text() if cell else "" for cell in cells))
        return "\n".join(lines)


def _alignment(cells: list[str]) -> Qt.AlignmentFlag:
    """The alignment of a column: right if most of its cells begin with a digit, else left."""
    texts = [cell for cell in cells if cell]
    figures = sum(text.lstrip("+−<").strip()[:1].isdigit() for text in texts)
    right = bool(texts) and 2 * figures > len(texts)
    return Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft


def write_csv(view: View, path: Path) -> None:
    """Write the data of a view as CSV. Raises InputError if there are no rows, or if writing
    fails."""
    rows = view.plain_rows()
    if not rows:
        raise InputError(f"{view.title} shows no data yet; try again once it does")
    heads, *body = rows
    values = (map(_value, heads, row) for row in body)
    text = csv_text(heads, (dict(zip(heads, row, strict=True)) for row in values))
    try:
        whole(path, lambda part: part.write_text(text, "utf-8", newline=""))
    except OSError as error:
        raise InputError(
            f"cannot write {path}: {error.strerror}: expected a writable folder; choose another"
        ) from error


def _value(head: str, cell: str) -> str | float:
    """A negative number of a column with a unit, so that the CSV does not mark it as a text; any
    other cell unchanged."""
    negative = head.endswith(")") and _NEGATIVE.fullmatch(cell)
    return float(cell) if negative else cell
