"""Goal seek: the largest batch that fits or meets a latency, the smallest that is not
overhead-bound."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import log10
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QLabel, QLineEdit, QToolButton, QWidget

from app.answers.side import Side
from app.answers.sweeps.goals import searches_of
from app.quantities import between, plain, seconds, trimmed
from app.scenes.sweep.curves import CancelledError
from app.theme import BODY_PX, LABEL_PX, SUPPORT_PX, Theme
from app.widgets.fonts import font
from app.widgets.strip import sheet
from simulator.analysis.along import Figures
from simulator.errors import InputError
from simulator.prediction import Prediction

if TYPE_CHECKING:
    from app.answers.sweeps.goals import Search
    from simulator.scenario.scenario import Scenario

ROWS = (
    "Largest batch that fits",
    "Smallest batch that is not overhead-bound",
    "Largest batch within",
)


@dataclass(frozen=True)
class GoalResults:
    """The results for a scenario key and a latency as typed; `refused` maps rows to errors."""

    key: tuple[str, str]
    searches: tuple[Search | None, ...] = ()
    refused: dict[int, str] = field(default_factory=dict[int, str])


def seek_goals(scenario: Scenario, latency: str, cancelled: Callable[[], bool]) -> GoalResults:
    """Seek all three goals. Raises CancelledError if cancelled."""

    def watch(tried: Mapping[float, Figures]) -> None:
        if cancelled():
            raise CancelledError

    searches: list[Search | None] = []
    refused: dict[int, str] = {}
    for row in range(len(ROWS)):
        try:
            limit = latency if row == 2 else None
            search = searches_of(scenario, row == 0, row == 1, limit, None, None, False)[0]
            search.sought = search.run(watch)
            searches.append(search)
        except InputError as error:
            refused[row] = str(error).removeprefix("--latency ")
            searches.append(None)
    return GoalResults((scenario.key, latency), tuple(searches), refused)


def round_latency(side: Side) -> str:
    """A round number, at least twice the latency of an isolated step, as text, such as "50 ms"."""
    least = 2 * side.prediction.latency_s
    power = 10.0 ** int(log10(least) // 1) if least > 0 else 1e-3
    return trimmed(seconds(next(m * power for m in (1, 2, 5, 10) if m * power >= least)))


class GoalSeek(QWidget):
    """Three goals, one row each. The button or Enter sets `requested` and emits
    `question_changed`; `scenario_requested` emits the scenario of a result."""

    scenario_requested = Signal(object)
    question_changed = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.results: GoalResults | None = None
        self.prediction: Prediction | None = None
        self.requested = False
        self.setAccessibleName("Goal seek")
        grid = QGridLayout(self)
        grid.setContentsMargins(12, 2, 12, 4)
        grid.setHorizontalSpacing(10)
        grid.setVerticalSpacing(3)
        grid.setColumnStretch(0, 1)
        self.head = QLabel("Goal seek")
        self.head.setFont(font(BODY_PX, 600))
        grid.addWidget(self.head, 0, 0)
        self.button = QToolButton()
        self.button.setText("Seek")
        self.button.setObjectName("primary")
        self.button.setAccessibleName("Seek all three goals for this scenario")
        self.button.setToolTip("Seek all three goals for this scenario, with exact predictions")
        self.button.clicked.connect(self._request)
        grid.addWidget(self.button, 0, 3, 1, 2, Qt.AlignmentFlag.AlignRight)
        self.latency = QLineEdit()
        self.latency.setAccessibleName("Latency of an isolated step")
        self.latency.setToolTip("A time such as 20 ms or 0.5 s; Enter seeks")
        self.latency.setFixedWidth(76)
        self.latency.returnPressed.connect(self._request)
        self.times, self.values = list[QLabel](), list[QLabel]()
        self.buttons = list[QToolButton]()
        for row, words in enumerate(ROWS):
            name = QLabel(words)
            name.setFont(font(SUPPORT_PX))
            grid.addWidget(name, row + 1, 0)
            time, value, button = QLabel(), QLabel("–"), QToolButton()
            time.setFont(font(LABEL_PX))
            time.setObjectName("quiet")
            value.setFont(font(BODY_PX, 600))
            value.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            button.setText("Go")
            button.setObjectName("chip")
            button.setAccessibleName(f"Go to: {words.lower()}")
            button.clicked.connect(lambda _=False, r=row: self._go(r))
            button.setEnabled(False)
            for column, widget in enumerate((time, value, button)):
                grid.addWidget(widget, row + 1, column + 2)
            self.times.append(time)
            self.values.append(value)
            self.buttons.append(button)
        grid.addWidget(self.latency, len(ROWS), 1)
        self.restyle(theme)

    def restyle(self, theme: Theme) -> None:
        """Apply a theme."""
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setStyleSheet(
            sheet(theme) + f"GoalSeek {{ background: {theme.bg1}; border-top: 1px solid "
            f"{theme.line}; }} QLabel {{ color: {theme.ink}; }} QLabel#quiet "
            f"{{ color: {theme.ink3}; }} QToolButton#primary {{ background: {theme.b}; color: "
            f"{theme.on_accent}; font-weight: 600; }}"
        )

    def forget(self, side: Side) -> None:
        """Clear results of another scenario, and propose a latency if the field is empty."""
        if not self.latency.text():
            self.latency.setText(round_latency(side))
        changed, self.prediction = self.prediction is not side.prediction, side.prediction
        results = self.results
        if results is not None and (changed or results.key[0] != side.scenario.key):
            self.results, self.requested = None, False
            for row in range(len(ROWS)):
                self._write(row, "–", "", "", False)

    @property
    def text(self) -> str:
        """The latency as the user typed it."""
        return self.latency.text().strip()

    def show_results(self, results: GoalResults) -> None:
        """Show results; tooltips and accessible descriptions explain missing ones."""
        self.results, self.requested = results, False
        for row, search in enumerate(results.searches):
            answer = search.sought if search else None
            if answer is None:
                self._write(row, "none", "", results.refused.get(row, ""), False)
                continue
            p = answer.prediction
            time = f"{seconds(p.period_s)}, {between(*p.interval_s, p.period_s)}"
            self._write(row, plain(answer.value), time, answer.sentence, True)

    def _write(self, row: int, value: str, time: str, tip: str, has_result: bool) -> None:
        self.values[row].setText(value)
        self.times[row].setText(time)
        for widget in (self.values[row], self.times[row], self.buttons[row]):
            widget.setToolTip(tip)
            widget.setAccessibleDescription(tip)
        self.buttons[row].setEnabled(has_result)

    def rows(self) -> list[list[str]]:
        """Goal, result and time, one row per goal."""
        names = [*ROWS[:-1], f"{ROWS[-1]} {self.text}"]
        return [
            ["goal", name, value.text(), time.text()]
            for name, value, time in zip(names, self.values, self.times, strict=True)
        ]

    def _request(self) -> None:
        self.requested = True
        for value in self.values:
            value.setText("…")
        self.question_changed.emit()

    def _go(self, row: int) -> None:
        search = self.results.searches[row] if self.results else None
        if search is not None and search.sought is not None:
            self.scenario_requested.emit(search.sought.scenario)
