"""Placement of labels beside their marks, without overlaps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from app.drawing.geometry import Box


@dataclass
class Labels:
    """The boxes reserved so far, inside an area."""

    inside: Box
    taken: list[Box] = field(default_factory=list[Box])

    def take(self, *boxes: Box) -> None:
        """Reserve boxes."""
        self.taken += boxes

    def free(self, box: Box) -> bool:
        """Whether a box is inside the area and overlaps no reserved box."""
        inside, left, top = self.inside, box.left, box.top
        right, bottom = left + box.width, top + box.height
        # `contains` and `intersects` written out: a drawing calls this a thousand times
        if left < inside.left or top < inside.top:
            return False
        if right > inside.left + inside.width or bottom > inside.top + inside.height:
            return False
        for t in self.taken:
            across = t.left < right and left < t.left + t.width
            if across and t.top < bottom and top < t.top + t.height:
                return False
        return True

    def beside(
        self,
        x: float,
        y: float,
        radius: float,
        width: float,
        height: float,
        distances: Iterable[float] = (0.0, 10.0, 24.0, 40.0),
    ) -> Box | None:
        """Reserve a box for a label near a mark of this radius: right of it, left, above,
        below, diagonally, then at greater `distances`. Returns None if no box is free."""
        for box in _near(x, y, radius, width, height, distances):
            if self.free(box):
                self.take(box)
                return box
        return None


def _near(
    x: float, y: float, radius: float, width: float, height: float, distances: Iterable[float]
) -> Iterator[Box]:
    """The candidate boxes, the best first."""
    for distance in distances:
        gap = radius + 3 + distance
        yield Box(x + gap, y - height / 2, width, height)
        yield Box(x - gap - width, y - height / 2, width, height)
        yield Box(x - width / 2, y - gap - height, width, height)
        yield Box(x - width / 2, y + gap, width, height)
        yield Box(x + 0.7 * gap, y + 0.7 * gap, width, height)
        yield Box(x + 0.7 * gap, y - 0.7 * gap - height, width, height)
        yield Box(x - 0.7 * gap - width, y - 0.7 * gap - height, width, height)
        yield Box(x - 0.7 * gap - width, y + 0.7 * gap, width, height)
