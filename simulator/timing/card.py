"""Figures of a card that differ from a fully measured card of the same architecture.

Two GPUs with the same die run the same kernels. Their common figures (clocks of a tile, bytes in
flight, the kernel that a library chooses by shape) belong to the architecture and are measured on
one of them. A card's file has the remaining figures, measured on the card; peaks, clocks and
bandwidths come from its data sheet.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

CARDS = Path(__file__).parent / "profiles" / "cards"
FIGURES = ("kernel_s", "graph_gap_s", "interval")
"""Figures of a card that replace those of its profile, `Card.of`."""


class Card(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A card's own figures.

    of           the profile whose kernels it runs
    kernel_s     additional seconds of each kernel without tiles
    graph_gap_s  seconds between kernels of a graph
    interval     10th and 90th percentile of measured over predicted GPU-busy times of steps and
                 periods of graphs that were not fitted
    """

    version: int
    id: str
    gpu: str
    of: str
    source: str
    kernel_s: float
    graph_gap_s: float
    interval: tuple[float, float]
