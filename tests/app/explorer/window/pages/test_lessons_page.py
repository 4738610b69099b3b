"""The page of the lessons: opened files are shown, and read again when they are saved."""

from dataclasses import replace
from pathlib import Path

from app.explorer.state.session_file import load, save
from app.explorer.window.window import Window
from app.lessons import FOLDER
from tests.app.explorer.waiting import wait

FILE = next(iter(sorted(FOLDER.glob("*.toml"))))


def test_a_saved_lesson_is_read_again_on_whatever_page(window: Window, tmp_path: Path):
    path = tmp_path / "mine.toml"
    text = FILE.read_text("utf-8")
    path.write_text(text, "utf-8")
    window.opening.open([path])
    view = window.pages.lessons.show()
    assert window.session.state.workspace == "Lessons"
    assert view.lesson is not None and view.lesson.name == "mine"
    window.session.show("Map")
    path.write_text(text.replace(view.lesson.title, "Another title"), "utf-8")
    window.pages.lessons.watching.saved.emit(path)
    assert view.lesson.title == "Another title"
    assert window.session.state.workspace == "Map"


def test_the_banner_says_where_lessons_were_written(window: Window, tmp_path: Path):
    window.pages.lessons.show().written.emit(tmp_path / "pack.toml")
    assert window.banner.label.text() == f"Wrote {tmp_path / 'pack.toml'}"


def test_a_task_is_opened_reached_left_and_kept(window: Window, tmp_path: Path):
    session, bar = window.session, window.pages.lessons.bar
    view = window.pages.lessons.show()
    place = next(at for at, lesson in enumerate(view.all) if lesson.name == "07-faster-gpu")
    lesson = view.all[place]
    session.history.clear()
    actions = {action.text(): action for action in window.actions()}
    assert bar.isHidden() and not actions["Leave task"].isEnabled()
    view.turn_to(place)
    view.page.opened.emit()
    assert session.history.count() == 1 and session.state.workspace == "Explore"
    assert (session.state.task, session.state.current) == (lesson.name, 1)
    wait(window.worker)
    assert lesson.task is not None and not bar.isHidden()
    assert bar.words.text() == lesson.task.words and bar.now.text() == "now 4.34 ms"
    assert not bar.tick.checked
    session.set_scenario(replace(session.state.scenario, mode="cuda_graph"), "graph")
    wait(window.worker)
    assert bar.tick.checked and bar.now.text().startswith("reached: ")
    assert lesson.name in view.reached
    path = tmp_path / "one.ridge"
    save(path, session.state)
    assert load(path)[0] == session.state
    session.set_scenario(replace(session.state.scenario, gpu="h200"), "card")
    wait(window.worker)
    assert not bar.tick.checked and bar.now.text().endswith(
        "but the task requires the original GPU"
    )
    session.show("Plan")
    assert bar.isHidden()
    actions["Go to the lesson of the task"].trigger()
    assert session.state.workspace == "Lessons" and view.lesson is lesson
    actions["Leave task"].trigger()
    assert session.state.task == "" and not actions["Leave task"].isEnabled()
    while session.history.canUndo():
        session.history.undo()
    assert session.state.task == "" and len(session.state.sides) == 1
    session.show("Explore")
    wait(window.worker)
