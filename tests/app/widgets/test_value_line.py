"""A field without unaccepted text leaves undo to the window."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMainWindow

from app.theme import THEMES
from app.widgets.drawing import application
from app.widgets.fields.controls import Number


@pytest.fixture
def window():
    running = application()
    window = QMainWindow()
    undo = QAction("Undo", window)
    undo.setShortcut(QKeySequence(QKeySequence.StandardKey.Undo))
    window.addAction(undo)
    number = Number(THEMES["dark"], "Batch", 1024, (1, 32, 1024))
    number.put(64)
    window.setCentralWidget(number)
    undo.triggered.connect(lambda: number.put(64))  # as the session does
    window.show()
    window.activateWindow()
    assert QTest.qWaitForWindowActive(window)
    number.box.setFocus()
    number.box.selectAll()
    yield window
    window.close()
    window.deleteLater()
    del running


def test_undo_restores_the_last_value_and_not_the_last_text(window: QMainWindow):
    number = window.centralWidget()
    assert isinstance(number, Number)
    QTest.keyClicks(number.box, "16")
    QTest.keyClick(number.box, Qt.Key.Key_Return)
    assert number.value == 16
    QTest.keyClick(number.box, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert (number.value, number.box.text()) == (64, "64")


def test_undo_restores_a_text_that_is_not_accepted(window: QMainWindow):
    number = window.centralWidget()
    assert isinstance(number, Number)
    QTest.keyClicks(number.box, "16")
    QTest.keyClick(number.box, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert number.box.text() != "16" and number.value == 64
