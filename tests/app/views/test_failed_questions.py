"""A question without an answer: the view shows the reason, not another scenario's figures."""

from typing import Any

import pytest

from app.answers.side import Side
from app.scenes.sweep.curves import curves
from app.views.combinations.view import Combinations
from app.views.regime_map.view import RegimeMap
from app.views.sweep.view import Sweep
from app.widgets.canvas import Canvas

WHY = "nets.py:pair returns its own inputs: leave batch and seq out"


@pytest.fixture
def messages(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    painted: list[str] = []
    monkeypatch.setattr(Canvas, "paint_message", lambda _, paint, words: painted.append(words))
    return painted


def test_a_failed_sweep_says_why_and_leaves_the_curves(
    shown: Any, side: Side, messages: list[str]
) -> None:
    view = shown(Sweep, (side,))
    view.fail(WHY)
    view.grab()
    assert messages[-1] == f"No sweep over batch.\n{WHY}" and view.canvas.sweep is None
    view.draw((side,), 0)  # another question is running
    assert view.canvas.failure == ""
    view.answer(curves((side,), 0, "batch", lambda: False))
    messages.clear()
    view.grab()
    assert not messages and view.canvas.first is not None


def test_a_failed_map_says_why_and_a_failed_goal_leaves_the_map(
    shown: Any, side: Side, messages: list[str]
) -> None:
    view = shown(RegimeMap, (side,))
    view.fail("no such goal")
    assert view.map.chart is not None and view.map.failure == ""
    view.map.fade()
    view.fail(WHY)
    view.grab()
    assert f"No map.\n{WHY}" in messages and view.map.chart is None and view.chart is None
    assert all(canvas.sweep is None for canvas in view.through.slices)
    view.draw((side,), 0)
    assert view.map.failure == ""


def test_failed_combinations_say_why(shown: Any, side: Side, messages: list[str]) -> None:
    view = shown(Combinations, (side,))
    view.fail(WHY)
    view.grab()
    assert messages == [f"No combinations.\n{WHY}"] and view.fastest() is None
    view.draw((side,), 0)
    assert view.canvas.failure == ""
