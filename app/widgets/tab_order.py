"""The Tab order of widgets that are created later than others."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget


def insert_before(place: QWidget, stops: Sequence[QWidget]) -> None:
    """Put `stops`, in their order, before `place` in the Tab order."""
    insert_after(place, stops)
    if stops:
        QWidget.setTabOrder(stops[-1], place)


def insert_after(place: QWidget, stops: Sequence[QWidget]) -> None:
    """Put `stops`, in their order, after `place` in the Tab order."""
    for one, other in pairwise([place, *stops]):
        QWidget.setTabOrder(one, other)


def stop_before(widget: QWidget) -> QWidget:
    """The last widget before `widget` in the Tab order that takes the focus; Qt ignores an order
    relative to any other widget."""
    before = widget
    while (previous := before.previousInFocusChain()) is not None and previous is not widget:
        before = previous
        if before.focusPolicy() != Qt.FocusPolicy.NoFocus:
            break
    return before


def tab_stops(inside: QWidget) -> list[QWidget]:
    """A widget and its children in the same window, as far as they take the focus by Tab, in the
    order of their creation. Lists that pop up are windows of their own."""
    window = inside.window()
    stops = (inside, *inside.findChildren(QWidget))
    return [stop for stop in stops if _takes_tab(stop) and stop.window() is window]


def _takes_tab(widget: QWidget) -> bool:
    return bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus) and widget.focusProxy() is None
