from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.answers.side import Side
from app.theme import Theme
from app.views.memory import MemoryView
from tests.app.views.conftest import picture


def test_the_parts_add_up_and_the_peak_is_picked(shown: Any, side: Side, theme: Theme) -> None:
    view, p = shown(MemoryView, (side,), theme=theme), side.prediction
    heads, *parts, capacity = view.rows()
    assert heads == ["At the peak", "Size", "Bytes"]
    assert sum(int(row[2]) for row in parts) == p.peak_memory_bytes + p.workspace_bytes
    assert capacity[1] == "141 GiB"
    messages: list[frozenset[int]] = []
    view.picked.connect(messages.append)
    QTest.keyClick(view.canvas, Qt.Key.Key_Right)
    card = view.canvas.card()
    assert card and dict(card.rows)["Phase"] == "forward"
    QTest.keyClick(view.canvas, Qt.Key.Key_Return)
    assert messages == [frozenset([p.memory.peak_op])]
    assert picture(view).pixelColor(4, 4).name().upper() == theme.bg1
