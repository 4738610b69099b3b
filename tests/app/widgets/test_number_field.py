"""The text field of a whole number always shows a number that is in use once the user leaves it."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.theme import THEMES
from app.widgets.drawing import application
from app.widgets.fields.controls import Number


@pytest.fixture
def batch():
    running = application()
    number = Number(THEMES["dark"], "Batch", 1024, (1, 32, 1024))
    number.put(74)
    yield number
    number.deleteLater()
    del running


@pytest.mark.parametrize("words", ["0", "", "00", "x"])
def test_a_text_that_is_no_batch_is_replaced_by_the_batch_in_use(batch: Number, words: str):
    changes: list[int] = []
    batch.changed.connect(changes.append)
    batch.box.selectAll()
    QTest.keyClick(batch.box, Qt.Key.Key_Delete)
    QTest.keyClicks(batch.box, words)
    QTest.keyClick(batch.box, Qt.Key.Key_Return)
    assert batch.box.text() == "74" and changes == []


def test_a_number_that_is_typed_is_used(batch: Number):
    changes: list[int] = []
    batch.changed.connect(changes.append)
    batch.box.selectAll()
    QTest.keyClicks(batch.box, "4096")
    QTest.keyClick(batch.box, Qt.Key.Key_Return)
    assert changes == [4096] and batch.box.text() == "4096"
    assert batch.slider.value() == batch.slider.maximum() == 1024


def test_a_number_with_a_limit_ends_there(batch: Number):
    changes: list[int] = []
    batch.changed.connect(changes.append)
    batch.put(74, most=512)
    assert (batch.slider.maximum(), batch.slider.marks) == (512, (1, 32, 512))
    batch.box.selectAll()
    QTest.keyClicks(batch.box, "4096")
    QTest.keyClick(batch.box, Qt.Key.Key_Return)
    assert changes == [512] and batch.box.text() == "512"
    batch.put(74)
    assert (batch.slider.maximum(), batch.slider.marks) == (1024, (1, 32, 1024))
