"""Lessons: predict, then have it simulated, then read why, then try it in Explore."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from PySide6.QtCore import QSignalBlocker, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from app.answers.side import Question, Side
from app.lessons import lessons, own
from app.lessons.lesson import Lesson
from app.lessons.outcome import Outcome, answered, begun
from app.scenes.lesson_attempt import Attempt, Key, Step
from app.theme import Theme
from app.views.lessons.labels import spanned
from app.views.lessons.page import LessonPage
from app.widgets.view import View
from simulator.errors import InputError

_ORDER: tuple[Step, ...] = ("predict", "reveal", "explain", "try")


class Lessons(View):
    """One lesson at a time. Enter goes on, Alt with left and right goes between lessons."""

    title: ClassVar[str] = "Lessons"
    workspace: ClassVar[str] = "Lessons"
    follows = False

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.all: tuple[Lesson, ...] = ()
        self.place = 0
        self.attempts: dict[str, Attempt] = {}
        self.found: dict[str, Outcome] = {}
        self.refused: dict[str, str] = {}
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        self.wrong = QLabel()
        self.wrong.setProperty("tone", "danger")
        self.wrong.setContentsMargins(20, 4, 12, 0)
        self.wrong.hide()
        self.page = LessonPage(theme)
        self.page.guess.moved.connect(lambda: self.page.show_said(self.attempt, self.outcome))
        self.page.guess.entered.connect(lambda: self.go(1))
        self.page.went.connect(self.go)
        self.page.again.connect(self._again)
        self.page.opened.connect(self._open)
        self.page.chose.connect(self._choose)
        self.page.menu.aboutToShow.connect(self._list)
        column.addWidget(self.wrong)
        column.addWidget(self.page, 1)
        self.setFocusProxy(self.page.guess)

    # what the window asks and says

    def draw(self, sides: tuple[Side, ...], current: int) -> None:
        """Lessons have scenarios of their own: what is worked on elsewhere changes nothing here."""
        if not self.all:
            self.read_again()

    def question(self, sides: tuple[Side, ...], current: int) -> Question | None:
        lesson, attempt = self.lesson, self.attempt
        if lesson is None or lesson.name in self.refused:
            return None
        whole = attempt is not None and attempt.locked
        if attempt is not None and (not whole or lesson.name in self.found):
            return None

        def work(cancelled: Any) -> tuple[str, Outcome | str] | None:
            try:
                found = answered(lesson, cancelled) if whole else begun(lesson)
            except InputError as error:
                return lesson.name, str(error)
            return (lesson.name, found) if found else None

        return work

    def answer(self, found: Any) -> None:
        if found is None:
            return
        name, outcome = found
        if isinstance(outcome, str):
            self.refused[name] = outcome
        elif name not in self.attempts:
            self.attempts[name] = Attempt(outcome.lesson, outcome)
        if isinstance(outcome, Outcome) and outcome.whole and self.attempts[name].locked:
            self.found[name] = outcome
        if self.lesson is not None and self.lesson.name == name:
            self._show()

    def subtitle(self) -> str:
        done = [n for n in self.found if self.attempts[n].locked]
        good = sum(self.attempts[n].good(self.found[n]) for n in done)
        if not done:
            return "predict first, then have it simulated"
        return f"{good} of {len(done)} predictions within a factor of two (of shares, ten points)"

    def rows(self) -> list[list[str]]:
        attempt, found = self.attempt, self.outcome
        if attempt is None:
            return []
        rows = [["What", "Predicted", "Simulated", "80% interval", "The answer is"]]
        for key in attempt.keys:
            row = [attempt.named(key), attempt.written(key), "", "", ""]
            rows.append(row if found is None else row[:2] + _compared(attempt, found, key))
        if found is None:
            return rows
        for side in found.lesson.sides:
            if side.letter not in attempt.keys:
                p = found.sides[side.letter]
                bounds = _bounds(found, found.word.interval(p))
                rows.append([side.label, "", found.word.text(found.word.of(p)), bounds, ""])
        if found.lesson.choose:
            words = found.filled(found.lesson.choice) or "What decides?"
            rows.append([words, attempt.choice, found.right, "", ""])
        rows.append([found.filled(found.lesson.explain), "", "", "", ""])
        return rows

    def restyle(self, theme: Theme) -> None:
        super().restyle(theme)
        self.page.restyle(theme)

    # the lesson that it is

    @property
    def lesson(self) -> Lesson | None:
        return self.all[self.place] if self.all else None

    @property
    def attempt(self) -> Attempt | None:
        return self.attempts.get(self.lesson.name) if self.lesson else None

    @property
    def outcome(self) -> Outcome | None:
        return self.found.get(self.lesson.name) if self.lesson else None

    def read_again(self) -> None:
        """Read every lesson's file, and forget what was answered."""
        before = self.lesson
        self.all, wrong = lessons()
        names = [lesson.name for lesson in self.all]
        self.place = names.index(before.name) if before and before.name in names else 0
        for held in (self.attempts, self.found, self.refused):
            held.clear()
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        self.wrong.setText(f"A lesson is left out: {wrong[0]}{more}" if wrong else "")
        self.wrong.setToolTip("\n".join(wrong))
        self.wrong.setVisible(bool(wrong))
        self._show()

    def turn_to(self, place: int) -> None:
        """Another lesson."""
        self.place = place % max(1, len(self.all))
        self._show()
        self.question_changed.emit()

    def turn_to_lesson(self, name: str) -> None:
        """The lesson of this name, where it can be read."""
        if not self.all:
            self.read_again()
        names = [lesson.name for lesson in self.all]
        if name in names:
            self.turn_to(names.index(name))

    def go(self, steps: int) -> None:
        """On to the next step, or back; what was locked stays locked."""
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

    def _show(self) -> None:
        lesson = self.lesson
        if lesson is None:
            return
        where = f"Lesson {self.place + 1} of {len(self.all)}"
        why = self.refused.get(lesson.name, "")
        self.page.show_lesson(lesson, where, self.attempt, self.outcome, why)

    def _again(self) -> None:
        """Predict anew."""
        attempt = self.attempt
        if attempt is not None:
            attempt.step, attempt.choice = "predict", ""
            attempt.moved.clear()
            self._show()
            self.question_changed.emit()

    def _open(self) -> None:
        lesson = self.lesson
        if lesson is not None:
            self.asked.emit(lesson.side(lesson.opens).scenario)

    def _choose(self, value: str) -> None:
        attempt = self.attempt
        if attempt is not None and not attempt.locked:
            attempt.choice = value
            self.page.show_said(attempt, None)

    def _list(self) -> None:
        """The menu of all lessons."""
        menu = self.page.menu
        with QSignalBlocker(menu):
            menu.clear()
        for place, lesson in enumerate(self.all):
            action = menu.addAction(f"{place + 1}  {lesson.title}")
            action.setCheckable(True)
            action.setChecked(lesson.name in self.found)
            action.triggered.connect(self._turns(place))
        menu.addSeparator()
        again = menu.addAction("Read my lessons again")
        again.setToolTip(f"TOML files in {own()}")
        again.triggered.connect(lambda: (self.read_again(), self.question_changed.emit()))

    def _turns(self, place: int) -> Callable[[], None]:
        return lambda: self.turn_to(place)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = {Qt.Key.Key_Right: 1, Qt.Key.Key_Left: -1}.get(Qt.Key(event.key()), 0)
        if event.modifiers() & Qt.KeyboardModifier.AltModifier and step and self.all:
            self.turn_to(self.place + step)
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.go(1)
        else:
            super().keyPressEvent(event)


def _compared(attempt: Attempt, found: Outcome, key: Key) -> list[str]:
    """The answer to a guess, its interval, and how far the guess was."""
    said = attempt.said(found, key)
    if key == "shift":
        return [found.filled("{shift}"), "", said]
    answer = attempt.answer(found, key) or 0.0
    return [found.word.text(answer), _bounds(found, found.interval(key)), said]


def _bounds(found: Outcome, bounds: tuple[float, float] | None) -> str:
    return spanned(found.word, bounds) if bounds else ""
