"""A lesson is shown next to its text while it is written; opened files are shown too."""

from pathlib import Path
from typing import Any

import pytest

from app import lessons
from app.answers.side import Side
from app.lessons.pack import pack_text, read_all
from app.views.lessons import writing
from app.views.lessons.author import NAME, TEMPLATE
from app.views.lessons.view import Lessons
from tests.app.views.lessons.test_lessons_view import PAIR, TOP


@pytest.fixture
def view(shown: Any, side: Side, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lessons:
    monkeypatch.setattr(lessons, "FOLDER", tmp_path / "none")
    monkeypatch.setenv(lessons.FOLDER_VARIABLE, str(tmp_path / "own"))
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "first.toml").write_text(TOP + PAIR, "utf-8")
    view = shown(Lessons, (side,), size=(1100, 700))
    view.turn_to(0)
    return view


def test_the_page_shows_the_typed_lesson(view: Lessons, tmp_path: Path, monkeypatch: Any):
    view.writing.open()
    author = view.writing.author
    assert author is not None and author.editor.toPlainText() == TEMPLATE
    assert view.lesson is not None and view.lesson.name == NAME
    assert view.lesson.title == "Does a CUDA graph help one sentence?"
    author.editor.setPlainText(TEMPLATE.replace("one sentence?", "a word?"))
    author.read()
    assert view.lesson.title == "Does a CUDA graph help a word?"
    assert [lesson.name for lesson in view.all] == ["first", NAME]
    author.editor.setPlainText(TEMPLATE.replace("mode =", "mood ="))
    author.read()
    assert author.error.text().startswith("the lesson: ") and "mood" in author.error.text()
    assert not author.save.isEnabled()
    assert view.lesson.title == "Does a CUDA graph help a word?"  # the last valid lesson
    author.editor.setPlainText(TEMPLATE)
    author.read()
    written = list[Path]()
    view.written.connect(written.append)
    for path in (tmp_path / "no folder" / "saved.toml", tmp_path / "saved.toml"):
        monkeypatch.setattr("app.views.lessons.author.ask_where", lambda *_, path=path: path)
        author.save.click()
        assert author.error.isHidden() == (path.parent == tmp_path)
        assert author.save.isEnabled()
    assert written == [tmp_path / "saved.toml"]
    assert read_all(written[0])[0].title == view.lesson.title


def test_an_opened_copy_replaces_the_lesson_of_its_name(view: Lessons, tmp_path: Path):
    copy = tmp_path / "first.toml"
    copy.write_text((TOP + PAIR).replace("The title", "My title"), "utf-8")
    view.open_file(copy)
    assert [lesson.title for lesson in view.all] == ["My title"]
    assert view.lesson is not None and view.lesson.title == "My title"


def test_an_opened_pack_is_shown_and_read_again(view: Lessons, tmp_path: Path):
    path = tmp_path / "week.toml"
    own = tmp_path / "own" / "first.toml"
    path.write_text(pack_text("Week", [own, own]), "utf-8")
    view.open_file(path)
    assert [lesson.name for lesson in view.all] == ["first", "week-01", "week-02"]
    assert view.lesson is not None and view.lesson.name == "week-01"
    path.write_text(pack_text("Week", [own]).replace("The title", "Another"), "utf-8")
    view.open_file(path)
    assert [lesson.name for lesson in view.all] == ["first", "week-01"]
    assert view.lesson.title == "Another"


def test_lessons_of_ones_own_are_written_as_one_file(
    view: Lessons, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "pack.toml"
    monkeypatch.setattr(writing, "ask_where", lambda *_: path)
    written = list[Path]()
    view.written.connect(written.append)
    view.writing.save_pack()
    assert [lesson.title for lesson in read_all(path)] == ["The title"] and written == [path]
    (tmp_path / "own" / "first.toml").unlink()
    view.writing.save_pack()
    assert view.error_label.text() == (
        f"there is no lesson in {tmp_path / 'own'}: expected a TOML file; write a lesson first"
    )
