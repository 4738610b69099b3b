"""Lessons: questions with simulated answers, each a small TOML file that a teacher can write.

This folder holds the packaged lessons; `own()` is the folder of the user's lessons. May import
answers and quantities; no Qt.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import platformdirs

from app.lessons.lesson import Lesson
from app.lessons.lesson_file import read
from app.lessons.pack import read_all
from simulator.errors import InputError
from simulator.formats.present import files

FOLDER = Path(__file__).parent
FOLDER_VARIABLE = "RIDGEPOINT_LESSONS"
_MOST = 200


def own() -> Path:
    """The folder of a user's lessons; RIDGEPOINT_LESSONS overrides it."""
    named = os.environ.get(FOLDER_VARIABLE)
    return (
        Path(named)
        if named
        else Path(platformdirs.user_config_dir("ridgepoint", False)) / "lessons"
    )


def packaged() -> tuple[Lesson, ...]:
    """The packaged lessons, in the order of their names."""
    return tuple(read(path) for path in sorted(FOLDER.glob("*.toml")))


@lru_cache(maxsize=64)
def _read_packaged(path: Path) -> tuple[Lesson, ...]:
    return read_all(path)


def lesson_paths(opened: Sequence[Path] = ()) -> tuple[Path, ...]:
    """The files of the packaged lessons, of the user's lessons, and those that the user opened."""
    paths = [*sorted(FOLDER.glob("*.toml")), *files(own(), "*.toml")[:_MOST]]
    return tuple(dict.fromkeys([*paths, *opened]))


def lessons(opened: Sequence[Path] = ()) -> tuple[tuple[Lesson, ...], tuple[str, ...]]:
    """Every lesson, the user's and those of `opened` files last, and the errors of unreadable
    files. A lesson replaces an earlier one of the same name, such as the original of a copy."""
    readable: dict[str, Lesson] = {}
    wrong: list[str] = []
    for path in lesson_paths(opened):
        reader = _read_packaged if path.parent == FOLDER else read_all
        try:
            readable |= {lesson.name: lesson for lesson in reader(path)}
        except InputError as error:
            wrong.append(str(error))
    return tuple(readable.values()), tuple(wrong)
