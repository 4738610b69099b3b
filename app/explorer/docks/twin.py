"""The table behind a picture: for those who cannot see it, to be copied and written as CSV."""

from __future__ import annotations

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

_WIDEST_PX, _AIR_PX = 320, 16


class TableDialog(QDialog):
    """A view's rows. Ctrl+C copies the chosen ones, or all, with tabs between the cells."""

    def __init__(self, view: View) -> None:
        super().__init__(view.window())
        self.setWindowTitle(f"{view.title} as a table")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        heads, *rows = view.rows() or [["Nothing is drawn yet"]]
        self.table = QTableWidget(len(rows), len(heads))
        self.table.setAccessibleName(self.windowTitle())
        self.table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.table.setTabKeyNavigation(False)
        self.table.setStyleSheet("QTableView::item { padding: 0 8px; }")  # as the heads have
        self.table.setCornerButtonEnabled(False)
        self.table.verticalHeader().hide()
        sides = [_side([row[column] for row in rows]) for column in range(len(heads))]
        for at, row in enumerate(rows):
            for column, words in enumerate(row):
                item = QTableWidgetItem(words)
                item.setTextAlignment(sides[column] | Qt.AlignmentFlag.AlignVCenter)
                self.table.setItem(at, column, item)
        for column, side in enumerate(sides):
            head = QTableWidgetItem(heads[column])
            head.setTextAlignment(side)
            self.table.setHorizontalHeaderItem(column, head)
        self.table.horizontalHeader().setMaximumSectionSize(_WIDEST_PX)
        column = QVBoxLayout(self)
        column.addWidget(self.table)
        self.resize(900, 520)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.table.resizeColumnsToContents()  # the faces of the style are known now
        for column in range(self.table.columnCount()):
            wide = self.table.columnWidth(column) + _AIR_PX
            self.table.setColumnWidth(column, min(wide, _WIDEST_PX))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            QGuiApplication.clipboard().setText(self.copied())
        else:
            super().keyPressEvent(event)

    def copied(self) -> str:
        """The chosen rows, or all."""
        table = self.table
        chosen = sorted({index.row() for index in table.selectedIndexes()})
        lines: list[str] = []
        for row in chosen or range(table.rowCount()):
            cells = [table.item(row, column) for column in range(table.columnCount())]
            lines.append("\t".join(cell.text() if cell else "" for cell in cells))
        return "\n".join(lines)


def _side(words: list[str]) -> Qt.AlignmentFlag:
    """Figures stand at the right: a column of which most begin with a digit."""
    some = [each for each in words if each]
    figures = sum(each.lstrip("+−<").strip()[:1].isdigit() for each in some)
    right = bool(some) and 2 * figures > len(some)
    return Qt.AlignmentFlag.AlignRight if right else Qt.AlignmentFlag.AlignLeft


def write_csv(view: View, path: Path) -> None:
    """A view's rows as CSV. InputError where there are none, or they cannot be written."""
    rows = view.rows()
    if not rows:
        raise InputError(
            f"{view.title} shows nothing yet: expected a picture to write; wait for it"
        )
    heads, *body = rows
    text = csv_text(heads, (dict(zip(heads, row, strict=True)) for row in body))
    try:
        whole(path, lambda part: part.write_text(text, "utf-8", newline=""))
    except OSError as error:
        raise InputError(
            f"cannot write {path}: {error.strerror}: expected a folder that can be written; "
            "choose another place"
        ) from error
