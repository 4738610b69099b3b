"""A legend, in as many rows as its width requires."""

from __future__ import annotations

from collections.abc import Iterable

from app.drawing import Box, Fill, Item, Metrics, Rectangle, Role, Text
from app.theme import LABEL_PX

ROW_PX = 18.0
_PATCH_PX, _GAP_PX = 19.0, 12.0


def legend(
    entries: Iterable[tuple[str, Fill, Role]], left: float, right: float, metrics: Metrics
) -> tuple[list[Item], float]:
    """Patches with their labels, and the height of the rows in pixels."""
    items: list[Item] = []
    x, y = left, ROW_PX / 2 + 4
    for words, fill, ink in entries:
        wide = _PATCH_PX + metrics.width(words, LABEL_PX, 500)
        if x > left and x + wide > right:
            x, y = left, y + ROW_PX
        items.append(Rectangle(Box(x, y - 5, 14, 10), fill, "line2", radius=2))
        items.append(Text(x + _PATCH_PX, y, words, ink, LABEL_PX, 500))
        x += wide + _GAP_PX
    return items, y + ROW_PX / 2
