"""The factory: the essay's picture of a step, alive, with the figures of this prediction."""

from __future__ import annotations

from typing import Any, ClassVar

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.answers.answer import subject_of
from app.answers.side import Question, Side
from app.formulas.factory import building
from app.formulas.formula import Formula
from app.quantities import percent, seconds
from app.scenes.factory import factory
from app.theme import Theme
from app.views.factory.floor import FactoryFloor, cards
from app.views.factory.help import HelpPanel, helps
from app.views.factory.lanes import FactoryLanes, lanes_of
from app.views.lessons.pieces import Rule
from app.widgets.elided_label import Elided
from app.widgets.view import View


class Factory(View):
    """Managers (overhead), trucks (bandwidth), machines (compute) of the current side. Space plays
    and pauses, W shows the step as a whole."""

    title: ClassVar[str] = "The factory"
    workspace: ClassVar[str] = "Factory"

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.side: Side | None = None
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        column = QVBoxLayout()
        column.setSpacing(0)
        self.floor = FactoryFloor(theme)
        self.lanes = FactoryLanes(theme)
        self.floor.moved.connect(lambda: self.lanes.point_at(self.floor.at_s))
        self.rules = (Rule(theme), Rule(theme, upright=True))
        column.addWidget(self.floor, 72)
        column.addWidget(self.rules[0])
        column.addLayout(self._head())
        column.addWidget(self.lanes, 28)
        row.addLayout(column, 1)
        row.addWidget(self.rules[1])
        self.help = HelpPanel(theme)
        self.help.applied.connect(self.asked)
        row.addWidget(self.help)
        self.setFocusProxy(self.floor)
        self._name()

    def _head(self) -> QHBoxLayout:
        head = QHBoxLayout()
        head.setContentsMargins(16, 4, 14, 0)
        head.setSpacing(8)
        name = QLabel("One run, side by side")
        name.setProperty("tone", "title")
        self.said = Elided()
        self.said.setProperty("tone", "quiet")
        self.on = QPushButton()
        self.on.setToolTip("Space")
        self.on.setAccessibleName("Play or pause")
        self.on.clicked.connect(self.toggle)
        self.all = QPushButton("Whole step")
        self.all.setAccessibleName("Show the whole step")
        self.all.setToolTip("Stand still, and show the step on average (W)")
        self.all.clicked.connect(self._whole)
        head.addWidget(name)
        head.addWidget(self.said, 1)
        head.addWidget(self.on)
        head.addWidget(self.all)
        return head

    def draw(self, sides: tuple[Side, ...], current: int) -> None:
        side = self.side = sides[current]
        p = side.prediction
        found = factory(p)
        subject = subject_of(side.scenario, p)
        seq = f" × {subject.seq:,}" if subject.seq else ""
        self.floor.show_figures(found, f"{subject.name}, batch {subject.batch:,}{seq}")
        self.lanes.show_lanes(lanes_of(found), found.span_s)
        self.help.waits.show_figures(found)
        self.help.show_helps(())
        self.said.say("each lane is filled while it works")
        self.floor.setAccessibleDescription("; ".join(", ".join(r) for r in self.rows()[1:6]))
        self._name()

    def question(self, sides: tuple[Side, ...], current: int) -> Question | None:
        side = sides[current]
        return lambda cancelled: (
            side.scenario.key,
            helps(side.scenario, side.prediction, cancelled),
        )

    def answer(self, found: Any) -> None:
        if found and self.side is not None and found[0] == self.side.scenario.key:
            self.help.show_helps(found[1])

    def formula(self, at: QPoint) -> Formula | None:
        f = self.floor.figures
        return None if f is None else building(f, str(self.floor.over or ""))

    def subtitle(self) -> str:
        return (
            "managers hand out work, trucks move goods, machines make things: the slowest decides"
        )

    def rows(self) -> list[list[str]]:
        f = self.floor.figures
        if f is None:
            return []
        rows = [["What", "Figure", "Value"]]
        for name, lines in cards(f).items():
            rows += [[name, figure, value] for figure, value in lines]
        rows += [[w.who, f"wait for {w.what}", seconds(w.seconds)] for w in f.waits]
        shares = f.prediction.shares
        return rows + [["1% faster buys", name, percent(share)] for name, share in shares.items()]

    def restyle(self, theme: Theme) -> None:
        super().restyle(theme)
        for part in (self.floor, self.lanes, self.help):
            part.restyle(theme)
        for rule in self.rules:
            rule.theme = theme
            rule.update()

    def toggle(self) -> None:
        """Play, or pause."""
        self.floor.play(not self.floor.playing)
        self._name()

    def _whole(self) -> None:
        self.floor.whole()
        self._name()

    def _name(self) -> None:
        self.on.setText("Pause" if self.floor.playing else "Play")
        self.on.setEnabled(self.floor.allowed)
        if not self.floor.allowed:
            self.on.setText("Play")
            self.on.setToolTip("The system asks for less motion")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Space and self.on.isEnabled():
            self.toggle()
        elif event.key() == Qt.Key.Key_W:
            self._whole()
        else:
            super().keyPressEvent(event)
