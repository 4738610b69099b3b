"""The model of the op table: columns, order, filters, and rows as text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt

from app.formulas.columns import COLUMN_FORMULAS
from app.formulas.formula import Formula
from app.quantities import data, percent, scaled, seconds
from app.scenes.op_table import KEYS, Floats, Ints, OpGroups
from simulator.prediction import REGIMES, Regime

Index = QModelIndex | QPersistentModelIndex
_TOP = QModelIndex()
"""The invalid index, which stands for the table itself."""


@dataclass(frozen=True)
class Column:
    """A column's name, the unit of its plain values, the values to sort by, and a value's text.
    Text columns have no `values`."""

    name: str
    unit: str = ""
    values: Callable[[OpGroups], Floats | Ints] | None = None
    text: Callable[[float], str] = str
    about: str = ""


def _rate(amount: Floats, total_s: Floats) -> Floats:
    return np.divide(amount, total_s, out=np.zeros_like(amount), where=total_s > 0)


def _unless_none(text: Callable[[float], str]) -> Callable[[float], str]:
    return lambda value: text(value) if value else "–"


COLUMNS: tuple[Column, ...] = (
    Column("Op", about="Operator in the trace"),
    Column("Module", about="Module that called it; * stands for list indices"),
    Column("Shape", about="m×n×k of a matrix product, else the output shape"),
    Column("Dtype", about="Data type of the computation"),
    Column("Calls", "", lambda g: g.calls, lambda v: f"{v:,.0f}", "Launches per step"),
    Column("Time", "s", lambda g: g.total_s, seconds, "GPU time of all launches in a step"),
    Column("Each", "s", lambda g: _rate(g.total_s, g.calls.astype(np.float64)), seconds,
           "Average GPU time per launch"),
    Column("Share", "", lambda g: g.share, percent, "Share of the GPU's busy time"),
    Column("FLOPs", "", lambda g: g.flops, _unless_none(lambda v: scaled(v, "FLOP")),
           "FLOPs per step"),
    Column("Bytes", "", lambda g: g.bytes, _unless_none(data), "Bytes read and written per step"),
    Column("FLOP/s", "", lambda g: _rate(g.flops, g.total_s),
           _unless_none(lambda v: scaled(v, "FLOP/s")), "Achieved FLOP/s"),
    Column("Byte/s", "", lambda g: _rate(g.bytes, g.total_s),
           _unless_none(lambda v: scaled(v, "B/s")), "Achieved bytes/s"),
    Column("Regime", about="Regime with the largest share of its time"),
    Column("Source", about="Source of the times"),
)  # fmt: skip
NAMES = tuple(column.name for column in COLUMNS)
SHARE, REGIME = NAMES.index("Share"), NAMES.index("Regime")


class OpModel(QAbstractTableModel):
    """`order` holds the shown groups from the top. `Qt.UserRole` returns the group of a cell."""

    def __init__(self) -> None:
        super().__init__()
        self.groups: OpGroups | None = None
        self.order: Ints = np.zeros(0, np.int64)
        self.column, self.falling = NAMES.index("Time"), True
        self.words = ""
        self.regime: Regime | None = None
        self._values: dict[int, Floats | Ints] = {}

    def show(self, groups: OpGroups) -> None:
        """Show groups with the current order and filters."""
        self.groups = groups
        self._values.clear()
        self._arrange()

    def filter(self, words: str, regime: Regime | None) -> None:
        """Show only groups whose names contain every word, and of this regime."""
        self.words, self.regime = words.lower(), regime
        self._arrange()

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        self.column, self.falling = column, order == Qt.SortOrder.DescendingOrder
        self._arrange()

    def _arrange(self) -> None:
        self.beginResetModel()
        if self.groups is not None:
            matching = np.flatnonzero(self._matching(self.groups))
            keys = self._keys(self.groups, self.column)[matching].astype(np.float64)
            self.order = matching[np.argsort(-keys if self.falling else keys, kind="stable")]
        self.endResetModel()

    def _matching(self, g: OpGroups) -> NDArray[np.bool_]:
        matching = np.ones(len(g), np.bool_)
        for part in self.words.split():
            matching &= np.logical_or.reduce([column.holding(part) for column in g.words.values()])
        if self.regime is not None:
            matching &= g.regime == REGIMES.index(self.regime)
        return matching

    def _keys(self, g: OpGroups, column: int) -> Floats | Ints:
        definition = COLUMNS[column]
        if definition.values is not None:
            return self.values(column)
        if definition.name in g.words:
            return g.words[definition.name].rank
        return g.regime if column == REGIME else np.zeros(len(g), np.int64)

    def text(self, group: int, column: int) -> str:
        """The text of a cell."""
        g, definition = self.groups, COLUMNS[column]
        if g is None:
            return ""
        if definition.values is not None:
            return definition.text(float(self.values(column)[group]))
        if definition.name in g.words:
            words = g.words[definition.name]
            return words.distinct[int(words.each[group])]
        return g.regime_of(group) if column == REGIME else g.tier

    def values(self, column: int) -> Floats | Ints:
        """The numbers of a column, one per group."""
        if column not in self._values:
            read = COLUMNS[column].values
            assert read is not None and self.groups is not None
            self._values[column] = read(self.groups)
        return self._values[column]

    def shown(self) -> list[int]:
        """The columns that apply to these groups."""
        keys = KEYS[self.groups.by] if self.groups is not None else ()
        return [n for n, c in enumerate(COLUMNS) if n >= 4 or c.name in keys]

    def table(self, rows: Sequence[int] | None = None, plain: bool = False) -> list[list[str]]:
        """Return rows (all by default) as text, below their headers. If `plain`, numbers are in SI
        units, with the unit in the header, for spreadsheets."""
        columns = self.shown()
        heads = [
            f"{COLUMNS[n].name} ({COLUMNS[n].unit})" if plain and COLUMNS[n].unit else NAMES[n]
            for n in columns
        ]
        values = {n: self.values(n) for n in columns if COLUMNS[n].values is not None}

        def cell(group: int, n: int) -> str:
            if n not in values:
                return self.text(group, n)
            value = values[n][group]
            return (
                f"{value:.6g}"
                if plain and values[n].dtype.kind == "f"
                else (str(value) if plain else COLUMNS[n].text(float(value)))
            )

        selected = self.order if rows is None else self.order[list(rows)]
        return [heads, *([cell(g, n) for n in columns] for g in selected.tolist())]

    # QAbstractTableModel

    def rowCount(self, parent: Index = _TOP) -> int:
        return 0 if parent.isValid() else int(self.order.size)

    def columnCount(self, parent: Index = _TOP) -> int:
        return 0 if parent.isValid() else len(COLUMNS)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        group, column = int(self.order[index.row()]), index.column()
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return self.text(group, column)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return int(self.side(column) | Qt.AlignmentFlag.AlignVCenter)
        if role == Qt.ItemDataRole.UserRole:
            return group
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.ToolTipRole:
            formula = self.formula(section)
            return formula.text if formula else COLUMNS[section].about
        return NAMES[section] if role == Qt.ItemDataRole.DisplayRole else None

    def formula(self, column: int, row: int = 0) -> Formula | None:
        """The formula of a column with the numbers of a row, or None."""
        formula_of = COLUMN_FORMULAS.get(NAMES[column])
        if formula_of is None or self.groups is None or not 0 <= row < self.order.size:
            return None
        return formula_of(self.groups, int(self.order[row]))

    @staticmethod
    def side(column: int) -> Qt.AlignmentFlag:
        """The alignment of a column: right for numbers, left for text."""
        number = COLUMNS[column].values is not None
        return Qt.AlignmentFlag.AlignRight if number else Qt.AlignmentFlag.AlignLeft
