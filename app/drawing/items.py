"""The items of a drawing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from app.drawing.colours import Colour, Fill, Mark
from app.drawing.geometry import Box, Point
from app.drawing.metrics import Metrics
from app.theme import LABEL_PX

Dash = Literal["solid", "dashed", "dotted"]
Anchor = Literal["start", "middle", "end"]
SHARES_LEFT: dict[Anchor, float] = {"start": 0.0, "middle": 0.5, "end": 1.0}
"""The part of a text that lies to the left of its x."""
Step = (
    tuple[Literal["M", "L"], float, float]
    | tuple[Literal["C"], float, float, float, float, float, float]
    | tuple[Literal["Z"]]
)
"""A step of a path as in SVG: move, line, cubic curve (two controls, then the end), close."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line through points, `width` pixels wide; `casing` is the colour of a wider line below."""

    points: Sequence[Point]
    colour: Colour = "ink"
    width: float = 1.0
    dash: Dash = "solid"
    casing: Colour | None = None
    opacity: float = 1.0


@dataclass(frozen=True, slots=True)
class Rectangle:
    """A box with a fill, an edge, or both."""

    box: Box
    fill: Fill | None = None
    edge: Colour | None = None
    edge_width: float = 1.0
    radius: float = 0.0
    dash: Dash = "solid"
    opacity: float = 1.0


@dataclass(frozen=True, slots=True)
class Rectangles:
    """Many boxes with one fill; `crisp` without antialiasing."""

    boxes: Sequence[Box]
    fill: Fill
    crisp: bool = False
    opacity: float = 1.0


@dataclass(frozen=True, slots=True)
class Path:
    """An outline, given as drawing steps, with a fill, an edge, or both."""

    steps: Sequence[Step]
    fill: Fill | None = None
    edge: Colour | None = None
    edge_width: float = 1.0
    opacity: float = 1.0


@dataclass(frozen=True, slots=True)
class Marker:
    """The shape of a regime around a point, or a circle if there is no regime. Equal radii give
    equal areas.

    `hollow` is a ring: its edge in the regime's colour, filled with the panel's.
    """

    x: float
    y: float
    regime: Mark | None = None
    radius: float = 5.0
    edge: Colour | None = None
    hollow: bool = False
    opacity: float = 1.0
    edge_width: float = 1.4


@dataclass(frozen=True, slots=True)
class Markers:
    """Many identical markers, one around each point."""

    points: Sequence[Point]
    regime: Mark | None = None
    radius: float = 5.0
    edge: Colour | None = None
    opacity: float = 1.0


@dataclass(frozen=True, slots=True)
class Text:
    """One line of text, centred vertically on `y`; `turn` rotates it clockwise around its point,
    in degrees."""

    x: float
    y: float
    words: str
    colour: Colour = "ink"
    px: int = LABEL_PX
    weight: int = 400
    anchor: Anchor = "start"
    mono: bool = False
    turn: float = 0.0


@dataclass(frozen=True, slots=True)
class Pill:
    """A text on a rounded background that hides the lines below it; `pill` measures the text."""

    box: Box
    text: Text
    ground: Colour | None = None
    """The colour of the background; None is the panel's colour, 92% opaque."""
    edge: Colour | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Raster:
    """Cells of equal size that fill a box: `cells` [row, column], the top row first, are indices
    into the palette (at most 256 colours); `smooth` blends neighbouring cells.
    """

    box: Box
    palette: tuple[Colour, ...]
    cells: NDArray[np.uint8]
    smooth: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """A group of items, drawn only inside `clip`."""

    items: tuple[Item, ...]
    clip: Box | None = None


Item = Line | Rectangle | Rectangles | Path | Marker | Markers | Text | Pill | Raster | Group


def pill(
    metrics: Metrics,
    x: float,
    y: float,
    words: str,
    colour: Colour = "ink",
    px: int = LABEL_PX,
    weight: int = 500,
    anchor: Anchor = "middle",
    ground: Colour | None = None,
    edge: Colour | None = None,
) -> Pill:
    """A label as wide as its text; `anchor` is the part of the pill at `x`."""
    wide, high = metrics.width(words, px, weight) + 10, metrics.height(px) + 3
    box = Box(x - SHARES_LEFT[anchor] * wide, y - high / 2, wide, high)
    return Pill(box, Text(box.left + 5, y, words, colour, px, weight), ground, edge)


def polygon(points: Iterable[Point]) -> tuple[Step, ...]:
    """The steps of a closed outline through points."""
    (x, y), *rest = points
    return (("M", x, y), *(("L", a, b) for a, b in rest), ("Z",))
