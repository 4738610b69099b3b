"""Points and boxes, in pixels; y points downwards."""

from __future__ import annotations

from dataclasses import dataclass

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle without a style."""

    left: float
    top: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.left + self.width

    @property
    def bottom(self) -> float:
        return self.top + self.height

    @property
    def centre(self) -> Point:
        return self.left + self.width / 2, self.top + self.height / 2

    def grown(self, by: float, vertically: float | None = None) -> Box:
        """The box enlarged by a margin on each side, or shrunk if the margin is negative."""
        high = by if vertically is None else vertically
        return Box(self.left - by, self.top - high, self.width + 2 * by, self.height + 2 * high)

    def moved(self, right: float, down: float) -> Box:
        """The box moved by an offset."""
        return Box(self.left + right, self.top + down, self.width, self.height)

    def holds(self, x: float, y: float) -> bool:
        """Whether a point is inside the box or on its edge."""
        return self.left <= x <= self.right and self.top <= y <= self.bottom

    def contains(self, other: Box) -> bool:
        """Whether another box is inside this one."""
        return (
            self.left <= other.left
            and other.right <= self.right
            and self.top <= other.top
            and other.bottom <= self.bottom
        )

    def intersects(self, other: Box) -> bool:
        """Whether the boxes share an area."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )

    @classmethod
    def around(cls, x: float, y: float, reach: float) -> Box:
        """The square with this centre and half this side length."""
        return cls(x - reach, y - reach, 2 * reach, 2 * reach)

    @classmethod
    def between(cls, left: float, top: float, right: float, bottom: float) -> Box:
        """The box with these edges."""
        return cls(left, top, right - left, bottom - top)
