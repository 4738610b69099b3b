"""The background of a regime map: colours, patterns, and hatching where the step does not fit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from app.charts.regime_map.frame import Frame
from app.drawing import Box, Colour, Fill, Item, Mix, Pattern, Raster, Rectangles
from simulator.prediction import REGIMES

_LEVELS = 80
_PALEST, _DEEPER = 0.22, 0.48  # opacity of a regime's colour, and the opacity that its lead adds
_PATTERN = 0.42  # opacity of a regime's pattern on its colour
_PALETTE: tuple[Colour, ...] = (
    *(
        Mix(regime, _PALEST + _DEEPER * level / (_LEVELS - 1))
        for regime in REGIMES
        for level in range(_LEVELS)
    ),
    "bg1",
)


def ground(frame: Frame) -> list[Item]:
    """Each fine cell in its regime's colour, deeper for a larger lead, with the patterns above."""
    field = frame.field
    level = np.rint(field.leads() * (_LEVELS - 1))
    cells = np.where(field.known, field.largest * _LEVELS + level, len(_PALETTE) - 1)
    upright = np.ascontiguousarray(cells[::-1].astype(np.uint8))
    items: list[Item] = [Raster(frame.plot, _PALETTE, upright, field.smooth)]
    patterns: list[tuple[NDArray[np.bool_], Fill, float]] = [
        (field.inside("memory"), Pattern("memory", ground=False), _PATTERN),
        (field.inside("overhead"), Pattern("overhead", ground=False), _PATTERN),
        (np.asarray(field.over | ~field.known, np.bool_), Pattern("refused"), 1.0),
    ]
    for inside, fill, opacity in patterns:
        if inside.any():
            items.append(Rectangles(region(inside, frame.plot), fill, True, opacity))
    return items


def region(inside: NDArray[np.bool_], area: Box) -> tuple[Box, ...]:
    """The cells that are True in `inside` [y, x], y upwards, as boxes over an area. Each run of a
    row is a box, and identical runs of adjacent rows are merged; boxes have whole pixels, so that
    no seam shows.
    """
    rows, columns = map(int, inside.shape)
    left = np.rint(np.linspace(area.left, area.right, columns + 1)).tolist()
    top = np.rint(np.linspace(area.bottom, area.top, rows + 1)).tolist()
    changes = np.diff(np.pad(inside.astype(np.int8), ((0, 1), (1, 1))), axis=1)
    places, columns_of = np.nonzero(changes)
    ends: list[int] = np.searchsorted(places, np.arange(rows + 2)).tolist()
    pairs = columns_of.reshape(-1, 2).tolist()
    same = [False, *(inside[1:] == inside[:-1]).all(axis=1).tolist(), False]
    boxes: list[Box] = []
    begun: dict[tuple[int, int], int] = {}
    for row in range(rows + 1):  # the last one is empty
        if same[row]:
            continue
        runs = {(begin, end) for begin, end in pairs[ends[row] // 2 : ends[row + 1] // 2]}
        for run in [run for run in begun if run not in runs]:
            first = begun.pop(run)
            boxes.append(Box.between(left[run[0]], top[row], left[run[1]], top[first]))
        for run in runs:
            begun.setdefault(run, row)
    return tuple(boxes)
