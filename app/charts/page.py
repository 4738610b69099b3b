"""The page of a picture: a title, a subtitle, and room for the picture."""

from __future__ import annotations

from app.drawing import Box, Item, Metrics, Role, Text, elided
from app.theme import FIGURE_PX, SUPPORT_PX

LEFT_PX, TOP_PX, RIGHT_PX, BOTTOM_PX = 20.0, 14.0, 24.0, 14.0
_GAP_PX = 4.0


def headings(
    lines: list[tuple[str, int, int, Role]], top: float, width: float, metrics: Metrics
) -> tuple[list[Item], float]:
    """Lines of text (words, px, weight, colour), elided to the page, and the y at which they
    end."""
    items: list[Item] = []
    for words, px, weight, colour in lines:
        high = metrics.height(px) + 3
        room = width - LEFT_PX - RIGHT_PX
        short = elided(metrics, words, room, px, weight)
        items.append(Text(LEFT_PX, top + high / 2, short, colour, px, weight))
        top += high + _GAP_PX
    return items, top


def head(title: str, about: str, width: float, metrics: Metrics) -> tuple[list[Item], float]:
    """The title and the subtitle of a page, and the y at which they end."""
    lines: list[tuple[str, int, int, Role]] = [(title, FIGURE_PX, 600, "ink")]
    if about:
        lines.append((about, SUPPORT_PX, 400, "ink3"))
    return headings(lines, TOP_PX, width, metrics)


def below(top: float, width: float, height: float) -> Box:
    """The free area below y, inside the margins of a page."""
    return Box.between(LEFT_PX, top, width - RIGHT_PX, height - BOTTOM_PX)
