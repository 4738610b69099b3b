"""Roads between GPUs: as wide as their bandwidth, filled with their average traffic."""

from __future__ import annotations

from dataclasses import dataclass

from app.answers.cluster.answer import ClusterAnswer
from app.drawing import Box, Item, Rectangle
from app.quantities import percent
from simulator.formats.numbers import short

_WIDEST_PX = 26.0
"""The width of the widest road; the other roads have the same scale."""


@dataclass(frozen=True)
class Roads:
    """The bandwidth and the average traffic of a GPU's link and of a node's network, in bytes/s."""

    link: float
    link_mean: float
    network: float
    network_mean: float

    @property
    def bytes_per_px(self) -> float:
        """The bandwidth that one pixel of a road's width represents."""
        return max(self.link, self.network) / _WIDEST_PX

    @property
    def link_share(self) -> float:
        """The share of a GPU's link that is in use."""
        return self.link_mean / self.link

    @property
    def network_share(self) -> float:
        """The share of the network that is in use."""
        return self.network_mean / self.network

    def wide(self, value: float) -> float:
        """The width of a road in pixels."""
        return max(3.0, value / self.bytes_per_px)


def roads_of(answer: ClusterAnswer) -> Roads:
    """The roads of a step; the network's are 0 if there is one node."""
    cluster, moved, network = answer.cluster, answer.traffic, answer.cluster.network
    leaving = 0.0
    if network is not None and cluster.nodes > 1:
        leaving = network.bandwidth_bytes_per_s * network.nics_per_gpu * cluster.gpus_per_node
    return Roads(
        cluster.link.bandwidth_bytes_per_s * cluster.link.times,
        moved.link_bytes / answer.period_s,
        leaving,
        moved.network_bytes / answer.period_s,
    )


def rate(bytes_per_s: float) -> str:
    """A bandwidth, such as "450 GB/s"."""
    if bytes_per_s >= 1e12:
        return f"{short(bytes_per_s / 1e12, 3)} TB/s"
    return f"{short(bytes_per_s / 1e9, 3)} GB/s"


def busy_words(mean: float, most: float, moved_bytes: float, moved_s: float) -> tuple[str, str]:
    """The use of a link, as a long and a short text."""
    if moved_bytes <= 0:
        return "nothing moves", "nothing moves"
    brief = f"{rate(mean)} in use, {percent(mean / most)}"
    return f"{brief}; {rate(moved_bytes / moved_s)} while a collective runs", brief


def road(box: Box, used: float) -> list[Item]:
    """A road along the longer side of its box; `used` is its average traffic as a share."""
    items: list[Item] = [Rectangle(box, "zigzag_ground", "communication", 1.0)]
    share = min(1.0, max(0.0, used))
    if share <= 0:
        return items
    x, y = box.centre
    if box.height >= box.width:
        filled = Box(x - share * box.width / 2, box.top, max(1.0, share * box.width), box.height)
    else:
        filled = Box(box.left, y - share * box.height / 2, box.width, max(1.0, share * box.height))
    items.append(Rectangle(filled, "communication_ink"))
    return items
