"""Widgets one below another: a column under its title, and a column made empty."""

from __future__ import annotations

from PySide6.QtWidgets import QLabel, QLayout, QVBoxLayout, QWidget


def titled_column(widget: QWidget, title: str, above: int = 0) -> QVBoxLayout:
    """A column that fills a widget, its title on top, so many pixels below the widget's edge."""
    column = QVBoxLayout(widget)
    column.setContentsMargins(0, above, 0, 0)
    column.setSpacing(6)
    label = QLabel(title)
    label.setProperty("tone", "title")
    column.addWidget(label)
    return column


def empty(layout: QLayout) -> None:
    """Hide what is in a layout, and give it up."""
    while layout.count():
        item = layout.takeAt(0)
        widget = item.widget() if item else None
        if widget is not None:
            widget.hide()
            widget.deleteLater()
