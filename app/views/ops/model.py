"""The table of ops as a model: columns, order, filters, and the rows as text."""

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
"""Of no row: what the table itself is asked with."""


@dataclass(frozen=True)
class Column:
    """A column: its name, the unit of its plain values, values to sort by, text of a value. Columns
    of words have no `values`."""

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
    Column("Op", about="Operator of the trace"),
    Column("Module", about="Module that called it; numbers of lists as stars"),
    Column("Shape", about="m×n×k of a product, else the output"),
    Column("Dtype", about="Type that it computes in"),
    Column("Calls", "", lambda g: g.calls, lambda v: f"{v:,.0f}", "Launches in a step"),
    Column("Time", "s", lambda g: g.total_s, seconds, "GPU time of all its launches in a step"),
    Column("Each", "s", lambda g: _rate(g.total_s, g.calls.astype(np.float64)), seconds,
           "GPU time of one launch, on average"),
    Column("Share", "", lambda g: g.share, percent, "Of the time in which a kernel runs"),
    Column("FLOPs", "", lambda g: g.flops, _unless_none(lambda v: scaled(v, "FLOP")),
           "Arithmetic in a step"),
    Column("Bytes", "", lambda g: g.bytes, _unless_none(data), "Read and written in a step"),
    Column("FLOP/s", "", lambda g: _rate(g.flops, g.total_s),
           _unless_none(lambda v: scaled(v, "FLOP/s")), "Achieved: FLOPs over time"),
    Column("Byte/s", "", lambda g: _rate(g.bytes, g.total_s),
           _unless_none(lambda v: scaled(v, "B/s")), "Achieved: bytes over time"),
    Column("Regime", about="What takes most of its own time"),
    Column("Source", about="Where the times come from"),
)  # fmt: skip
NAMES = tuple(column.name for column in COLUMNS)
SHARE, REGIME = NAMES.index("Share"), NAMES.index("Regime")


class OpModel(QAbstractTableModel):
    """`order` are the groups shown, from the top; a cell's own value is in `Qt.UserRole`."""

    def __init__(self) -> None:
        super().__init__()
        self.groups: OpGroups | None = None
        self.order: Ints = np.zeros(0, np.int64)
        self.column, self.falling = NAMES.index("Time"), True
        self.words = ""
        self.regime: Regime | None = None
        self._values: dict[int, Floats | Ints] = {}

    def show(self, groups: OpGroups) -> None:
        """These groups, in the order and with the filters of before."""
        self.groups = groups
        self._values.clear()
        self._arrange()

    def filter(self, words: str, regime: Regime | None) -> None:
        """Only groups whose names hold every word, and of this regime."""
        self.words, self.regime = words.lower(), regime
        self._arrange()

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        self.column, self.falling = column, order == Qt.SortOrder.DescendingOrder
        self._arrange()

    def _arrange(self) -> None:
        self.beginResetModel()
        if self.groups is not None:
            kept = np.flatnonzero(self._kept(self.groups))
            keys = self._keys(self.groups, self.column)[kept].astype(np.float64)
            self.order = kept[np.argsort(-keys if self.falling else keys, kind="stable")]
        self.endResetModel()

    def _kept(self, g: OpGroups) -> NDArray[np.bool_]:
        kept = np.ones(len(g), np.bool_)
        for part in self.words.split():
            kept &= np.logical_or.reduce([column.holding(part) for column in g.words.values()])
        if self.regime is not None:
            kept &= g.regime == REGIMES.index(self.regime)
        return kept

    def _keys(self, g: OpGroups, column: int) -> Floats | Ints:
        chosen = COLUMNS[column]
        if chosen.values is not None:
            return self.values(column)
        if chosen.name in g.words:
            return g.words[chosen.name].rank
        return g.regime if column == REGIME else np.zeros(len(g), np.int64)

    def text(self, group: int, column: int) -> str:
        """A cell as people read it."""
        g, chosen = self.groups, COLUMNS[column]
        if g is None:
            return ""
        if chosen.values is not None:
            return chosen.text(float(self.values(column)[group]))
        if chosen.name in g.words:
            words = g.words[chosen.name]
            return words.distinct[int(words.each[group])]
        return g.regime_of(group) if column == REGIME else g.tier

    def values(self, column: int) -> Floats | Ints:
        """The numbers of a column, group by group."""
        if column not in self._values:
            read = COLUMNS[column].values
            assert read is not None and self.groups is not None
            self._values[column] = read(self.groups)
        return self._values[column]

    def shown(self) -> list[int]:
        """The columns that these groups have."""
        keys = KEYS[self.groups.by] if self.groups is not None else ()
        return [n for n, c in enumerate(COLUMNS) if n >= 4 or c.name in keys]

    def table(self, rows: Sequence[int] | None = None, plain: bool = False) -> list[list[str]]:
        """Rows (all by default) as text, heads first; `plain` numbers are in SI units, with
        their unit in the head, for a spreadsheet."""
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

        chosen = self.order if rows is None else self.order[list(rows)]
        return [heads, *([cell(g, n) for n in columns] for g in chosen.tolist())]

    # what Qt asks

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
        """How a column comes about, with the numbers of a row that is shown."""
        found = COLUMN_FORMULAS.get(NAMES[column])
        if found is None or self.groups is None or not 0 <= row < self.order.size:
            return None
        return found(self.groups, int(self.order[row]))

    @staticmethod
    def side(column: int) -> Qt.AlignmentFlag:
        """Figures stand at the right."""
        number = COLUMNS[column].values is not None
        return Qt.AlignmentFlag.AlignRight if number else Qt.AlignmentFlag.AlignLeft
