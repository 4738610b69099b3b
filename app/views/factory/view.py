"""The factory: a step drawn as a factory at work, with the figures of the prediction."""

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
from app.views.factory.help import HelpPanel, improvements
from app.views.factory.lanes import FactoryLanes, lanes_of
from app.views.lessons.pieces import Rule
from app.widgets.elided_label import Elided
from app.widgets.view import View


class Factory(View):
    """Managers (overhead), trucks (bandwidth) and machines (compute) of the current side. Space
    plays and pauses, W shows the average over the step."""

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
        self.help.applied.connect(self.scenario_requested)
        row.addWidget(self.help)
        self.setFocusProxy(self.floor)
        self._update_button()

    def _head(self) -> QHBoxLayout:
        head = QHBoxLayout()
        head.setContentsMargins(16, 4, 14, 0)
        head.setSpacing(8)
        name = QLabel("One step, side by side")
        name.setProperty("tone", "title")
        self.hint = Elided()
        self.hint.setProperty("tone", "quiet")
        self.play_button = QPushButton()
        self.play_button.setToolTip("Space")
        self.play_button.setAccessibleName("Play or pause")
        self.play_button.clicked.connect(self.toggle)
        self.whole_button = QPushButton("Whole step")
        self.whole_button.setAccessibleName("Show the whole step")
        self.whole_button.setToolTip("Stop, and show the average over the step (W)")
        self.whole_button.clicked.connect(self._whole)
        head.addWidget(name)
        head.addWidget(self.hint, 1)
        head.addWidget(self.play_button)
        head.addWidget(self.whole_button)
        return head

    def draw(self, sides: tuple[Side, ...], current: int) -> None:
        side = self.side = sides[current]
        p = side.prediction
        figures = factory(p)
        subject = subject_of(side.scenario, p)
        seq = f" × {subject.seq:,}" if subject.seq else ""
        self.floor.show_figures(figures, f"{subject.name}, batch {subject.batch:,}{seq}")
        self.lanes.show_lanes(lanes_of(figures), figures.span_s)
        self.help.waits.show_figures(figures)
        self.help.show_improvements(())
        long = "filled: busy in an isolated step; percentages: in a loop of steps"
        self.hint.say(long, "filled: busy")
        self.floor.setAccessibleDescription("; ".join(", ".join(r) for r in self.rows()[1:6]))
        self._update_button()

    def question(self, sides: tuple[Side, ...], current: int) -> Question | None:
        side = sides[current]
        return lambda cancelled: (
            side.scenario.key,
            improvements(side.scenario, side.prediction, cancelled),
        )

    def answer(self, result: Any) -> None:
        if result and self.side is not None and result[0] == self.side.scenario.key:
            self.help.show_improvements(result[1])

    def formula(self, at: QPoint) -> Formula | None:
        f = self.floor.figures
        return None if f is None else building(f, str(self.floor.over or ""))

    def subtitle(self) -> str:
        return "managers give orders, trucks move data, machines compute: the slowest sets the pace"

    def rows(self) -> list[list[str]]:
        f = self.floor.figures
        if f is None:
            return []
        rows = [["Part", "Figure", "Value"]]
        for name, lines in cards(f).items():
            rows += [[name, figure, value] for figure, value in lines]
        rows += [[w.who, f"wait for {w.what}", seconds(w.seconds)] for w in f.waits]
        shares = f.prediction.shares
        return rows + [["1% faster saves", name, percent(share)] for name, share in shares.items()]

    def restyle(self, theme: Theme) -> None:
        super().restyle(theme)
        for part in (self.floor, self.lanes, self.help):
            part.restyle(theme)
        for rule in self.rules:
            rule.theme = theme
            rule.update()

    def toggle(self) -> None:
        """Play or pause."""
        self.floor.play(not self.floor.playing)
        self._update_button()

    def _whole(self) -> None:
        self.floor.whole()
        self._update_button()

    def _update_button(self) -> None:
        self.play_button.setText("Pause" if self.floor.playing else "Play")
        self.play_button.setEnabled(self.floor.allowed)
        if not self.floor.allowed:
            self.play_button.setText("Play")
            self.play_button.setToolTip("Animation is off: the system is set to reduce motion")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Space and self.play_button.isEnabled():
            self.toggle()
        elif event.key() == Qt.Key.Key_W:
            self._whole()
        else:
            super().keyPressEvent(event)
