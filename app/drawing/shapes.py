"""The shapes of the regimes and the dots and strips of their patterns, in pixels."""

from __future__ import annotations

from app.drawing.colours import Mark
from app.drawing.geometry import Point

HATCH_PX, DOTS_PX, IDLE_PX, REFUSED_PX, BUBBLE_PX = 7.0, 6.0, 10.0, 10.0, 9.0
"""The pitches of the patterns."""
ZIGZAG_PX, ZIGZAG_WIDE = (10.0, 7.0), 1.8
"""Width and height of one zigzag, and the width of its line."""
ROUND, SIDE, TRIANGLE, DIAGONAL = 1.0, 1.77, 2.69, 2.51
"""Radius of a circle, sides of a square and a triangle, and diagonal of a diamond, of equal
area."""


def corners(regime: Mark | None, radius: float) -> tuple[Point, ...]:
    """The corners of a regime's shape around the origin: a triangle, a square or a diamond;
    empty for a circle."""
    if regime == "compute":
        side = TRIANGLE * radius
        height = side * 3**0.5 / 2
        return (-side / 2, height / 3), (side / 2, height / 3), (0.0, -2 * height / 3)
    if regime == "overhead":
        half = SIDE * radius / 2
        return (-half, -half), (half, -half), (half, half), (-half, half)
    if regime == "communication":
        half = DIAGONAL * radius / 2
        return (0.0, -half), (half, 0.0), (0.0, half), (-half, 0.0)
    return ()
