"""Roads between GPUs: as wide as their bandwidth, filled with their average traffic."""

from __future__ import annotations

from app.drawing import Box, Item, Rectangle
from app.quantities import percent
from simulator.formats.numbers import short


def rate(bytes_per_s: float) -> str:
    """A bandwidth, such as "450 GB/s"."""
    if bytes_per_s >= 1e12:
        return f"{short(bytes_per_s / 1e12, 3)} TB/s"
    return f"{short(bytes_per_s / 1e9, 3)} GB/s"


def busy_words(mean: float, most: float, moved_bytes: float, moved_s: float) -> tuple[str, str]:
    """The use of a link, as a long and a short text."""
    if moved_bytes <= 0:
        return "nothing moves", "nothing moves"
    brief = f"{rate(mean)} in use, {percent(mean / most)}"
    return f"{brief}; {rate(moved_bytes / moved_s)} while a collective runs", brief


def road(box: Box, used: float) -> list[Item]:
    """A road along the longer side of its box; `used` is its average traffic as a share."""
    items: list[Item] = [Rectangle(box, "zigzag_ground", "communication", 1.0)]
    share = min(1.0, max(0.0, used))
    if share <= 0:
        return items
    x, y = box.centre
    if box.height >= box.width:
        filled = Box(x - share * box.width / 2, box.top, max(1.0, share * box.width), box.height)
    else:
        filled = Box(box.left, y - share * box.height / 2, box.width, max(1.0, share * box.height))
    items.append(Rectangle(filled, "communication_ink"))
    return items
