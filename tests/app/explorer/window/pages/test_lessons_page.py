"""The page of the lessons: opened files are shown, and read again when they are saved."""

from pathlib import Path

from app.explorer.window.window import Window
from app.lessons import FOLDER

FILE = next(iter(sorted(FOLDER.glob("*.toml"))))


def test_a_saved_lesson_is_read_again_on_whatever_page(window: Window, tmp_path: Path):
    path = tmp_path / "mine.toml"
    text = FILE.read_text("utf-8")
    path.write_text(text, "utf-8")
    window.opening.open([path])
    view = window.lessons.show()
    assert window.session.state.workspace == "Lessons"
    assert view.lesson is not None and view.lesson.name == "mine"
    window.session.show("Map")
    path.write_text(text.replace(view.lesson.title, "Another title"), "utf-8")
    window.lessons.watching.saved.emit(path)
    assert view.lesson.title == "Another title"
    assert window.session.state.workspace == "Map"


def test_the_banner_says_where_lessons_were_written(window: Window, tmp_path: Path):
    window.lessons.show().written.emit(tmp_path / "pack.toml")
    assert window.banner.label.text() == f"Wrote {tmp_path / 'pack.toml'}"
