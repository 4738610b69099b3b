"""The answer of a plan: two sentences, the ranked candidates, and the assumptions."""

from __future__ import annotations

import re
from typing import ClassVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.answers.plan.planned import Planned, candidate_of
from app.answers.plan.words import empty_words, is_preliminary
from app.scenes.plan.table import texts
from app.scenes.plan.tornado import tornado_rows
from app.theme import Theme
from app.views.plan.plan_view import PlanView
from app.views.plan.table import ROW_PX, CandidateTable
from app.views.plan.tornado import TornadoCanvas
from app.widgets.canvas import Canvas
from app.widgets.context_menu import Entry, make_selectable
from app.widgets.elided_label import Elided
from app.widgets.vertical_scroll_area import VerticalScrollArea
from simulator.planning.result import Row

_BEST = re.compile(r"; best so far .*?(?=, about |$)")
"""The part of a progress text that is omitted if there is little room."""
_DONE = re.compile(r"(\d[\d,]*) of (\d[\d,]*)")


class PlanVerdict(PlanView):
    """The chosen candidate, and the alternatives to it."""

    title: ClassVar[str] = "Verdict"

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.words = QLabel("Planning …")
        self.words.setWordWrap(True)
        self.words.setProperty("tone", "verdict")
        make_selectable(self.words)
        self.error = QLabel()
        self.error.setWordWrap(True)
        self.error.setProperty("tone", "danger")
        self.error.hide()
        self.step = Elided()
        self.step.setProperty("tone", "quiet")
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName("Progress of the plan")
        self.stop = QPushButton("Cancel")
        self.stop.setAccessibleName("Cancel the plan")
        self.stop.setToolTip("Stop planning and keep the candidates so far (Esc)")
        self.stop.clicked.connect(self.cancelled)
        self.retry = QPushButton("Plan again")
        self.retry.setAccessibleName("Plan again")
        self.retry.clicked.connect(self.retried)
        self.retry.hide()
        self.table = CandidateTable(theme)
        self.table.pressed_on.connect(self._choose)
        self.area = VerticalScrollArea(self.table)
        self.rests = QLabel("Sensitivity to the assumptions")
        self.rests.setProperty("tone", "title")
        self.varied = Elided()
        self.varied.setProperty("tone", "quiet")
        self.tornado = TornadoCanvas(theme)
        self.open = QPushButton("Open in Explore")
        self.open.setAccessibleName("Open the chosen candidate in Explore")
        self.open.setProperty("look", "primary")
        self.open.clicked.connect(self.opened)
        self.open.setEnabled(False)
        self.report = QPushButton("Report …")
        self.report.setAccessibleName("Write the plan as an HTML page")
        self.report.clicked.connect(self.reported)
        self.report.setEnabled(False)
        self._place()

    def _choose(self, row: Row | None) -> None:
        if row is not None:
            self.chose.emit(candidate_of(row))

    def _place(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 6, 6, 6)
        column.setSpacing(8)
        progress = QHBoxLayout()
        progress.addWidget(self.step, 1)
        progress.addWidget(self.stop)
        wrong = QHBoxLayout()
        wrong.addWidget(self.error, 1)
        wrong.addWidget(self.retry, 0, Qt.AlignmentFlag.AlignTop)
        self.buttons = QHBoxLayout()
        self.buttons.addWidget(self.open)
        self.buttons.addWidget(self.report)
        self.buttons.addStretch(1)
        column.addWidget(self.words)
        column.addLayout(wrong)
        column.addWidget(self.bar)
        column.addLayout(progress)
        column.addWidget(self.area, 1)
        head = QHBoxLayout()
        head.addWidget(self.rests)
        head.addWidget(self.varied, 1)
        column.addLayout(head)
        column.addWidget(self.tornado)
        column.addLayout(self.buttons)

    def update_plan(self, planned: Planned) -> None:
        if planned.plan is not None:
            self.words.setText(planned.plan.verdict)
        elif not planned.stale:
            self.words.setText(empty_words(planned))
        self.words.setEnabled(planned.plan is not None and not planned.stale)
        self.error.setText(planned.error)
        self.error.setVisible(bool(planned.error))
        self.retry.setVisible(bool(planned.error))
        busy = bool(planned.progress)
        self.step.say(planned.progress, _BEST.sub("", planned.progress))
        for widget in (self.step, self.bar, self.stop):
            widget.setVisible(busy)
        done = _DONE.search(planned.progress)
        self.bar.setRange(0, int(done[2].replace(",", "")) if done else 0)
        if done:
            self.bar.setValue(int(done[1].replace(",", "")))
        self.tornado.put(planned)
        scene = self.tornado.scene
        for widget in (self.rests, self.varied, self.tornado):
            widget.setVisible(scene is not None)
        if scene is not None:
            self.varied.say(f"of {scene.candidate}", f"of {scene.candidate.partition(',')[0]}")
        before = self.table.planned.chosen if self.table.planned else None
        self.table.put(planned)
        self.open.setText(f"Open in {planned.page}")
        self.open.setAccessibleName(f"Open the chosen candidate in {planned.page}")
        self.open.setEnabled(planned.row is not None and not planned.stale)
        self.report.setEnabled(planned.plan is not None and not planned.stale)
        if planned.row is not None and planned.chosen != before:
            top = int(self.table.row_top(planned.row))
            self.area.ensureVisible(0, top + int(ROW_PX / 2), 0, int(ROW_PX))

    def restyle(self, theme: Theme) -> None:
        super().restyle(theme)
        self.table.restyle(theme)
        self.tornado.restyle(theme)

    def entries(self, canvas: Canvas | None) -> list[Entry]:
        row = None
        if canvas is self.table:  # by key, the chosen row has the cursor
            row = self.table.over or (self.planned.row if self.planned else None)
        own = [] if row is None else self.candidate_entries(row)
        return [*own, *super().entries(canvas)]

    def subtitle(self) -> str:
        planned = self.planned
        if planned is None or not planned.rows:
            return ""
        count = len(planned.rows)
        if any(is_preliminary(row, planned.complete) for row in planned.rows):
            if count == 1:
                return "1 candidate so far"
            return f"{count:,} candidates so far, in a preliminary order"
        if count == 1:
            return "1 candidate"
        return f"{count:,} candidates, the cheapest that fits is first"

    def rows(self) -> list[list[str]]:
        planned = self.planned
        if planned is None or planned.spec is None:
            return []
        rows = texts(planned.spec, planned.rows, planned.complete)
        scene = self.tornado.scene
        if scene is None or not rows:
            return rows
        wide = len(rows[0])
        return rows + [row + [""] * (wide - len(row)) for row in tornado_rows(scene)]
