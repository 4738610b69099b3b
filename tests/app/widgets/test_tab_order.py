"""The widgets of a window that take the focus by Tab."""

from __future__ import annotations

from PySide6.QtWidgets import QComboBox, QHBoxLayout, QPushButton, QWidget

from app.widgets.drawing import application
from app.widgets.tab_order import tab_stops


def test_a_list_that_pops_up_is_not_a_stop_of_the_window():
    running = application()
    window = QWidget()
    row = QHBoxLayout(window)
    box, button = QComboBox(), QPushButton("Run")
    row.addWidget(box)
    row.addWidget(button)
    assert box.view().window() is not window
    assert tab_stops(window) == [box, button]
    del running
