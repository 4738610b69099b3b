"""Lesson packs: the lessons of a pack equal those of separate files."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app import lessons
from app.lessons import FOLDER, _read_packaged, lesson_file
from app.lessons.pack import pack_text, read_all
from simulator.errors import InputError

FILES = sorted(FOLDER.glob("*.toml"))


def test_a_pack_has_the_lessons_of_its_files(tmp_path: Path):
    path = tmp_path / "week.toml"
    path.write_text(pack_text("Week 1", FILES), "utf-8")
    packed = read_all(path)
    assert [lesson.name for lesson in packed[:2]] == ["week-01", "week-02"]
    assert [replace(lesson, name="") for lesson in packed] == [
        replace(lesson_file.read(file), name="") for file in FILES
    ]


def test_packs_are_packed_with_single_lessons(tmp_path: Path):
    first, both = tmp_path / "first.toml", tmp_path / "both.toml"
    first.write_text(pack_text("First", FILES[:2]), "utf-8")
    both.write_text(pack_text("Both", [first, FILES[2]]), "utf-8")
    assert [lesson.title for lesson in read_all(both)] == [
        lesson_file.read(file).title for file in FILES[:3]
    ]


def test_the_file_of_one_lesson_is_read_as_before():
    assert read_all(FILES[0]) == (lesson_file.read(FILES[0]),)


def test_a_pack_in_the_folder_of_ones_own_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(lessons.FOLDER_VARIABLE, str(tmp_path))
    (tmp_path / "mine.toml").write_text(pack_text("Mine", FILES[:2]), "utf-8")
    readable, wrong = lessons.lessons()
    assert [lesson.name for lesson in readable[-2:]] == ["mine-01", "mine-02"] and wrong == ()


HEAD = 'format = "ridgepoint-lessons"\n'


@pytest.mark.parametrize(
    "text, words",
    [
        ("version = 2\n", "version is 2: expected 1; set it"),
        ("", "lesson is None: expected 1 to 60 [[lesson]] tables"),
        ("lesson = []\n", "lesson is an array: expected 1 to 60 [[lesson]] tables"),
        ("lesson = [3]\n", ", lesson 1 is 3: expected a [[lesson]] table"),
        ("leson = 1\n", "unknown key 'leson': expected title and [[lesson]] tables"),
    ],
)
def test_wrong_packs(text: str, words: str, tmp_path: Path):
    path = tmp_path / "pack.toml"
    path.write_text(HEAD + text, "utf-8")
    with pytest.raises(InputError) as error:
        read_all(path)
    joint = "" if words.startswith(",") else ": "
    assert str(error.value) == f"{path}{joint}{words}"


def test_a_wrong_lesson_is_named(tmp_path: Path):
    path = tmp_path / "pack.toml"
    path.write_text(HEAD + '[[lesson]]\ntitle = "x"\n', "utf-8")
    with pytest.raises(InputError, match=", lesson 1: "):
        read_all(path)


def test_each_packaged_lesson_is_parsed_once(monkeypatch: pytest.MonkeyPatch):
    parsed: list[str] = []
    parse = lesson_file.table_of

    def counted(raw: bytes, source: str) -> dict[str, Any]:
        parsed.append(source)
        return parse(raw, source)

    monkeypatch.setattr("app.lessons.pack.table_of", counted)
    monkeypatch.setattr(lesson_file, "table_of", counted)
    _read_packaged.cache_clear()
    first, second = lessons.lessons(), lessons.lessons()
    assert first == second and sorted(parsed) == sorted(map(str, FOLDER.glob("*.toml")))
