"""Escape clears a selection; without one it reaches the window, where it cancels running work."""

from typing import Any

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget

from app.answers.side import Side
from app.views.combinations.view import Combinations
from app.views.ops.view import OpTable
from app.views.roofline.view import Roofline
from app.views.timeline.view import Timeline
from app.widgets.view import View


def escape(widget: QWidget) -> bool:
    """Press Escape; returns whether the widget used the key."""
    event = QKeyEvent(
        QEvent.Type.KeyPress, Qt.Key.Key_Escape, Qt.KeyboardModifier.NoModifier, "\x1b"
    )
    widget.keyPressEvent(event)
    return event.isAccepted()


@pytest.mark.parametrize("kind", [Roofline, Timeline, OpTable])
def test_escape_without_a_selection_is_left_to_the_window(
    shown: Any, side: Side, kind: type[View]
) -> None:
    view = shown(kind, (side,))
    widget = view.table if isinstance(view, OpTable) else view.canvas
    assert not escape(widget)
    view.pick(frozenset({0}))
    assert escape(widget)


def test_escape_clears_a_brush_of_combinations_first(shown: Any, side: Side) -> None:
    canvas = shown(Combinations, (side,)).canvas
    assert not escape(canvas)
    QTest.keyClick(canvas, Qt.Key.Key_Up)
    assert canvas.brushes and escape(canvas)
    assert not canvas.brushes and not escape(canvas)
