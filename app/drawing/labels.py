"""Placement of labels beside their marks, without overlaps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from app.drawing.geometry import Box


@dataclass
class Labels:
    """The boxes taken so far, inside an area."""

    inside: Box
    taken: list[Box] = field(default_factory=list[Box])

    def take(self, *boxes: Box) -> None:
        """Reserve boxes."""
        self.taken += boxes

    def free(self, box: Box) -> bool:
        """Whether a box is inside the area and overlaps no reserved box."""
        if not self.inside.contains(box):
            return False
        left, top, right, bottom = box.left, box.top, box.right, box.bottom
        for t in self.taken:  # `intersects` written out: a drawing calls this a thousand times
            across = t.left < right and left < t.left + t.width
            if across and t.top < bottom and top < t.top + t.height:
                return False
        return True

    def beside(
        self,
        x: float,
        y: float,
        reach: float,
        wide: float,
        high: float,
        distances: Iterable[float] = (0.0, 10.0, 24.0, 40.0),
    ) -> Box | None:
        """Reserve a box for a label near a mark with radius `reach`: right of it, left, above,
        below, diagonally, then at each farther distance. Returns None without a free box."""
        for box in _near(x, y, reach, wide, high, distances):
            if self.free(box):
                self.take(box)
                return box
        return None


def _near(
    x: float, y: float, reach: float, wide: float, high: float, distances: Iterable[float]
) -> Iterator[Box]:
    """The candidate boxes, the best first."""
    for distance in distances:
        gap = reach + 3 + distance
        yield Box(x + gap, y - high / 2, wide, high)
        yield Box(x - gap - wide, y - high / 2, wide, high)
        yield Box(x - wide / 2, y - gap - high, wide, high)
        yield Box(x - wide / 2, y + gap, wide, high)
        yield Box(x + 0.7 * gap, y + 0.7 * gap, wide, high)
        yield Box(x + 0.7 * gap, y - 0.7 * gap - high, wide, high)
        yield Box(x - 0.7 * gap - wide, y - 0.7 * gap - high, wide, high)
        yield Box(x - 0.7 * gap - wide, y + 0.7 * gap, wide, high)
