"""The what-ifs of a step, each with a button that applies it."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLabel, QPushButton, QVBoxLayout, QWidget

from app.answers.cluster.page import Clustered
from app.answers.cluster.scaling import WhatIf
from app.answers.cluster.words import what_if_words
from app.quantities import change, data, seconds
from app.views.cluster.text_row import TextRow
from app.widgets.columns import discard


class WhatIfRows(QWidget):
    """The what-ifs that change the time of a step or need less memory, the largest saving of time
    first."""

    applied = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("look", "plain")
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(0, 4, 0, 0)
        self.column.setSpacing(4)
        self.head = QLabel("What-ifs of the whole step")
        self.head.setProperty("tone", "title")
        self.column.addWidget(self.head)
        self.rows: list[QWidget] = []
        self.buttons: list[QPushButton] = []
        self._shown: tuple[WhatIf, ...] = ()
        self.hide()

    def put(self, clustered: Clustered) -> None:
        """Show the predicted what-ifs; what-ifs of an earlier step cannot be applied."""
        answer, what_ifs = clustered.answer, clustered.what_ifs or ()
        if answer is not None and what_ifs != self._shown:
            self._shown = what_ifs
            for row in self.rows:
                discard(row)
            self.rows, self.buttons = [], []
            needed_bytes = max(rank.needed_bytes for rank in answer.ranks)
            for each in what_ifs:
                if _matters(each, answer.period_s, needed_bytes):
                    self._add(each, answer.period_s)
        self.setVisible(bool(self.rows))
        for button in self.buttons:
            button.setEnabled(not clustered.stale)

    def _add(self, each: WhatIf, before_s: float) -> None:
        assert each.period_s is not None
        name = what_if_words(each.text)
        button = QPushButton("Apply")
        button.setAccessibleName(f"Apply: {name}")
        button.setToolTip(f"+{each.text}")
        button.clicked.connect(lambda: self.applied.emit(each.text))
        effect = change(before_s, each.period_s)
        figures = f"{effect}, to {seconds(each.period_s)}, {data(each.needed_bytes)}"
        row = TextRow(name, figures, button)
        self.column.addWidget(row)
        self.rows.append(row)
        self.buttons.append(button)


def _matters(each: WhatIf, period_s: float, needed_bytes: int) -> bool:
    """Whether a what-if applies, and changes the time by more than "0%" or needs less memory."""
    if each.period_s is None:
        return False
    return change(period_s, each.period_s) != "0%" or each.needed_bytes < needed_bytes
