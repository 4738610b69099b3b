"""A drawing: its items, and the regions that can be picked."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from app.drawing.geometry import Box
from app.drawing.items import Item


@dataclass(frozen=True, slots=True)
class Spot:
    """A region that the pointer can pick: `key` identifies the item drawn there. A `round` spot is
    the ellipse inside its box. HTML and SVG show `tooltip` over it."""

    key: Hashable
    box: Box
    tooltip: str = ""
    round: bool = False

    def holds(self, x: float, y: float) -> bool:
        """Whether a point is inside."""
        if not self.round:
            return self.box.holds(x, y)
        middle_x, middle_y = self.box.centre
        across, down = self.box.width / 2, self.box.height / 2
        if not across or not down:
            return False
        return ((x - middle_x) / across) ** 2 + ((y - middle_y) / down) ** 2 <= 1


@dataclass(frozen=True, slots=True)
class Drawing:
    """Items on a background in the panel's colour, `width` × `height` pixels."""

    width: float
    height: float
    items: tuple[Item, ...]
    spots: tuple[Spot, ...] = ()
    title: str = ""
    """A description of the drawing for screen readers."""

    def pick(self, x: float, y: float) -> Spot | None:
        """The last spot that contains a point, or None."""
        return next((spot for spot in reversed(self.spots) if spot.holds(x, y)), None)
