"""A field without unaccepted text leaves undo to the window."""

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit

from app.theme import THEMES
from app.widgets.drawing import application
from app.widgets.fields.controls import Number


@pytest.fixture
def batch():
    running = application()
    number = Number(THEMES["dark"], "Batch", 1024, (1, 32, 1024))
    number.put(64)
    number.box.selectAll()
    yield number
    number.deleteLater()
    del running


def takes(box: QLineEdit, key: Qt.Key) -> bool:
    """Whether a field takes Ctrl and a key, which the window's actions then do not get."""
    override = QKeyEvent(QEvent.Type.ShortcutOverride, key, Qt.KeyboardModifier.ControlModifier)
    override.ignore()
    QApplication.sendEvent(box, override)
    return override.isAccepted()


def test_undo_is_left_to_the_window_once_a_text_is_accepted(batch: Number):
    QTest.keyClicks(batch.box, "16")
    assert takes(batch.box, Qt.Key.Key_Z)  # restores the text
    QTest.keyClick(batch.box, Qt.Key.Key_Return)
    assert batch.value == 16
    assert not takes(batch.box, Qt.Key.Key_Z)  # it restored the text 64 of the batch 16
    assert takes(batch.box, Qt.Key.Key_C)
    batch.put(64)  # as the window's undo does
    assert batch.box.text() == "64" and not takes(batch.box, Qt.Key.Key_Z)
