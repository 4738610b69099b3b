"""Where the rows of the timeline stand."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor

from PySide6.QtCore import QRectF


@dataclass(frozen=True)
class Rows:
    """The rectangles of the rows, from top to bottom."""

    overview: QRectF
    outer: QRectF
    inner: QRectF
    host: QRectF
    gpu: QRectF

    @property
    def area(self) -> QRectF:
        """Everything below the overview."""
        return QRectF(self.outer.topLeft(), self.gpu.bottomRight())


def spread(area: QRectF, margins: tuple[float, float]) -> Rows:
    """Lay out the rows in an area with a left and a right margin. The arrows get the space that is
    left between host and GPU, up to what they need."""
    left, right = area.left() + margins[0], area.right() - margins[1]
    wide = right - left
    tall = area.height() >= 250
    at = area.top() + 8
    whole = QRectF(left, at, wide, 24 if tall else 18)
    at = whole.bottom() + 26
    outer = QRectF(left, at, wide, 15)
    inner = QRectF(left, outer.bottom() + 1, wide, 15)
    host = QRectF(left, inner.bottom() + 4, wide, 19)
    lane = min(56.0, max(24.0, 0.2 * area.height()))
    below = area.bottom() - 10 - lane
    top = min(below, host.bottom() + max(24.0, min(140.0, 0.34 * area.height())))
    return Rows(whole, outer, inner, host, QRectF(left, ceil(top), wide, floor(lane)))
