"""A class answers before the result is shown, and its answers stay visible next to the result."""

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QRectF, Qt
from PySide6.QtTest import QTest

from app import lessons
from app.answers.side import Side
from app.scenes.lessons.votes import ClassVotes
from app.views.lessons.view import Lessons
from app.widgets.paint import Paint
from tests.app.views.conftest import picture
from tests.app.views.lessons.test_lessons_view import PAIR, TOP


def test_a_histogram_has_each_answer_in_its_bin():
    votes = ClassVotes()
    for guess in (1.0, 1.1, 10.0, 5000.0, 0.001):
        votes.add({"b": guess}, "compute" if guess > 1 else "memory")
    bins = votes.histogram("b", 0.1, 1000.0, log=True)
    assert sum(count for _, _, count in bins) == 5
    # 12 bins over 4 decades: 1 and 1.1 are in the bin that begins at 1; values outside count in the
    # end bins
    assert [count for _, _, count in bins] == [1, 2, 1, 1]
    assert bins[0][0] == pytest.approx(0.1) and bins[-1][1] == pytest.approx(1000.0)
    assert votes.choices == {"compute": 3, "memory": 2}
    votes.remove_last()
    assert len(votes.answers) == 4 and votes.histogram("c", 0.1, 1.0, log=True) == []


@pytest.fixture
def view(shown: Any, side: Side, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lessons:
    monkeypatch.setattr(lessons, "FOLDER", tmp_path / "none")
    monkeypatch.setenv(lessons.FOLDER_VARIABLE, str(tmp_path))
    (tmp_path / "1.toml").write_text(TOP + 'guess = "period"\n' + PAIR, "utf-8")
    view = shown(Lessons, (side,), size=(1100, 700))
    view.turn_to(0)
    return view


def test_answers_are_counted_until_the_prediction_is_locked(view: Lessons, side: Side):
    row, attempt = view.page.asking, view.attempt
    assert attempt is not None
    assert not row.add.isEnabled()  # no marker has been moved yet
    assert row.add.toolTip() == "Drag a marker first, or move it with the arrow keys"
    for guess in (1e-4, 1e-4, 3e-4):
        attempt.put("b", guess)
        view.page.options[0].click()
        before = picture(view.page.guess)
        row.add.click()
        assert picture(view.page.guess) != before
    assert "one pupil" in row.add.toolTip()
    assert row.count.text() == "3 answers" and len(attempt.votes.answers) == 3
    row.back.click()
    assert row.count.text() == "2 answers"
    assert attempt.votes.choices == {view.page.options[0].value: 2}
    view.go(1)
    assert not row.add.isVisible() and row.count.text() == "2 answers"
    attempt.vote()
    assert len(attempt.votes.answers) == 2


def test_the_space_key_after_locking_does_not_discard_the_prediction(view: Lessons):
    attempt, page = view.attempt, view.page
    assert attempt is not None
    view.activateWindow()
    attempt.put("b", 1e-4)
    page.options[0].click()
    page.next_button.setFocus()
    QTest.keyClick(page.next_button, Qt.Key.Key_Space)
    assert attempt.locked and not page.next_button.isEnabled()  # it is simulated first
    focused = view.focusWidget()
    assert focused is page.guess
    QTest.keyClick(focused, Qt.Key.Key_Space)
    assert attempt.locked


def test_counts_at_the_right_edge_are_inside_the_plot(
    view: Lessons, monkeypatch: pytest.MonkeyPatch
):
    row, attempt, plot = view.page.asking, view.attempt, view.page.guess
    assert attempt is not None
    attempt.put("b", 1e-4)
    view.page.options[0].click()
    row.add.click()
    boxes = list[QRectF]()
    text = Paint.text

    def recorded(paint: Paint, x: float, y: float, words: str, *rest: Any, **more: Any) -> QRectF:
        box = text(paint, x, y, words, *rest, **more)
        if words == "1" and box.left() > plot.plot.left():  # not a number of the axis
            boxes.append(box)
        return box

    monkeypatch.setattr(Paint, "text", recorded)
    for x, left in ((plot.width() / 2, False), (plot.width() - 30.0, True)):
        boxes.clear()
        monkeypatch.setattr(plot, "x_of", lambda key, at=x: at)
        picture(plot)
        assert boxes and all((box.right() < x) == left for box in boxes)
        assert all(box.left() >= 0 and box.right() <= plot.width() for box in boxes)
