"""Words wrap into lines; the layout measures them once, and again after any of them changes."""

from collections.abc import Iterator
from typing import Any

import pytest
from PySide6.QtWidgets import QApplication, QLabel, QWidget

from app.widgets.drawing import application
from app.widgets.fields.flow_layout import FlowLayout


class Word(QLabel):
    measurements = 0

    def sizeHint(self) -> Any:
        Word.measurements += 1
        return super().sizeHint()


@pytest.fixture
def flow() -> Iterator[FlowLayout]:
    running = application()
    box = QWidget()
    flow = FlowLayout(box)
    for words in ("one", "two", ",", "three"):
        flow.addWidget(Word(words))
    box.show()
    flow.box = box  # pyright: ignore
    yield flow
    box.close()
    del running


def test_widgets_are_measured_again_only_after_a_change(flow: FlowLayout):
    for label in flow.box.findChildren(QLabel):  # pyright: ignore
        label.setFixedSize(20 if label.text() != "," else 4, 20)
    QApplication.processEvents()
    assert flow.heightForWidth(60) == 46  # one two, | three
    before = Word.measurements
    for width in (60, 30, 60, 200, 30):
        flow.heightForWidth(width)
    assert Word.measurements == before
    assert flow.heightForWidth(200) == 20 and flow.heightForWidth(30) == 72
    assert flow.heightForWidth(100) == 20  # 20 + 6 + 20 + 1 + 4 + 6 + 20 = 77
    first = flow.itemAt(0)
    assert first is not None
    first.widget().setFixedWidth(90)  # pyright: ignore
    assert flow.heightForWidth(100) == 46  # one | two, three
    flow.addWidget(last := Word("four"))
    last.setFixedSize(45, 20)
    last.show()
    assert flow.heightForWidth(100) == 72  # one | two, three | four
    last.hide()
    assert flow.heightForWidth(100) == 46
    taken = flow.takeAt(0)
    assert taken is not None and taken.widget().text() == "one"  # pyright: ignore
    assert flow.heightForWidth(100) == 20
