"""Predict, lock, reveal, explain, try: with pointer and with keys."""

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtTest import QTest

from app import lessons
from app.answers.side import Side
from app.scenes.lessons.attempt import Attempt
from app.theme import DARK, LIGHT, Theme
from app.views.lessons.view import Lessons
from simulator.scenario.scenario import Scenario
from tests.app.views.conftest import picture, pointer

TOP = """format = "ridgepoint-lesson"
version = 1
title = "The title"
question = "Eager it takes {period}."
explain = "In a graph {period_b}: {faster_b}."
"""
PAIR = """choose = "regime"
opens = "b"
[a]
label = "eager"
network = "mlp-tiny"
[b]
label = "graph"
mode = "cuda_graph"
[[card]]
name = "graph"
figure = "{period_b}"
regime = "b"
"""
LINE = """over = "batch"
values = [32, 256, 2048, 16384, 131072]
markers = [2048, 16384]
[a]
network = "mlp-tiny"
batch = 32
[b]
mode = "cuda_graph"
"""


@pytest.fixture
def view(shown: Any, side: Side, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, theme: Theme):
    """A view of four lessons in a user's folder, without the packaged lessons."""
    monkeypatch.setattr(lessons, "FOLDER", tmp_path / "none")
    monkeypatch.setenv(lessons.FOLDER_VARIABLE, str(tmp_path))
    guess = 'guess = "period"\n'
    for name, text in {
        "1": TOP + guess + PAIR,
        "2": TOP + LINE,
        "3": TOP + 'guess = "shift"\n' + LINE.replace("markers = [2048, 16384]\n", ""),
        "4": TOP + 'guess = "overhead"\n' + PAIR.replace('choose = "regime"\n', ""),
        "5": "x",
    }.items():
        (tmp_path / f"{name}.toml").write_text(text, "utf-8")
    view = shown(Lessons, (side,), theme=theme, size=(1200, 700))
    view.turn_to(0)
    return view


def simulated(view: Lessons) -> None:
    question = view.question((), 0)
    while question is not None:
        view.answer(question(lambda: False))
        question = view.question((), 0)


def attempted(view: Lessons) -> Attempt:
    simulated(view)
    assert view.attempt is not None
    return view.attempt


def test_predict_lock_reveal_explain_try(view: Lessons, side: Side):
    attempt, page = attempted(view), view.page
    emitted: list[Scenario] = []
    view.scenario_requested.connect(emitted.append)
    assert page.words.text() == "Eager it takes 435 µs."
    assert not page.next_button.isEnabled() and page.next_button.toolTip().startswith(
        "Drag a marker first"
    )
    view.go(1)
    assert attempt.step == "predict"
    assert view.outcomes == {} and view.question((), 0) is None  # no simulation before the guess
    at = page.guess.point("b")
    pointer(page.guess, QEvent.Type.MouseButtonPress, at)
    pointer(page.guess, QEvent.Type.MouseMove, at + QPointF(0, 30))
    pointer(page.guess, QEvent.Type.MouseButtonRelease, at + QPointF(0, 30))
    assert attempt.guesses["b"] < side.prediction.period_s and attempt.moved == {"b"}
    assert page.next_button.toolTip() == "Choose an answer first"
    page.options[2].click()
    assert attempt.choice == "overhead" and page.next_button.isEnabled()
    before = picture(view)
    page.next_button.click()
    assert attempt.locked and view.outcome is None and not page.next_button.isEnabled()
    guess = dict(attempt.guesses)
    QTest.keyClick(page.guess, Qt.Key.Key_Up)
    assert attempt.guesses == guess  # locked
    simulated(view)
    outcome = view.outcome
    assert outcome is not None and outcome.right == outcome.sides["a"].regime == "overhead"
    assert page.options[2].judged == "correct" and page.reveal.outcome is outcome
    assert picture(view) != before
    verdict = page.verdict.text()
    assert verdict.startswith(
        f"You said {attempt.written('b')}. Simulated: {outcome.filled('{period_b}')} ("
    )
    assert verdict.endswith(attempt.relative_to_guess(outcome, "b"))
    assert not page.below.isVisibleTo(view)
    page.next_button.click()
    assert page.below.isVisibleTo(view)
    assert page.explanation.words.text() == outcome.filled(TOP.split('"')[-2])
    page.next_button.click()
    page.open.click()
    assert emitted == [Scenario("mlp-tiny", mode="cuda_graph")]
    rows = view.rows()
    assert rows[1][:3] == ["graph", attempt.written("b"), outcome.filled("{period_b}")]
    assert {len(row) for row in rows} == {5} and rows[2][0] == "eager"
    assert view.subtitle().startswith("1 of 1 ")
    page.redo.click()
    assert attempt.step == "predict" and not page.verdict.text() and attempt.choice == ""


def test_a_lesson_is_done_with_keys_alone(view: Lessons):
    view.turn_to(1)
    attempt, guess = attempted(view), view.page.guess
    assert attempt.keys == (2048, 16384)
    start = attempt.guesses[2048]
    QTest.keyClick(guess, Qt.Key.Key_Up)
    assert attempt.guesses[2048] == pytest.approx(1.02 * start)
    QTest.keyClick(guess, Qt.Key.Key_Right)
    QTest.keyClick(guess, Qt.Key.Key_Up, Qt.KeyboardModifier.ShiftModifier)
    assert attempt.guesses[16384] == pytest.approx(1.2 * start)
    assert guess.accessibleDescription() == f"batch 16384: {attempt.written(16384)}"
    QTest.keyClick(guess, Qt.Key.Key_Return)
    assert attempt.locked
    simulated(view)
    reveal, outcome = view.page.reveal, view.outcome
    assert outcome is not None and outcome.curve is not None
    for _ in range(3):
        QTest.keyClick(reveal, Qt.Key.Key_Right)
    card = reveal.card()
    assert card and card.head == "Batch 2,048" and card.note == f"{card.regime}-bound"
    assert ("Your prediction", attempt.written(2048)) in card.rows
    assert not picture(view).isNull()
    QTest.keyClick(view.page, Qt.Key.Key_Right, Qt.KeyboardModifier.AltModifier)
    assert view.place == 2


def test_a_shift_is_guessed_along_the_line(view: Lessons):
    view.turn_to(2)
    attempt, guess = attempted(view), view.page.guess
    assert attempt.keys == ("shift",)
    at = QPointF(guess.along.at(300), guess.plot.center().y())
    pointer(guess, QEvent.Type.MouseButtonPress, at)
    assert attempt.guesses["shift"] == pytest.approx(300, abs=2)
    view.go(1)
    simulated(view)
    outcome = view.outcome
    assert (
        outcome is not None and outcome.change is not None and outcome.change.before == "overhead"
    )
    first = outcome.change.first
    attempt.guesses["shift"] = first
    assert attempt.relative_to_guess(outcome, "shift") == "as you predicted"
    assert attempt.hits(outcome) == [True]
    attempt.guesses["shift"] = 8 * first
    assert attempt.relative_to_guess(outcome, "shift").endswith(" times earlier")
    assert attempt.hits(outcome) == [False]
    assert view.page.reveal.card() is None and not picture(view).isNull()


def test_shares_are_guessed_in_points(view: Lessons):
    view.turn_to(3)
    attempt = attempted(view)
    attempt.put("b", 7.0)
    assert attempt.guesses["b"] == 1.0  # a share is at most 1
    view.go(1)
    simulated(view)
    outcome = view.outcome
    assert outcome is not None
    share = outcome.sides["b"].shares["overhead"]
    attempt.guesses["b"] = share - 0.2
    assert attempt.relative_to_guess(outcome, "b") == "20 points more"
    assert attempt.hits(outcome) == [False]
    attempt.guesses["b"] = share - 0.05
    assert attempt.hits(outcome) == [True]


def test_each_marker_counts_as_a_prediction(view: Lessons):
    """Regression: two markers, one of them good, counted as "0 of 1 predictions"."""
    view.turn_to(1)
    attempt = attempted(view)
    attempt.put(2048, 1.0)
    view.go(1)
    simulated(view)
    outcome = view.outcome
    assert outcome is not None
    attempt.guesses |= {2048: 1.5 * outcome.at(2048), 16384: 3.0 * outcome.at(16384)}
    assert view.subtitle() == "1 of 2 predictions within a factor of 2 (shares: 10 points)"


def test_unreadable_lessons_and_refusals_are_shown(view: Lessons, tmp_path: Path):
    assert view.error_label.text().startswith(
        f"A lesson could not be read: {tmp_path / '5.toml'}: not TOML"
    )
    view.turn_to(1)
    view.answer(("2", "no room: expected more; get some"))
    assert view.page.reveal.waiting == "no room: expected more; get some"
    assert view.question((), 0) is None
    view.restyle(LIGHT if view.theme is DARK else DARK)
    assert view.page.guess.theme is view.theme is view.page.explanation.cards.theme
    view.page.menu.aboutToShow.emit()
    entries = [action.text() for action in view.page.menu.actions()]
    assert entries[:4] == ["List all lessons", "", "1  The title", "2  The title"]
