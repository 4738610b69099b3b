"""Charts shown as a table, in a window of their own, and between two side panels."""

from collections.abc import Iterator
from itertools import pairwise

import pytest
from PySide6.QtCore import QSize
from PySide6.QtWidgets import QApplication, QWidget

from app.explorer.docks.enlarged import Enlarged
from app.explorer.docks.table_dialog import TableDialog
from app.theme import DARK
from app.views.regime_map.view import RegimeMap
from app.widgets.drawing import application
from app.widgets.view import View
from tests.app.explorer.files.settling import until

NOTE = "the host takes 1.42 times as long as for one GPU, because its processes share caches"


class Noted(View):
    title = "Noted"

    def rows(self) -> list[list[str]]:
        return [["Split", "Value"], ["Layout", "dp=8"], ["Note", NOTE]]


@pytest.fixture
def noted() -> Iterator[Noted]:
    application()
    view = Noted(DARK)
    view.resize(736, 237)
    yield view
    view.close()


def test_a_note_of_a_table_is_not_cut(noted: Noted) -> None:
    """Regression: the last column ended at 320 pixels, with black next to it."""
    dialog = TableDialog(noted)
    dialog.show()
    QApplication.processEvents()
    table, cell = dialog.table, dialog.table.item(1, 1)
    assert cell is not None and cell.toolTip() == NOTE
    assert table.columnWidth(1) >= table.fontMetrics().horizontalAdvance(NOTE)
    header = table.horizontalHeader()
    assert header.length() >= table.viewport().width()
    dialog.close()


@pytest.mark.parametrize("size", [QSize(600, 200), QSize(300, 400)])
def test_an_enlarged_chart_fills_its_window(size: QSize) -> None:
    """Regression: a wide, low chart filled a third of a window of 1,200 x 800 pixels."""
    application()
    chart = QWidget()
    chart.resize(size)
    enlarged = Enlarged(chart, "Chart", DARK)
    room = QSize(1200, 800).boundedTo(enlarged.screen().availableSize())
    assert enlarged.width() == room.width() or enlarged.height() == room.height()
    assert enlarged.width() / enlarged.height() == pytest.approx(
        size.width() / size.height(), rel=0.01
    )
    enlarged.close()


def test_the_choices_of_a_narrow_map_do_not_overlap() -> None:
    """Regression: between the shelf and the inspector, the axis "Up" lay under the next field."""
    application()
    view = RegimeMap(DARK)
    view.across.addItems(["Batch", "Sequence length"])
    view.up.addItems(["Batch", "Sequence length"])
    view.status.say("colour: the largest share", "")
    view.resize(676, 560)
    view.show()
    until(lambda: view.strip.width() < 676 and not view.status.text())
    row = view.strip.row
    boxes = [row.itemAt(at).geometry() for at in range(row.count())]  # pyright: ignore
    assert all(a.right() < b.left() or not b.width() for a, b in pairwise(boxes))
    view.resize(1280, 700)
    until(lambda: view.status.text() == "colour: the largest share")
    view.close()
