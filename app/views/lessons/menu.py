"""The menu of the lessons, and their commands in the command palette."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QSignalBlocker
from PySide6.QtWidgets import QMenu

from app.lessons import own

if TYPE_CHECKING:
    from app.views.lessons.view import Lessons


def menu_commands(view: Lessons) -> list[tuple[str, Callable[[], None]]]:
    """The list, the editor and every lesson."""
    lessons = [(f"{n}  {each.title}", view.turns(n - 1)) for n, each in enumerate(view.all, 1)]
    return [("List all lessons", view.list_all), ("Write a lesson …", view.writing.open), *lessons]


def fill_menu(menu: QMenu, view: Lessons) -> None:
    """Fill the menu of all lessons; answered ones are ticked."""
    with QSignalBlocker(menu):
        menu.clear()
    menu.addAction("List all lessons").triggered.connect(view.list_all)
    menu.addSeparator()
    for place, lesson in enumerate(view.all):
        action = menu.addAction(f"{place + 1}  {lesson.title}")
        action.setCheckable(True)
        action.setChecked(lesson.name in view.outcomes)
        action.triggered.connect(view.turns(place))
    menu.addSeparator()
    reload = menu.addAction("Reload lessons")
    reload.setToolTip(f"Your own lessons are TOML files in {own()}")
    reload.triggered.connect(lambda: (view.read_again(), view.question_changed.emit()))
    menu.addAction("Write a lesson …").triggered.connect(view.writing.open)
    menu.addAction("Save my lessons as one file …").triggered.connect(view.writing.save_pack)
