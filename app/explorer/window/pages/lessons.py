"""Shows the lessons of files that the user opens, and the open task of a lesson."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from app.explorer.background.watching import Watching
from app.lessons import lessons
from app.lessons.lesson import Lesson
from app.scenes.lessons.task import TaskProgress, task_progress
from app.theme import Theme
from app.views.lessons.task_bar import TaskBar

if TYPE_CHECKING:
    from app.explorer.window.window import Window
    from app.views.lessons.view import Lessons
    from app.widgets.view import View

_WITHOUT_TASK = ("Cluster", "Plan", "Lessons")
"""Workspaces that do not show the step of the scenario on one GPU."""


class LessonsPage:
    """Opens files in the view of the lessons, and shows the open task in `bar`."""

    workspace = "Lessons"

    def __init__(self, window: Window) -> None:
        self.window = window
        self.bar = TaskBar(window.theme)
        self.watching = Watching()
        self.watching.setParent(window)
        self.watching.saved.connect(self._read)
        self._known: dict[str, Lesson] = {}
        window.session.changed.connect(self._show_task)
        window.answering.answers_changed.connect(self._show_task)
        self.bar.returned.connect(self.show_task_lesson)
        self.bar.left.connect(window.session.leave_task)
        self._show_task()

    def show(self) -> Lessons:
        """Show the page. Returns its view."""
        self.window.session.show(self.workspace)
        return self._view

    def open(self, path: Path) -> None:
        """Show the lessons of a file; the banner shows errors in it."""
        self.show()
        self._read(path)

    def restyle(self, theme: Theme) -> None:
        """Apply a theme."""
        self.bar.restyle(theme)

    # the task

    @property
    def task_lesson(self) -> Lesson | None:
        """The lesson of the open task; None if there is no task or the lesson is not installed."""
        name = self.window.session.state.task
        if name and name not in self._known:
            self._known |= {lesson.name: lesson for lesson in lessons()[0]}
        lesson = self._known.get(name)
        return lesson if lesson is not None and lesson.task is not None else None

    @property
    def progress(self) -> TaskProgress | None:
        """The progress of the current scenario; None if there is no task or no prediction."""
        lesson, answering = self.task_lesson, self.window.answering
        answer = answering.answer
        if lesson is None or answer is None or not answering.up_to_date:
            return None
        return task_progress(lesson, answer.scenario, answer.prediction)

    def show_task_lesson(self) -> None:
        """Go back to the lesson of the open task."""
        lesson = self.task_lesson
        if lesson is not None:
            self.show().turn_to_lesson(lesson.name)

    def _open_task(self, lesson: Lesson) -> None:
        """Open the scenario of a lesson with its task, as one change."""
        window, scenario = self.window, lesson.side(lesson.opens).scenario
        self._known[lesson.name] = lesson
        window.opening.attempt(
            lambda: window.session.add("Task of a lesson", scenario, "Explore", task=lesson.name)
        )

    def _show_task(self) -> None:
        lesson, workspace = self.task_lesson, self.window.session.state.workspace
        if lesson is None or lesson.task is None:
            self.bar.hide()
            return
        progress = self.progress
        self.bar.show_task(lesson.task, progress)
        self.bar.setVisible(workspace not in _WITHOUT_TASK)
        if progress is not None and progress.reached:
            self._view.mark_reached(lesson.name, progress.now)

    @property
    def _view(self) -> Lessons:
        from app.views.lessons.view import Lessons  # imported late: it is slow

        panels = self.window.panels
        view = panels.view(next(o for o in panels.panels if o.workspace == self.workspace))
        assert isinstance(view, Lessons)
        return view

    def _read(self, path: Path) -> None:
        """Read a file, without leaving the page that is shown."""
        view = self._view
        if self.window.opening.attempt(lambda: view.open_file(path)):
            self.watching.watch(view.opened)
            self._known.clear()

    def created(self, view: View) -> None:
        """Connect a new view."""
        from app.views.lessons.view import Lessons  # imported late: it is slow

        assert isinstance(view, Lessons)
        view.written.connect(self.window.opening.say_written)
        view.task_opened.connect(self._open_task)
