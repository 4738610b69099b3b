"""Cards of an architecture of which another one was measured in full: what differs of the card.

Two GPUs of one die run the same kernels: what they have in common (clocks of a tile, bytes in
flight, the kernel that a library takes by shape) is the architecture's, and is measured on one of
them. A card's file has the rest, measured on the card; peaks, clocks and bandwidths are its data
sheet's.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

CARDS = Path(__file__).parent / "profiles" / "cards"
FIGURES = ("kernel_s", "graph_gap_s", "interval")
"""What takes the place of the same figures of the profile that a card is `of`."""


class Card(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A card's own figures.

    of           the profile whose kernels it runs
    kernel_s     seconds that each kernel without tiles takes longer than there
    graph_gap_s  seconds between kernels of a graph
    interval     10th and 90th percentile of measured over predicted GPU-busy times of steps, and
                 periods of graphs, none of them fitted
    """

    version: int
    id: str
    gpu: str
    of: str
    source: str
    kernel_s: float
    graph_gap_s: float
    interval: tuple[float, float]
