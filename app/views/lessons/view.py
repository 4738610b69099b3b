"""Lessons: predict, compare with the simulation, read the explanation, try it in Explore."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QLabel, QStackedWidget, QVBoxLayout, QWidget

from app.answers.cluster.choice import ClusterQuestion
from app.answers.side import Question, Side
from app.lessons import lessons
from app.lessons.cluster_words import OnCluster, predicted_here
from app.lessons.lesson import Lesson
from app.lessons.outcome import Outcome, compute_outcome, first_outcome
from app.lessons.pack import read_all
from app.scenes.lessons.attempt import Attempt, Step
from app.theme import Theme
from app.views.lessons.index import LessonIndex
from app.views.lessons.menu import fill_menu, menu_commands
from app.views.lessons.page import LessonPage
from app.views.lessons.table import attempt_rows
from app.views.lessons.writing import Writing
from app.widgets.view import View
from simulator.errors import InputError

_ORDER: tuple[Step, ...] = ("predict", "reveal", "explain", "try")


class Lessons(View):
    """A list of the lessons, then one at a time. Enter goes to the next step, Alt+Left and
    Alt+Right change lessons, Alt+Up goes back to the list."""

    title: ClassVar[str] = "Lessons"
    workspace: ClassVar[str] = "Lessons"
    follows = False
    spread = Signal(object)
    """The ClusterQuestion of a lesson, to be opened."""
    task_opened = Signal(object)
    """The Lesson whose task is to be opened."""
    written = Signal(object)
    """Path of a file of lessons that was written."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.on_cluster: OnCluster = predicted_here
        self.all: tuple[Lesson, ...] = ()
        self.opened: tuple[Path, ...] = ()
        """Files of lessons that the user opened."""
        self.writing = Writing(self)
        self.place = 0
        self.attempts: dict[str, Attempt] = {}
        self.outcomes: dict[str, Outcome] = {}
        self.refused: dict[str, str] = {}
        self.reached: dict[str, str] = {}
        """The figures with which the tasks were reached, by the name of the lesson."""
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        self.error_label = QLabel()
        self.error_label.setProperty("tone", "danger")
        self.error_label.setTextFormat(Qt.TextFormat.PlainText)
        self.error_label.setWordWrap(True)
        self.error_label.setContentsMargins(20, 4, 12, 0)
        self.error_label.hide()
        self.page = LessonPage(theme)
        self.page.guess.moved.connect(lambda: self.page.update_verdict(self.attempt, self.outcome))
        self.page.guess.entered.connect(lambda: self.go(1))
        self.page.went.connect(self.go)
        self.page.restarted.connect(self._start_over)
        self.page.opened.connect(self._open)
        self.page.chose.connect(self._choose)
        self.page.menu.aboutToShow.connect(lambda: fill_menu(self.page.menu, self))
        column.addWidget(self.error_label)
        self.index = LessonIndex(theme)
        self.index.opened.connect(self.turn_to)
        self.index.wrote.connect(self.writing.open)
        self.index.handed_out.connect(self.writing.hand_out)
        self.pages = QStackedWidget()
        for page in (self.index, self.page):
            self.pages.addWidget(page)
        column.addWidget(self.pages, 1)
        self.setFocusProxy(self.page.guess)

    # the view's interface

    def draw(self, sides: tuple[Side, ...], current: int) -> None:
        """Read the lessons. They have their own scenarios, so `sides` are not shown."""
        if not self.all:
            self.read_again()

    def question(self, sides: tuple[Side, ...], current: int) -> Question | None:
        lesson, attempt = self.lesson, self.attempt
        if lesson is None or lesson.name in self.refused:
            return None
        locked = attempt is not None and attempt.locked
        if attempt is not None and (not locked or lesson.name in self.outcomes):
            return None

        def work(cancelled: Any) -> tuple[str, Outcome | str] | None:
            try:
                compute = compute_outcome if locked else first_outcome
                outcome = compute(lesson, cancelled, self.on_cluster)
            except InputError as error:
                return lesson.name, str(error)
            return (lesson.name, outcome) if outcome else None

        return work

    def answer(self, result: Any) -> None:
        if result is None:
            return
        name, outcome = result
        if isinstance(outcome, str):
            self.refused[name] = outcome
        elif name not in self.attempts:
            self.attempts[name] = Attempt(outcome.lesson, outcome)
        if isinstance(outcome, Outcome) and outcome.whole and self.attempts[name].locked:
            self.outcomes[name] = outcome
        if self.lesson is not None and self.lesson.name == name:
            self._show()

    def fail(self, reason: str) -> None:
        self._show(f"{reason[:1].upper()}{reason[1:]}")

    def subtitle(self) -> str:
        tried = ((self.attempts[name], outcome) for name, outcome in self.outcomes.items())
        hits = [
            hit for attempt, outcome in tried if attempt.locked for hit in attempt.hits(outcome)
        ]
        if not hits:
            return "predict first, then compare with the simulation"
        return f"{sum(hits)} of {len(hits)} predictions within a factor of 2 (shares: 10 points)"

    def rows(self) -> list[list[str]]:
        return attempt_rows(self.attempt, self.outcome)

    def restyle(self, theme: Theme) -> None:
        super().restyle(theme)
        self.page.restyle(theme)
        self.index.restyle(theme)

    def commands(self) -> list[tuple[str, Callable[[], None]]]:
        return menu_commands(self)

    # the current lesson

    @property
    def lesson(self) -> Lesson | None:
        return self.all[self.place] if self.all else None

    @property
    def attempt(self) -> Attempt | None:
        return self.attempts.get(self.lesson.name) if self.lesson else None

    @property
    def outcome(self) -> Outcome | None:
        return self.outcomes.get(self.lesson.name) if self.lesson else None

    def read_again(self) -> None:
        """Read all lesson files, and forget the answers."""
        before = self.lesson
        self.all, errors = lessons(self.opened)
        names = [lesson.name for lesson in self.all]
        self.place = names.index(before.name) if before and before.name in names else 0
        for by_lesson in (self.attempts, self.outcomes, self.refused):
            by_lesson.clear()
        self.report(errors, "A lesson could not be read: ")
        self._show()
        self._show_index()

    def report(self, errors: tuple[str, ...], intro: str = "") -> None:
        """Show the errors above the page; an empty list hides the label."""
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        self.error_label.setText(f"{intro}{errors[0]}{more}" if errors else "")
        self.error_label.setToolTip("\n".join(errors))
        self.error_label.setVisible(bool(errors))

    def open_file(self, path: Path) -> None:
        """Show the lessons of a file, beginning with the first."""
        first = read_all(path)[0].name
        self.opened = (*(each for each in self.opened if each != path), path)
        self.read_again()
        self.turn_to_lesson(first)

    def preview(self, lesson: Lesson) -> None:
        """Show a lesson that is being written, from its start."""
        self.all = (*(each for each in self.all if each.name != lesson.name), lesson)
        for by_lesson in (self.attempts, self.outcomes, self.refused):
            by_lesson.pop(lesson.name, None)
        self.turn_to(len(self.all) - 1)

    def list_all(self) -> None:
        """Show the list of the lessons."""
        self._show_index()
        self.pages.setCurrentWidget(self.index)
        if self.index.rows:
            self.index.rows[self.place].button.setFocus()

    def mark_reached(self, name: str, figure: str) -> None:
        """Tick the task of a lesson; `figure` is the figure that reached it."""
        if name not in self.reached:
            self.reached[name] = figure
            self._show()
            self._show_index()

    def _show_index(self) -> None:
        self.index.show_lessons(self.all, [*self.outcomes, *self.reached])

    def turn_to(self, place: int) -> None:
        """Go to another lesson."""
        self.place = place % max(1, len(self.all))
        listed = not self._lesson_is_shown
        self.pages.setCurrentWidget(self.page)
        self._show()
        if listed:
            self.page.focus()
        self.question_changed.emit()

    def turn_to_lesson(self, name: str) -> None:
        """Go to the lesson of this name, if it exists."""
        if not self.all:
            self.read_again()
        names = [lesson.name for lesson in self.all]
        if name in names:
            self.turn_to(names.index(name))

    def go(self, steps: int) -> None:
        """Go forward or back by a number of steps; a locked prediction stays locked."""
        attempt = self.attempt
        if attempt is None or (steps > 0 and not attempt.locked and attempt.lacking):
            return
        if steps > 0 and attempt.step == "try":
            self.turn_to(self.place + 1)
            return
        if steps > 0 and attempt.locked and self.outcome is None:
            return
        least = 1 if attempt.locked else 0
        attempt.step = _ORDER[min(max(_ORDER.index(attempt.step) + steps, least), 3)]
        self._show()
        self.question_changed.emit()

    def _show(self, error: str = "") -> None:
        lesson = self.lesson
        if lesson is None:
            return
        where = f"Lesson {self.place + 1} of {len(self.all)}"
        error = error or self.refused.get(lesson.name, "")
        reached = self.reached.get(lesson.name, "")
        self.page.show_lesson(lesson, where, self.attempt, self.outcome, error, reached)

    def _start_over(self) -> None:
        """Start over with a new prediction."""
        attempt = self.attempt
        if attempt is not None:
            attempt.step, attempt.choice = "predict", ""
            attempt.moved.clear()
            attempt.votes.answers.clear()
            self._show()
            self.question_changed.emit()

    def _open(self) -> None:
        lesson = self.lesson
        if lesson is not None:
            side = lesson.side(lesson.opens)
            if lesson.task is not None:
                self.task_opened.emit(lesson)
            elif side.cluster is None:
                self.scenario_requested.emit(side.scenario)
            else:
                self.spread.emit(ClusterQuestion(side.scenario, side.cluster))

    def _choose(self, value: str) -> None:
        attempt = self.attempt
        if attempt is not None and not attempt.locked:
            attempt.choice = value
            self.page.update_verdict(attempt, None)

    @property
    def _lesson_is_shown(self) -> bool:
        return self.pages.currentWidget() is self.page

    def turns(self, place: int) -> Callable[[], None]:
        """Return a function that goes to a lesson."""
        return lambda: self.turn_to(place)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {Qt.Key.Key_Right: 1, Qt.Key.Key_Left: -1}.get(Qt.Key(event.key()), 0)
        alt = bool(event.modifiers() & Qt.KeyboardModifier.AltModifier)
        if alt and event.key() == Qt.Key.Key_Up:
            self.list_all()
        elif alt and step and self.all:
            self.turn_to(self.place + step)
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self._lesson_is_shown:
            self.go(1)
        else:
            super().keyPressEvent(event)
