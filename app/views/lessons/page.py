"""The page of a lesson: the question at the left, the simulator's answer at the right."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QMenu,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.lessons.lesson import Lesson
from app.lessons.outcome import Outcome
from app.scenes.lessons.attempt import Attempt, Step
from app.scenes.lessons.task import target_words
from app.theme import BODY_PX, SUPPORT_PX, Theme
from app.views.lessons.class_row import ClassRow
from app.views.lessons.explanation import Explanation, sentence
from app.views.lessons.guess import GuessCanvas
from app.views.lessons.pieces import Option, Rule, Steps
from app.views.lessons.reveal import RevealCanvas
from app.views.lessons.texts import figure_words, hint, verdict
from app.views.lessons.tick import Tick
from app.widgets.elided_label import Elided
from simulator.prediction import Regime

_NEXT: dict[Step, str] = {
    "predict": "Lock my prediction",
    "reveal": "Next: explain",
    "explain": "Next: try it yourself",
    "try": "Next lesson",
}
_REGIMES: dict[Regime, str] = {
    "compute": "compute: arithmetic",
    "memory": "memory: data movement",
    "overhead": "overhead: the host",
}


class LessonPage(QWidget):
    """Shows an attempt. Its signals, and those of `guess`, report the learner's actions."""

    went = Signal(int)
    """Number of steps to go forward, or back if negative."""
    restarted = Signal()
    opened = Signal()
    chose = Signal(str)

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.theme = theme
        self.options: list[Option] = []
        self._options_key: tuple[str, bool] | None = None
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._head())
        row = QHBoxLayout()
        row.setSpacing(0)
        row.addWidget(self._left())
        row.addWidget(Rule(self.theme, upright=True))
        row.addLayout(self._right(), 1)
        column.addWidget(Rule(self.theme))
        column.addLayout(row, 1)
        self.setTabOrder(self.guess, self.next_button)

    def _head(self) -> QWidget:
        head = QWidget()
        head.setFixedHeight(62)
        row = QHBoxLayout(head)
        row.setContentsMargins(10, 4, 16, 4)
        row.setSpacing(10)
        names = QVBoxLayout()
        names.setSpacing(0)
        self.which = QToolButton()
        self.which.setToolTip("All lessons")
        self.which.setAccessibleName("All lessons")
        self.which.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.which.setStyleSheet(f"padding: 0 2px; font-size: {SUPPORT_PX}px;")
        self.menu = QMenu(self.which)
        self.which.setMenu(self.menu)
        self.heading = Elided()
        self.heading.setProperty("tone", "head")
        self.heading.setContentsMargins(10, 0, 0, 0)  # aligned with the words of the button above
        names.addWidget(self.which)
        names.addWidget(self.heading)
        row.addLayout(names, 6)
        self.steps = Steps(self.theme)
        row.addWidget(self.steps, 4)
        self.back, self.open = QPushButton("Back"), QPushButton("Open in Explore")
        self.next_button = QPushButton()
        self.open.setToolTip("Open this lesson's scenario in Explore")
        self.next_button.setProperty("look", "primary")
        self.back.clicked.connect(lambda: self.went.emit(-1))
        self.open.clicked.connect(lambda: self.opened.emit())
        self.next_button.clicked.connect(lambda: self.went.emit(1))
        buttons = QHBoxLayout()
        buttons.addStretch(1)
        for button in (self.back, self.open, self.next_button):
            button.setFixedHeight(30)
            button.setAccessibleName(button.text() or "Next")
            buttons.addWidget(button)
        row.addLayout(buttons, 4)
        return head

    def _left(self) -> QWidget:
        left = QWidget()
        left.setFixedWidth(372)
        column = QVBoxLayout(left)
        column.setContentsMargins(20, 12, 14, 8)
        column.setSpacing(6)
        self.words = sentence()
        self.hint = QLabel()
        self.hint.setProperty("tone", "support")
        self.hint.setWordWrap(True)
        self.guess = GuessCanvas(self.theme)
        self.guess.setMaximumHeight(330)
        self.verdict = sentence(BODY_PX, 600)
        self.redo = QPushButton("Predict again")
        self.redo.setAccessibleName("Predict again")
        self.redo.clicked.connect(lambda: self.restarted.emit())
        verdict_row = QHBoxLayout()
        verdict_row.addWidget(self.verdict, 1)
        verdict_row.addWidget(self.redo, 0, Qt.AlignmentFlag.AlignTop)
        self.choice, self.task = sentence(BODY_PX, 600), sentence(BODY_PX)
        self.task_tick = Tick(self.theme)
        self.task_row = QWidget()
        task_row = QHBoxLayout(self.task_row)
        task_row.setContentsMargins(0, 8, 0, 0)
        task_row.addWidget(self.task_tick, 0, Qt.AlignmentFlag.AlignTop)
        task_row.addWidget(self.task, 1)
        self.asking = ClassRow()
        self.asking.voted.connect(self._voted)
        self.choices = QVBoxLayout()
        self.choices.setSpacing(2)
        for part in (self.words, self.hint):
            column.addWidget(part)
        column.addWidget(self.guess, 1)
        column.addLayout(verdict_row)
        column.addWidget(self.choice)
        column.addLayout(self.choices)
        column.addWidget(self.task_row)
        column.addWidget(self.asking)
        column.addStretch()
        return left

    def _right(self) -> QVBoxLayout:
        column = QVBoxLayout()
        column.setSpacing(0)
        self.drawn = _titled(column, "Reveal")
        self.reveal = RevealCanvas(self.theme)
        column.addWidget(self.reveal, 54)
        self.below = QWidget()
        inner = QVBoxLayout(self.below)
        inner.setContentsMargins(0, 0, 0, 0)
        inner.setSpacing(0)
        inner.addWidget(Rule(self.theme))
        _titled(inner, "Explain").say("with predicted figures")
        self.explanation = Explanation(self.theme)
        inner.addWidget(self.explanation, 1)
        column.addWidget(self.below, 46)
        return column

    # showing

    def show_lesson(
        self,
        lesson: Lesson,
        where: str,
        attempt: Attempt | None,
        outcome: Outcome | None,
        error: str,
        reached: str = "",
    ) -> None:
        """Show a lesson at its current step; `error` is the reason why it cannot be simulated, and
        `reached` the figure that reached its task."""
        self.which.setText(f"{where}, {lesson.topic}  ▾" if lesson.topic else f"{where}  ▾")
        self.which.setAccessibleName(f"{where}: choose another")
        self.heading.say(lesson.title)
        step: Step = attempt.step if attempt else "predict"
        self.steps.show_step(step)
        self.words.setText(attempt.known.filled(lesson.question) if attempt else "…")
        self.guess.setVisible(bool(lesson.guess))
        self.guess.show_attempt(attempt)
        self._options(lesson, attempt, outcome)
        self.reveal.attempt = attempt
        locked = attempt is not None and attempt.locked
        self.reveal.waiting = error or (
            "Simulating …"
            if locked or attempt is None
            else "Lock your prediction to see the simulation here."
        )
        self.reveal.show_outcome(outcome if locked else None)
        self.drawn.say(figure_words(attempt) if attempt else "")
        explained = outcome is not None and step in ("explain", "try")
        self.below.setVisible(explained)
        if outcome is not None and explained:
            self.explanation.show_outcome(outcome)
        self.open.setVisible(step == "try")
        self.open.setText("Start the task" if lesson.task else "Open in Explore")
        self.open.setAccessibleName(self.open.text())
        self.task_row.setVisible(step == "try" and lesson.task is not None)
        if lesson.task is not None:
            end = f"Reached: {reached}" if reached else f"Target: {target_words(lesson.task)}"
            self.task.setText(f"Your task: {lesson.task.words}\n{end}")
            self.task_tick.check(bool(reached))
        self.back.setVisible(step in ("explain", "try"))
        self.redo.setVisible(locked)
        self.update_verdict(attempt, outcome)

    def focus(self) -> None:
        """Let the keys move the markers, if the lesson has any."""
        (self if self.guess.isHidden() else self.guess).setFocus()

    def update_verdict(self, attempt: Attempt | None, outcome: Outcome | None) -> None:
        """Update the hint, the verdict and the button after a change by the learner."""
        missing = attempt.lacking if attempt and not attempt.locked else ""
        self.next_button.setText(_NEXT[attempt.step if attempt else "predict"])
        self.next_button.setAccessibleName(self.next_button.text())
        ready = attempt is not None and not missing and (not attempt.locked or outcome is not None)
        if not ready and self.next_button.hasFocus():
            self.focus()  # else Qt chooses "Predict again", which discards the prediction
        self.next_button.setEnabled(ready)
        self.next_button.setToolTip(missing or "Enter")
        self.asking.show_attempt(attempt)
        self.hint.setText(hint(attempt))
        self.hint.setVisible(bool(self.hint.text()))
        self.verdict.setText(verdict(attempt, outcome))

    def _options(self, lesson: Lesson, attempt: Attempt | None, outcome: Outcome | None) -> None:
        """Update the answers to choose from, and recreate them for another lesson."""
        if self._options_key != (lesson.name, attempt is not None):
            self._options_key = (lesson.name, attempt is not None)
            for option in self.options:
                option.hide()
                self.choices.removeWidget(option)
                option.deleteLater()
            self.options = []
            if lesson.choose == "regime":
                self.options = [Option(r, w, r, self.theme) for r, w in _REGIMES.items()]
            elif lesson.choose == "fastest":
                self.options = [Option(s.letter, s.label, None, self.theme) for s in lesson.sides]
            for option in self.options:
                option.clicked.connect(self._choose(option.value))
                self.choices.addWidget(option)
        words = lesson.choice or "What limits the step?"
        self.choice.setText(attempt.known.filled(words) if attempt else "")
        self.choice.setVisible(bool(self.options))
        for option in self.options:
            is_chosen = attempt is not None and attempt.choice == option.value
            option.setAutoExclusive(False)  # an exclusive group keeps one option checked
            option.setChecked(is_chosen)
            option.setAutoExclusive(True)
            locked = attempt is not None and attempt.locked
            right = locked and outcome is not None and outcome.right == option.value
            judgement = "correct" if right else ("your answer" if is_chosen and locked else "")
            if attempt is not None and attempt.votes.choices:
                chosen = attempt.votes.choices[option.value]
                judgement = f"{judgement} {chosen} of {len(attempt.votes.answers)}".strip()
            option.judge(judgement, right, locked)

    def _voted(self) -> None:
        """Draw the answers of the class again."""
        attempt = self.asking.attempt
        assert attempt is not None
        self.guess.update()
        self._options(attempt.lesson, attempt, None)
        self.update_verdict(attempt, None)

    def _choose(self, value: str) -> Callable[[], None]:
        return lambda: self.chose.emit(value)

    def restyle(self, theme: Theme) -> None:
        """Apply a theme."""
        self.theme = theme
        for part in (self.guess, self.reveal, self.explanation, self.task_tick):
            part.restyle(theme)
        for part in (self.steps, *self.options, *self.findChildren(Rule)):
            part.theme = theme
            part.update()


def _titled(column: QVBoxLayout, title: str) -> Elided:
    """Add a heading; return the label beside it."""
    row = QHBoxLayout()
    row.setContentsMargins(20, 8, 12, 4)
    row.setSpacing(8)
    name, value = QLabel(title), Elided()
    name.setProperty("tone", "title")
    value.setProperty("tone", "quiet")
    row.addWidget(name)
    row.addWidget(value, 1)
    column.addLayout(row)
    return value
