"""The Tab order of widgets that are created later than others."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget


def insert_before(place: QWidget, stops: Sequence[QWidget]) -> None:
    """Put `stops`, in their order, before `place` in the Tab order."""
    before = place.previousInFocusChain()
    while before is not None and before is not place:
        if before not in stops and _takes_tab(before):
            break
        before = before.previousInFocusChain()
    first = [before] if before is not None and before is not place else []
    for one, other in pairwise([*first, *stops, place]):
        QWidget.setTabOrder(one, other)


def tab_stops(inside: QWidget) -> list[QWidget]:
    """The children of a widget that take the focus by Tab, in the order of their creation."""
    return [child for child in inside.findChildren(QWidget) if _takes_tab(child)]


def _takes_tab(widget: QWidget) -> bool:
    return bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus) and widget.focusProxy() is None
