"""Scrolling over a control scrolls the area around it, and changes no value."""

from collections.abc import Callable

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication, QComboBox, QSlider

from app.theme import DARK
from app.widgets.drawing import application
from app.widgets.fields.choice import Choice
from app.widgets.fields.controls import LogSlider


def _choice() -> Choice:
    choice = Choice(DARK, "Network")
    choice.addItems(["bert-base", "gpt2", "resnet50"])
    choice.setCurrentIndex(1)
    return choice


def _slider() -> LogSlider:
    slider = LogSlider(DARK, "Batch", 1024, (1, 16, 1024))
    slider.setValue(16)
    return slider


@pytest.mark.parametrize("made", [_choice, _slider])
def test_the_wheel_is_left_to_the_scroll_area(made: Callable[[], QComboBox | QSlider]):
    running = application()
    control = made()
    at, nothing = QPointF(5, 5), QPoint()
    event = QWheelEvent(
        at,
        at,
        nothing,
        QPoint(0, -120),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(control, event)
    assert not event.isAccepted()
    value = control.currentIndex() if isinstance(control, QComboBox) else control.value()
    assert value == (1 if isinstance(control, QComboBox) else 16)
    del running
