"""Columns of widgets that are rebuilt while one of them has the focus."""

from PySide6.QtWidgets import QApplication, QLineEdit, QPushButton, QVBoxLayout, QWidget

from app.widgets.columns import discard
from app.widgets.drawing import application


def test_the_focus_stays_near_a_deleted_button() -> None:
    """Regression: after Apply in the factory, the focus jumped to Explore in the header of the
    window."""
    running = application()
    window, view, row = QWidget(), QWidget(), QWidget()
    header, floor, apply = QPushButton("Explore"), QLineEdit(), QPushButton("Apply")
    for outer, inner in (
        (window, header),
        (window, view),
        (view, floor),
        (view, row),
        (row, apply),
    ):
        (outer.layout() or QVBoxLayout(outer)).addWidget(inner)
    view.setFocusProxy(floor)
    window.show()
    apply.setFocus()
    assert window.focusWidget() is apply
    discard(row)
    QApplication.processEvents()
    assert window.focusWidget() is floor and row.isHidden()
    window.close()
    del running
