"""Columns of widgets: create a column with a title, empty a column, and delete a widget of it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QLayout, QVBoxLayout, QWidget


def titled_column(widget: QWidget, title: str, above: int = 0) -> QVBoxLayout:
    """Create a column that fills a widget, with a title `above` pixels below the widget's edge."""
    column = QVBoxLayout(widget)
    column.setContentsMargins(0, above, 0, 0)
    column.setSpacing(6)
    label = QLabel(title)
    label.setProperty("tone", "title")
    column.addWidget(label)
    return column


def empty(layout: QLayout) -> None:
    """Hide and delete all widgets of a layout."""
    while layout.count():
        item = layout.takeAt(0)
        widget = item.widget() if item else None
        if widget is not None:
            discard(widget)


def discard(widget: QWidget) -> None:
    """Hide and delete a widget. Its focus goes to the nearest enclosing widget that accepts it; Qt
    would move it to the start of the window."""
    focus = widget.window().focusWidget()
    if focus is widget or (focus and widget.isAncestorOf(focus)):
        around = widget.parentWidget()
        while around is not None:
            if around.focusPolicy() != Qt.FocusPolicy.NoFocus:
                around.setFocus(Qt.FocusReason.MouseFocusReason)  # without a ring
                break
            around = around.focusProxy() or around.parentWidget()
    widget.hide()
    widget.deleteLater()
