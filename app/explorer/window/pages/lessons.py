"""Shows the lessons of files that the user opens, and again whenever one of them is saved."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from app.explorer.background.watching import Watching

if TYPE_CHECKING:
    from app.explorer.window.window import Window
    from app.views.lessons.view import Lessons


class LessonsPage:
    """Opens files in the view of the lessons."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self.watching = Watching()
        self.watching.setParent(window)
        self.watching.saved.connect(self.open)
        window.opening.lessons_opened.connect(self.open)

    def show(self) -> Lessons:
        """Show the page. Returns its view."""
        from app.views.lessons.view import Lessons  # imported late: it is slow

        window = self.window
        window.session.show(Lessons.workspace)
        offered = next(o for o in window.panels.panels if o.workspace == Lessons.workspace)
        view = window.panels.view(offered)
        assert isinstance(view, Lessons)
        return view

    def open(self, path: Path) -> None:
        """Show the lessons of a file; the banner says what is wrong with it."""
        view = self.show()
        if self.window.opening.attempt(lambda: view.open_file(path)):
            self.watching.watch(view.opened)
