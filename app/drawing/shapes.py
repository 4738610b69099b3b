"""The shapes of the regimes and the dots and strips of their patterns, in pixels."""

from __future__ import annotations

from app.drawing.geometry import Point
from simulator.prediction import Regime

HATCH_PX, DOTS_PX, IDLE_PX, REFUSED_PX = 7.0, 6.0, 10.0, 10.0
"""The pitches of the patterns."""
ROUND, SIDE, TRIANGLE = 1.0, 1.77, 2.69
"""Radius of a circle, and sides of a square and a triangle, of equal area."""


def corners(regime: Regime | None, radius: float) -> tuple[Point, ...]:
    """The corners of a regime's shape around the origin: a triangle or a square; none of a
    circle."""
    if regime == "compute":
        side = TRIANGLE * radius
        height = side * 3**0.5 / 2
        return (-side / 2, height / 3), (side / 2, height / 3), (0.0, -2 * height / 3)
    if regime == "overhead":
        half = SIDE * radius / 2
        return (-half, -half), (half, -half), (half, half), (-half, half)
    return ()
