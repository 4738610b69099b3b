"""A teacher's lessons: an editor with a live view, and all lessons saved as one file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from app.lessons import lesson_paths, own
from app.lessons.pack import pack_text
from app.outputs import write
from app.views.lessons.author import TEMPLATE, Author
from app.widgets.save_dialog import ask_where
from simulator.errors import InputError
from simulator.formats.present import files

if TYPE_CHECKING:
    from app.views.lessons.view import Lessons


class Writing:
    """The editor of the lessons' view, and the pack of the user's lessons."""

    def __init__(self, view: Lessons) -> None:
        self.view = view
        self.author: Author | None = None

    def open(self) -> None:
        """Open the editor; the page shows the lesson while the user types."""
        if self.author is None:
            self.author = Author(TEMPLATE, self.view)
            self.author.written.connect(self.view.preview)
            self.author.saved.connect(self.view.written)
        self.author.show()
        self.author.read()

    def hand_out(self, names: Sequence[str]) -> None:
        """Ask for a file, and write the lessons of these names into it."""
        self._save("Hand out lessons", lesson_paths(self.view.opened), names)

    def save_pack(self) -> None:
        """Ask for a file, and write the user's own lessons into it."""
        self._save("Save lessons as one file", files(own(), "*.toml"), None)

    def _save(self, title: str, paths: Sequence[Path], names: Sequence[str] | None) -> None:
        """Write the lessons of the given files, or those with the given names, to a file that the
        user names."""
        path = ask_where(self.view, title, "lessons.toml", ".toml", "Lessons")
        if path is None:
            return
        try:
            if not paths:
                raise InputError(
                    f"there is no lesson in {own()}: expected a TOML file; write a lesson first"
                )
            write("Save lessons", str(path), pack_text(path.stem, paths, names))
        except InputError as error:
            self.view.report((str(error),))
        else:
            self.view.report(())
            self.view.written.emit(path)
