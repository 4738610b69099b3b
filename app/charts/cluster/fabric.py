"""The cluster: nodes with their GPUs, and links as roads. The width of a road is bandwidth, its
fill the average traffic of a step."""

from __future__ import annotations

from dataclasses import dataclass

from app.answers.cluster.answer import ClusterAnswer, RankAnswer
from app.answers.cluster.words import link_words, network_words, ranks_words
from app.charts.cluster.gpu_box import gpu_items
from app.charts.cluster.roads import busy_words, rate, road
from app.drawing import (
    Box,
    Drawing,
    Item,
    Marker,
    Metrics,
    Rectangle,
    Spot,
    Text,
    elided,
    fitting,
)
from app.quantities import data
from app.theme import LABEL_PX, SUPPORT_PX

_PAD, _HEAD, _GAP, _SWITCH = 10.0, 26.0, 8.0, 30.0
_MOST_NODES, _COLUMNS, _FOOT = 3, 4, 20.0
_ROAD_PX = 26.0
"""The width of the widest road; the other roads have the same scale."""


@dataclass(frozen=True)
class Roads:
    """The bandwidth and the average traffic of a GPU's link and of a node's network, in bytes/s."""

    link: float
    link_mean: float
    network: float
    network_mean: float

    def wide(self, value: float) -> float:
        """The width of a road in pixels."""
        return max(3.0, _ROAD_PX * value / max(self.link, self.network))


def fabric_drawing(answer: ClusterAnswer, width: float, height: float, metrics: Metrics) -> Drawing:
    """The picture: the first node in full, the others smaller, limited by the room."""
    cluster, moved = answer.cluster, answer.traffic
    network = cluster.network
    leaving = 0.0
    if network is not None:
        leaving = network.bandwidth_bytes_per_s * network.nics_per_gpu * cluster.gpus_per_node
    roads = Roads(
        cluster.link.bandwidth_bytes_per_s * cluster.link.times,
        moved.link_bytes / answer.period_s,
        leaving if cluster.nodes > 1 else 0.0,
        moved.network_bytes / answer.period_s,
    )
    items: list[Item] = []
    spots: list[Spot] = []
    bottom = height - _FOOT
    others = min(cluster.nodes - 1, _MOST_NODES if width > 1100 else 1)
    if not others:
        _node(answer, 0, Box.between(_PAD, 6, width - _PAD, bottom), roads, items, spots, metrics)
    else:
        between = 112.0 if width >= 620 else 92.0
        side = max(118.0, (0.24 if others == 1 else 0.36) * width)
        first = Box.between(_PAD, 6, width - _PAD - side - between, bottom)
        _node(answer, 0, first, roads, items, spots, metrics)
        each = (side - _GAP * (others - 1)) / others
        for n in range(others):
            left = first.right + between + n * (each + _GAP)
            box = Box(left, 6, each, bottom - 6)
            last = n == others - 1 and cluster.nodes - 1 > others
            _small_node(answer, n + 1, box, last, roads, items, spots, metrics)
        _network(answer, first.right, between, bottom, roads, items, spots, metrics)
    scale = max(roads.link, roads.network) / _ROAD_PX
    words = fitting(
        metrics,
        width - 2 * _PAD,
        f"Road width is bandwidth, 1 px = {rate(scale)}; fill is the average traffic of a step",
        "Road width is bandwidth, fill average traffic",
    )
    items.append(Text(_PAD, height - 9, words, "ink3"))
    return Drawing(width, height, tuple(items), tuple(spots), cluster.name)


def _node(
    answer: ClusterAnswer,
    number: int,
    box: Box,
    roads: Roads,
    items: list[Item],
    spots: list[Spot],
    metrics: Metrics,
) -> None:
    """A node: rows of GPUs above and below the switch, each with its road."""
    cluster = answer.cluster
    items.append(Rectangle(box, "bg2", "line2", radius=8))
    name = f"Node {number}"
    spots.append(Spot(("node", number), box, f"{name}: {cluster.gpus_per_node} GPUs"))
    items.append(Text(box.left + _PAD, box.top + 15, name, "ink", SUPPORT_PX, 600))
    left = box.left + _PAD + metrics.width(name, SUPPORT_PX, 600) + 8
    words = f"{cluster.gpus_per_node} × {cluster.gpu.name}"
    words = elided(metrics, words, max(0.0, box.right - _PAD - left), LABEL_PX)
    items.append(Text(left, box.top + 15, words, "ink3"))
    count = cluster.gpus_per_node
    shown = min(count, 2 * _COLUMNS)
    rows = 1 if shown <= 2 else 2
    columns = -(-shown // rows)
    inner = Box.between(box.left + _PAD, box.top + _HEAD, box.right - _PAD, box.bottom - _PAD)
    road_px = min(24.0, 0.1 * inner.height)
    high = (inner.height - _SWITCH - rows * road_px) / rows
    wide = (inner.width - (columns - 1) * _GAP) / columns
    switch = Box(inner.left, inner.top + high + road_px, inner.width, _SWITCH)
    for n in range(shown):
        row, column = divmod(n, columns)
        top = inner.top if row == 0 else switch.bottom + road_px
        gpu = Box(inner.left + column * (wide + _GAP), top, wide, high)
        rank = number * count + n
        middle = gpu.left + wide / 2
        way = (
            Box(middle, gpu.bottom, 0, switch.top - gpu.bottom)
            if row == 0
            else Box(middle, switch.bottom, 0, gpu.top - switch.bottom)
        )
        items += road(way.grown(roads.wide(roads.link) / 2, 0), roads.link_mean / roads.link)
        items += gpu_items(answer, rank, gpu, metrics)
        spots.append(Spot(rank, gpu, _tooltip(answer, rank)))
    _switch(answer, switch, roads, items, spots, metrics, count - shown)


def _switch(
    answer: ClusterAnswer,
    box: Box,
    roads: Roads,
    items: list[Item],
    spots: list[Spot],
    metrics: Metrics,
    hidden: int,
) -> None:
    """The name of the link between the GPUs of a node, with its use."""
    items.append(Rectangle(box, "bg1", "communication", 1.4, 6))
    x, y = box.left + 14, box.top + box.height / 2
    items.append(Marker(x, y, "communication", 5))
    name = link_words(answer.cluster)
    items.append(Text(x + 12, y, name, "ink", SUPPORT_PX, 600))
    left = x + 20 + metrics.width(name, SUPPORT_PX, 600)
    use = busy_words(roads.link_mean, roads.link, answer.traffic.link_bytes, answer.traffic.link_s)
    more = f"; {hidden} more GPUs" if hidden > 0 else ""
    each = f"{rate(roads.link)} a GPU, each way{more}"
    room = box.right - 12 - left
    both = metrics.width(each, LABEL_PX) + 16 + metrics.width(use[0], LABEL_PX, 500)
    right = fitting(metrics, room, use[0] if both <= room else use[1], use[1].rpartition(", ")[2])
    items.append(Text(box.right - 12, y, right, "communication_ink", LABEL_PX, 500, "end"))
    room -= metrics.width(right, LABEL_PX, 500) + 14
    short = f"{rate(roads.link)}{more}"
    words = fitting(metrics, room, each, short, rate(roads.link), "")
    items.append(Text(left, y, words, "ink3", LABEL_PX))
    spots.append(Spot("link", box, f"{name}: {each}; {use[0]}"))


def _small_node(
    answer: ClusterAnswer,
    number: int,
    box: Box,
    folded: bool,
    roads: Roads,
    items: list[Item],
    spots: list[Spot],
    metrics: Metrics,
) -> None:
    """A node that does the same work, drawn small: only its GPUs, beside the switch."""
    cluster = answer.cluster
    last = cluster.nodes - 1
    name = f"Nodes {number} to {last}" if folded else f"Node {number}"
    note = "the same, drawn small" if not folded else "all the same"
    items.append(Rectangle(box, "bg2", "line2", radius=8, dash="dashed" if folded else "solid"))
    spots.append(Spot(("node", number), box, f"{name}: {cluster.gpus_per_node} GPUs each"))
    items.append(Text(box.left + _PAD, box.top + 15, name, "ink", SUPPORT_PX, 600))
    wide = metrics.width(name, SUPPORT_PX, 600)
    room = box.width - 2 * _PAD - wide - 8
    words = fitting(metrics, room, note, "the same", "")
    items.append(Text(box.right - _PAD, box.top + 15, words, "ink3", anchor="end"))
    count = min(cluster.gpus_per_node, 2 * _COLUMNS)
    rows = -(-count // 2)
    inner = Box.between(box.left + _PAD, box.top + _HEAD + 2, box.right - _PAD, box.bottom - _PAD)
    lane = 14.0
    each = (inner.width - lane - 2 * 10) / 2
    high = (inner.height - (rows - 1) * _GAP) / rows
    middle = inner.left + inner.width / 2
    used = roads.link_mean / roads.link
    items.append(
        Rectangle(
            Box(middle - lane / 2, inner.top, lane, inner.height), "bg1", "communication", 1.2, 4
        )
    )
    for n in range(count):
        row, column = divmod(n, 2)
        top = inner.top + row * (high + _GAP)
        left = inner.left if column == 0 else inner.right - each
        start = left + each if column == 0 else middle + lane / 2
        y, half = top + high / 2, min(6.0, roads.wide(roads.link) / 4)
        items += road(Box(start, y - half, 10, 2 * half), used)
        gpu = Box(left, top, each, high)
        rank = number * cluster.gpus_per_node + n
        items += gpu_items(answer, rank, gpu, metrics)
        spots.append(Spot(rank, gpu, _tooltip(answer, rank)))


def _network(
    answer: ClusterAnswer,
    left: float,
    wide: float,
    bottom: float,
    roads: Roads,
    items: list[Item],
    spots: list[Spot],
    metrics: Metrics,
) -> None:
    """The road between the nodes, with its name and use above and below."""
    network, moved = answer.cluster.network, answer.traffic
    assert network is not None
    y, half = bottom / 2, roads.wide(roads.network) / 2
    box = Box(left, y - half, wide, 2 * half)
    items += road(box, roads.network_mean / roads.network)
    middle = left + wide / 2
    name = network_words(answer.cluster)
    items.append(Marker(middle, y - half - 62, "communication", 5))
    items.append(Text(middle, y - half - 44, name, "ink", SUPPORT_PX, 600, "middle"))
    nics = network.nics_per_gpu * answer.cluster.gpus_per_node
    rails = f"{nics:g} × {rate(network.bandwidth_bytes_per_s)}"
    items.append(Text(middle, y - half - 28, rails, "ink3", anchor="middle"))
    use = busy_words(roads.network_mean, roads.network, moved.network_bytes, moved.network_s)
    brief, _, share = use[1].partition(", ")
    line = fitting(metrics, wide - 4, use[1], brief, share)
    items.append(Text(middle, y - half - 12, line, "communication_ink", LABEL_PX, 500, "middle"))
    spots.append(Spot("network", box.grown(0, 50), f"{name}: {rails} a node; {use[0]}"))


def is_node(spot: Spot) -> bool:
    """Whether a spot is a node, rather than a GPU or a road."""
    return isinstance(spot.key, tuple)


def rank_of(answer: ClusterAnswer, number: int) -> RankAnswer:
    """The rank with this number, or the rank that stands for it."""
    return next((rank for rank in answer.ranks if number in rank.ranks), answer.ranks[0])


def _tooltip(answer: ClusterAnswer, number: int) -> str:
    rank = rank_of(answer, number)
    need = data(rank.needed_bytes)
    same = f", as all of {ranks_words(rank.ranks)}" if len(rank.ranks) > 1 else ""
    return f"GPU {number}: {need}{same}"
