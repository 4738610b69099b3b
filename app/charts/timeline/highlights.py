"""Highlights of selected slices, as wide as the slices and at least one pixel wide."""

from __future__ import annotations

import numpy as np

from app.drawing import Box, Item, Rectangle, Rectangles
from app.scenes.pixel_scale import Floats, Scale
from app.scenes.timeline.lanes import Ints, Slices

_OUTLINE_PX, _BEYOND_PX = 2.0, 3.0
_LEAST_OUTLINED_PX = 6.0
"""Slices of this width have an outline; narrower ones are filled."""


def highlights(slices: Slices, places: Ints, x: Scale, row: Box) -> list[Item]:
    """Outlines of wide slices, and the pixels that narrow slices touch, joined if they are next to
    each other: the number of items depends on the pixels, not on the slices."""
    left = np.maximum(x.many(slices.begin_s[places]), x.begin)
    right = np.minimum(x.many(slices.end_s[places]), x.end)
    visible = right >= left
    left, right = left[visible], right[visible]
    wide = right - left >= _LEAST_OUTLINED_PX
    edge = _OUTLINE_PX / 2  # the outline is inside the slice
    items: list[Item] = [
        Rectangle(
            Box(begin, row.top - 1, end - begin, row.height + 2).grown(-edge),
            edge="ink",
            edge_width=_OUTLINE_PX,
            radius=2,
        )
        for begin, end in zip(left[wide].tolist(), right[wide].tolist(), strict=True)
    ]
    filled = _filled(left[~wide] - x.begin, right[~wide] - x.begin, int(x.end - x.begin) + 1)
    boxes = [
        Box(x.begin + begin, row.top - _BEYOND_PX, end - begin, row.height + 2 * _BEYOND_PX)
        for begin, end in filled
    ]
    return [*items, Rectangles(boxes, "ink", crisp=True)] if boxes else items


def _filled(left: Floats, right: Floats, pixels: int) -> list[tuple[int, int]]:
    """The runs of pixels that spans cover, each span rounded to whole pixels."""
    first = np.minimum(np.floor(left).astype(np.int64), pixels - 1)
    last = np.maximum(first + 1, np.round(right).astype(np.int64))
    changes = np.zeros(pixels + 2, np.int64)
    np.add.at(changes, first, 1)
    np.add.at(changes, np.minimum(last, pixels), -1)
    covered = np.concatenate([[False], np.cumsum(changes)[:pixels] > 0, [False]])
    ends = np.flatnonzero(np.diff(covered.astype(np.int64)))
    return list(zip(ends[::2].tolist(), ends[1::2].tolist(), strict=True))
