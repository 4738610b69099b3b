"""The form of a GPU: its names, its figures, and its peaks compared with units × clock × FLOPs."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from app.explorer.gpu_editor.field import Field
from app.explorer.gpu_editor.sheet import Kind, Sheet, check_words, key_of, label, names
from app.theme import Theme
from simulator.hardware.derived_peak import DerivedPeak
from simulator.hardware.gpu import Engine
from simulator.hardware.gpu_keys import dtypes

_ENGINES: tuple[tuple[Engine, str], ...] = (("tensor", "Tensor cores"), ("vector", "Vector units"))
_CHECK_PX, _SOURCE_PX = 286, 352


class Form(QWidget):
    """Two scrolling columns, or one if there is little room, and the source of the figure that has
    the focus."""

    changed = Signal()

    def __init__(self, theme: Theme, sheet: Sheet) -> None:
        super().__init__()
        self.theme, self.sheet = theme, sheet
        self.fields: dict[str, Field] = {}
        self.checks: dict[tuple[Engine, str], QLabel] = {}
        self.at = "memory_gib"
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(10)
        column.addWidget(self._columns(), 1)
        column.addWidget(self._source_line())
        self.show_all()

    def show_all(self) -> None:
        """Update all fields from the sheet, with their errors."""
        for name, field in self.fields.items():
            field.put(self.sheet.entries[name], self.sheet.wrong(name))
        for (engine, dtype), check in self.checks.items():
            self._check(check, engine, dtype)
        self._show_source()

    def peaks(self) -> list[DerivedPeak]:
        """The peaks that can be checked against units × clock × FLOPs."""
        peaks = (self.sheet.peak(engine, dtype) for engine, dtype in self.checks)
        return [peak for peak in peaks if peak is not None]

    def _columns(self) -> QWidget:
        area = self.area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        inside = QWidget()
        row = self.columns = QBoxLayout(QBoxLayout.Direction.LeftToRight, inside)
        row.setContentsMargins(0, 0, 10, 0)
        row.setSpacing(28)
        left, right = self.sides = QVBoxLayout(), QVBoxLayout()
        for side in (left, right):
            side.setSpacing(6)
            row.addLayout(side)
        row.addStretch(1)
        plain = [name for name in names() if "." not in name]
        for title, figure in (("Names", False), ("Figures", True)):
            left.addWidget(_title(title))
            left.addLayout(self._list([n for n in plain if (key_of(n).low is not None) == figure]))
            left.addSpacing(10)
        left.addStretch(1)
        for engine, title in _ENGINES:
            right.addWidget(_title(title))
            right.addLayout(self._peaks(engine))
            right.addSpacing(10)
        right.addStretch(1)
        area.setWidget(inside)
        return area

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Put the peaks below the figures where they do not fit beside them."""
        super().resizeEvent(event)
        edges = self.columns.contentsMargins()
        bar = self.area.verticalScrollBar().sizeHint().width()
        needed = sum(side.sizeHint().width() for side in self.sides) + self.columns.spacing()
        fits = needed + edges.left() + edges.right() + bar <= self.width()
        way = QBoxLayout.Direction
        self.columns.setDirection(way.LeftToRight if fits else way.TopToBottom)

    def _list(self, entries: list[str]) -> QGridLayout:
        grid = QGridLayout()
        grid.setVerticalSpacing(4)
        grid.setHorizontalSpacing(8)
        grid.setColumnMinimumWidth(0, 132)
        for at, name in enumerate(entries):
            key = key_of(name)
            words = QLabel(label(name))
            words.setProperty("tone", "support")
            words.setBuddy(self._field(name).box)
            grid.addWidget(words, at, 0)
            grid.addWidget(self.fields[name], at, 1)
            unit = QLabel(key.unit)
            unit.setProperty("tone", "quiet")
            grid.addWidget(unit, at, 2)
        return grid

    def _peaks(self, engine: Engine) -> QGridLayout:
        grid = QGridLayout()
        grid.setVerticalSpacing(4)
        grid.setHorizontalSpacing(8)
        heads = ("", "Peak, dense TFLOP/s", "FLOPs per clock and unit", "Units × clock × FLOPs")
        for at, words in enumerate(heads):
            head = QLabel(words)
            head.setProperty("tone", "label")
            grid.addWidget(head, 0, at)
        for at, dtype in enumerate(dtypes(), 1):
            grid.addWidget(QLabel(dtype), at, 0)
            for place, part in enumerate(("tflops", "flops_per_clock_per_unit"), 1):
                grid.addWidget(self._field(f"{engine}_{part}.{dtype}"), at, place)
            check = QLabel()
            check.setFixedWidth(_CHECK_PX)
            self.checks[engine, dtype] = check
            grid.addWidget(check, at, 3)
        return grid

    def _field(self, name: str) -> Field:
        field = self.fields[name] = Field(self.theme, name)
        field.typed.connect(partial(self._type, name))
        field.kind_chosen.connect(partial(self._set_kind, name))
        field.entered.connect(lambda: self._enter(name))
        return field

    def _source_line(self) -> QWidget:
        frame = QFrame()
        frame.setProperty("look", "card")
        row = QHBoxLayout(frame)
        row.setContentsMargins(12, 6, 12, 6)
        row.setSpacing(10)
        self.source_of = QLabel()
        self.source_of.setFixedWidth(_SOURCE_PX)
        self.source_of.setProperty("tone", "support")
        self.source = QLineEdit()
        self.source.setAccessibleName("Source of the figure")
        self.source.textEdited.connect(self._set_source)
        row.addWidget(self.source_of)
        row.addWidget(self.source, 1)
        return frame

    # reactions to the user

    def _type(self, name: str, text: str) -> None:
        self.sheet.type(name, text)
        self._update()

    def _set_kind(self, name: str, kind: Kind) -> None:
        entry = self.sheet.entries[name]
        self.sheet.set_source(name, kind, "" if kind == "assumed" else entry.source)
        self.at = name
        self._update()

    def _set_source(self, text: str) -> None:
        self.sheet.set_source(self.at, self.sheet.entries[self.at].kind, text)
        self._update()

    def _enter(self, name: str) -> None:
        self.at = name
        self._show_source()

    def _update(self) -> None:
        self.show_all()
        self.changed.emit()

    def _show_source(self) -> None:
        entry, figure = self.sheet.entries[self.at], key_of(self.at).low is not None
        has_source = figure and bool(entry.text) and entry.kind != "assumed"
        self.source_of.setText(
            f"Source of {label(self.at)}"
            if has_source
            else f"{label(self.at)}: assumed, no source"
            if figure and entry.text
            else f"{label(self.at)}: empty"
            if figure
            else f"{label(self.at)} needs no source"
        )
        self.source.setEnabled(has_source)
        self.source.setPlaceholderText(
            ""
            if not has_source
            else "Method of the measurement"
            if entry.kind == "measured"
            else "Name or link of the data sheet"
        )
        if self.source.text().strip() != entry.source:
            self.source.setText(entry.source)
            self.source.setCursorPosition(0)

    def _check(self, check: QLabel, engine: Engine, dtype: str) -> None:
        """Show the product of the parts, and an error if it differs from the stated peak."""
        peak = self.sheet.peak(engine, dtype)
        if peak is None:
            parts = [f"{engine}_tflops.{dtype}", f"{engine}_flops_per_clock_per_unit.{dtype}"]
            partial = any(self.sheet.entries[part].text for part in parts)
            tone, words, tip = "quiet", "not checked: a figure is missing" if partial else "", ""
        elif peak.agrees:
            tone, words, tip = (
                "support",
                f"✓ {check_words(peak)}",
                "Equals the stated peak within 2%",
            )
        else:
            way = "above" if peak.off > 0 else "below"
            tone, words = "danger", f"✗ stated peak is {abs(peak.off):.0%} {way} the product"
            tip = f"{check_words(peak)}; expected a stated peak within 2% of it"
        check.setText(words)
        check.setToolTip(tip)
        if check.property("tone") != tone:
            check.setProperty("tone", tone)
            check.style().unpolish(check)
            check.style().polish(check)


def _title(words: str) -> QLabel:
    title = QLabel(words)
    title.setProperty("tone", "title")
    return title
