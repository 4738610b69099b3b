"""Lesson packs: several lessons in one TOML file, to hand out.

A pack has the keys `format`, `version` and `title`, and one [[lesson]] for each lesson, with the
keys of a lesson's own file.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from app.lessons import lesson_file
from app.lessons.lesson import Lesson
from app.lessons.lesson_file import of_table, table_of
from simulator.errors import InputError
from simulator.formats.limited import LONGEST_LINE, contents
from simulator.formats.toml import key, literal, shown, table

FORMAT, VERSION = "ridgepoint-lessons", 1
_MAX_BYTES, _MAX_LESSONS = 512 * 1024, 60


def read_all(path: Path) -> tuple[Lesson, ...]:
    """The lessons of a pack, or the single lesson of a lesson's file. Raises InputError with the
    file, the lesson, the value and the expected value."""
    raw = contents(path, "a lesson", _MAX_BYTES, LONGEST_LINE)
    pack = table_of(raw, str(path))
    if pack.get("format") != FORMAT:
        if len(raw) > lesson_file.MAX_BYTES:
            return (lesson_file.read(path),)  # raises InputError, because the file is too large
        return (of_table(pack, path.stem, str(path)),)
    for name, value in pack.items():
        if name not in ("format", "version", "title", "lesson"):
            raise InputError(
                f"{path}: unknown key {shown(name)}: expected title and [[lesson]] tables"
            )
        if name == "version" and value != VERSION:
            raise InputError(f"{path}: version is {shown(value)}: expected {VERSION}; set it")
    tables = pack.get("lesson")
    listed = cast("list[object]", tables) if isinstance(tables, list) else []
    if not 0 < len(listed) <= _MAX_LESSONS:
        raise InputError(
            f"{path}: lesson is {shown(pack.get('lesson'))}: expected 1 to {_MAX_LESSONS} "
            "[[lesson]] tables"
        )
    head = {"format": lesson_file.FORMAT, "version": lesson_file.VERSION}
    return tuple(
        of_table(
            {**head, **cast("dict[str, Any]", each)}, f"{path.stem}-{at:02}", f"{path}, lesson {at}"
        )
        if isinstance(each, dict)
        else _no_table(path, at, each)
        for at, each in enumerate(listed, 1)
    )


def pack_text(title: str, paths: Sequence[Path], names: Collection[str] | None = None) -> str:
    """The TOML of a pack with the lessons of some files and packs: all of them, or only those
    named. If several lessons have the same name, the last one is written. Raises InputError if one
    is unreadable."""
    lines = [f"format = {literal(FORMAT)}", f"version = {VERSION}", f"title = {literal(title)}"]
    lesson_tables: list[tuple[str, Mapping[str, Any]]] = []
    for path in paths:
        lessons = read_all(path)
        file = table_of(path.read_bytes(), str(path))
        tables = file["lesson"] if file.get("format") == FORMAT else [file]
        lesson_tables += zip((lesson.name for lesson in lessons), tables, strict=True)
    by_name = dict(lesson_tables)
    chosen = (
        [keys for _, keys in lesson_tables]
        if names is None
        else [keys for name, keys in by_name.items() if name in names]
    )
    for keys in chosen:
        lines += _lesson_lines({k: v for k, v in keys.items() if k not in ("format", "version")})
    return "\n".join(lines) + "\n"


def _lesson_lines(lesson: Mapping[str, Any]) -> list[str]:
    lines = ["", "[[lesson]]"]
    lines += [f"{key(k)} = {literal(v)}" for k, v in lesson.items() if not _is_nested(v)]
    for name, value in lesson.items():
        if isinstance(value, Mapping):
            lines += table(f"lesson.{key(name)}", cast("Mapping[str, Any]", value))
        elif _is_nested(value):
            for each in value:
                lines += ["", f"[[lesson.{key(name)}]]"]
                lines += [f"{key(k)} = {literal(v)}" for k, v in each.items()]
    return lines


def _is_nested(value: object) -> bool:
    """Whether a value is a table or an array of tables."""
    if isinstance(value, list):
        return isinstance(next(iter(cast("list[object]", value)), None), Mapping)
    return isinstance(value, Mapping)


def _no_table(path: Path, at: int, value: object) -> Lesson:
    raise InputError(f"{path}, lesson {at} is {shown(value)}: expected a [[lesson]] table")
