"""The list of lessons: the texts about each lesson, and the actions of the list."""

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel

from app.answers.side import Side
from app.lessons import FOLDER_VARIABLE, packaged
from app.lessons.pack import read_all
from app.views.lessons.index import last_question
from app.views.lessons.view import Lessons
from tests.app.explorer.mouse import close_popups, opened, right_click


@pytest.fixture
def view(shown: Any, side: Side, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lessons:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "none"))
    return shown(Lessons, (side,), size=(980, 640))


def test_every_lesson_says_what_it_asks_takes_and_needs(view: Lessons):
    assert view.pages.currentWidget() is view.index
    assert len(view.index.rows) == len(packaged()) >= 14
    for lesson, row in zip(packaged(), view.index.rows, strict=True):
        texts = [label.text() for label in row.findChildren(QLabel)]
        assert any(lesson.title in text for text in texts)
        assert last_question(lesson) in texts and "{" not in last_question(lesson)
        assert f"{lesson.minutes} min" in row.needs.text() and lesson.needs in row.needs.text()
        assert lesson.minutes and lesson.needs
        assert ("with a task" in row.needs.text()) == (lesson.task is not None)
    total = sum(lesson.minutes for lesson in packaged())
    assert f"{total} minutes in all" in view.index.about.text()


def test_rows_open_their_lessons_and_keys_come_back(view: Lessons):
    view.index.rows[2].button.click()
    assert view.pages.currentWidget() is view.page
    assert view.lesson is not None and view.lesson.name == packaged()[2].name
    assert view.focusWidget() is view.page.guess  # the arrow keys move its markers
    QTest.keyClick(view, Qt.Key.Key_Up, Qt.KeyboardModifier.AltModifier)
    assert view.pages.currentWidget() is view.index
    QTest.mouseClick(view.index.rows[1], Qt.MouseButton.LeftButton, pos=QPoint(300, 20))
    assert view.place == 1 and view.pages.currentWidget() is view.page
    commands = dict(view.commands())
    commands["List all lessons"]()
    assert view.pages.currentWidget() is view.index
    commands[f"4  {packaged()[3].title}"]()
    assert view.place == 3


def test_the_menu_of_a_row_opens_and_ticks_its_lesson(view: Lessons):
    row = view.index.rows[2]
    right_click(row, row.rect().center())
    assert opened().accessibleName() == "Menu of lesson 3"
    opening, ticking = opened().actions()
    close_popups()
    ticking.trigger()
    assert row.box.isChecked()
    ticking.trigger()
    assert not row.box.isChecked()
    opening.trigger()
    assert view.pages.currentWidget() is view.page and view.lesson is row.lesson


def test_ticked_lessons_are_handed_out_as_one_file(
    view: Lessons, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    index = view.index
    assert not index.hand_out.isEnabled() and index.hand_out.toolTip() == "Tick the lessons first"
    for place in (6, 0):
        index.rows[place].box.click()
    assert index.hand_out.text() == "Hand out 2 …"
    path = tmp_path / "week.toml"
    monkeypatch.setattr("app.views.lessons.writing.ask_where", lambda *_: path)
    written: list[Path] = []
    view.written.connect(written.append)
    index.hand_out.click()
    assert written == [path]
    titles = [lesson.title for lesson in read_all(path)]
    assert titles == [packaged()[0].title, packaged()[6].title]


def test_a_reached_task_is_ticked_in_the_list_and_on_the_page(view: Lessons):
    name = packaged()[6].name
    index = view.index
    assert index.rows[6].tick.isHidden()
    index.rows[0].box.click()
    view.mark_reached(name, "628 µs")
    assert not index.rows[6].tick.isHidden() and index.rows[6].tick.checked
    assert index.ticked() == [packaged()[0].name]  # chosen lessons stay chosen
    assert view.reached == {name: "628 µs"}
