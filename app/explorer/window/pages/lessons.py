"""Shows the lessons of files that the user opens, and shows them again when a file is saved."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from app.explorer.background.watching import Watching

if TYPE_CHECKING:
    from app.explorer.window.window import Window
    from app.views.lessons.view import Lessons
    from app.widgets.view import View


class LessonsPage:
    """Opens files in the view of the lessons."""

    workspace = "Lessons"

    def __init__(self, window: Window) -> None:
        self.window = window
        self.watching = Watching()
        self.watching.setParent(window)
        self.watching.saved.connect(self._read)
        window.opening.lessons_opened.connect(self.open)
        window.panels.created.connect(self._created)

    def show(self) -> Lessons:
        """Show the page. Returns its view."""
        self.window.session.show(self.workspace)
        return self._view

    def open(self, path: Path) -> None:
        """Show the lessons of a file; the banner shows errors in it."""
        self.show()
        self._read(path)

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

    def _created(self, view: View) -> None:
        from app.views.lessons.view import Lessons  # imported late: it is slow

        if view.workspace == self.workspace and isinstance(view, Lessons):
            view.written.connect(self.window.opening.say_written)
