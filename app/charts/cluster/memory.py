"""The memory of the rank that needs the most memory, by role."""

from __future__ import annotations

from app.answers.cluster.answer import ClusterAnswer
from app.answers.cluster.words import role_words
from app.drawing import Box, Drawing, Item, Metrics, Mix, Pattern, Rectangle, Text
from app.drawing.colours import Colour
from app.quantities import data, percent
from app.theme import SUPPORT_PX

_BAR, _TOP, ROW_PX = 12.0, 20.0, 19.0
_STRENGTHS = (0.95, 0.75, 0.58, 0.44, 0.34, 0.26, 0.2)


def memory_height(answer: ClusterAnswer) -> float:
    """The height that all rows need, in pixels."""
    return _TOP + _BAR + 8 + ROW_PX * len(answer.largest.memory)


def memory_drawing(answer: ClusterAnswer, width: float, height: float, metrics: Metrics) -> Drawing:
    """A bar over the capacity, and a row for each role; the part above the capacity is hatched."""
    rank, capacity = answer.largest, float(answer.cluster.gpu.memory_bytes)
    whole = max(capacity, float(rank.needed_bytes))
    need = f"{data(rank.needed_bytes)} of {data(capacity)}"
    over = rank.needed_bytes > capacity
    items: list[Item] = [
        Text(0, 8, "Memory per rank", "ink", SUPPORT_PX, 600),
        Text(width, 8, need, "danger" if over else "ink", SUPPORT_PX, 600, "end"),
        Rectangle(Box(0, _TOP, width, _BAR), "bg3", radius=2),
    ]
    left = 0.0
    for (_, nbytes), strength in zip(rank.memory, _STRENGTHS, strict=False):
        wide = width * nbytes / whole
        colour: Colour = Mix("ink2", strength, "bg1")
        items.append(Rectangle(Box(left, _TOP, max(0.5, wide - 0.5), _BAR), colour))
        left += wide
    if over:
        limit = width * capacity / whole
        box = Box.between(limit, _TOP, width, _TOP + _BAR)
        items.append(Rectangle(box, Pattern("refused"), "danger"))
    y = _TOP + _BAR + 8 + ROW_PX / 2
    for (role, nbytes), strength in zip(rank.memory, _STRENGTHS, strict=False):
        items.append(Rectangle(Box(0, y - 5, 10, 10), Mix("ink2", strength, "bg1"), radius=2))
        items.append(Text(17, y, role_words(role), "ink2", SUPPORT_PX))
        figure = data(nbytes)
        items.append(Text(width, y, figure, "ink", SUPPORT_PX, anchor="end"))
        y += ROW_PX
    title = f"{need}, {percent(rank.needed_bytes / capacity)}"
    return Drawing(width, height, tuple(items), title=title)
