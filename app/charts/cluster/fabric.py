"""The cluster: nodes with their GPUs, and links drawn as roads. The width of a road is its
bandwidth, and its fill the average traffic of a step."""

from __future__ import annotations

from app.answers.cluster.answer import ClusterAnswer
from app.answers.cluster.words import network_words
from app.charts.cluster.nodes import GAP_PX, PAD_PX, NodesPicture
from app.charts.cluster.roads import busy_words, rate, road, roads_of
from app.drawing import Box, Drawing, Marker, Metrics, Spot, Text, fitting
from app.theme import LABEL_PX, SUPPORT_PX

NEEDED_PX = 196.0
"""The height below which the GPUs of a node are drawn without bars."""
_MOST_NODES, _FOOT, _TOP = 3, 20.0, 6.0
_WIDE_PX, _BESIDE_PX, _NARROW_PX = 1100.0, 480.0, 620.0
"""Smallest widths with room for three more nodes, for a node beside the first one, and for a wide
road between the two."""
_ROAD_PX, _DOWN_PX = (70.0, 92.0, 112.0), 58.0
"""The length of the road between nodes, side by side and one below the other."""
_SIDE_PX, _SIDE_SHARE, _SIDES_SHARE = 84.0, 0.24, 0.36
_FIRST_SHARE = 0.6
"""The height of the first node, if the other is below it."""


def fabric_drawing(answer: ClusterAnswer, width: float, height: float, metrics: Metrics) -> Drawing:
    """The picture: the first node in full, then as many smaller nodes as fit."""
    picture = NodesPicture(answer, roads_of(answer), metrics)
    bottom = height - _FOOT
    whole = Box.between(PAD_PX, _TOP, width - PAD_PX, bottom)
    if answer.cluster.nodes == 1:
        picture.node(0, whole)
    elif width < _BESIDE_PX and whole.height > width:
        _one_below_the_other(picture, whole)
    else:
        _side_by_side(picture, whole)
    scale = picture.roads.bytes_per_px
    words = fitting(
        metrics,
        width - 2 * PAD_PX,
        f"Road width is bandwidth, 1 px = {rate(scale)}; fill is the average traffic of a step",
        "Road width is bandwidth, fill average traffic",
        "Road: bandwidth, fill: traffic",
        "",
    )
    picture.items.append(Text(PAD_PX, height - 9, words, "ink3"))
    items, spots = tuple(picture.items), tuple(picture.spots)
    return Drawing(width, height, items, spots, answer.cluster.name)


def _side_by_side(picture: NodesPicture, whole: Box) -> None:
    """The first node, the network, and the other nodes from left to right."""
    nodes = picture.answer.cluster.nodes
    wide = whole.width + 2 * PAD_PX
    others = min(nodes - 1, _MOST_NODES if wide > _WIDE_PX else 1)
    between = _ROAD_PX[(wide >= _BESIDE_PX) + (wide >= _NARROW_PX)]
    side = max(_SIDE_PX, (_SIDE_SHARE if others == 1 else _SIDES_SHARE) * wide)
    first = Box.between(whole.left, whole.top, whole.right - side - between, whole.bottom)
    picture.node(0, first)
    each = (side - GAP_PX * (others - 1)) / others
    for n in range(others):
        left = first.right + between + n * (each + GAP_PX)
        folded = n == others - 1 and nodes - 1 > others
        picture.small_node(n + 1, Box(left, whole.top, each, whole.height), folded)
    _network_across(picture, Box(first.right, whole.top, between, whole.height))


def _one_below_the_other(picture: NodesPicture, whole: Box) -> None:
    """The first node, the network, and one other node from top to bottom."""
    first = Box(whole.left, whole.top, whole.width, _FIRST_SHARE * (whole.height - _DOWN_PX))
    picture.node(0, first)
    top = first.bottom + _DOWN_PX
    other = Box.between(whole.left, top, whole.right, whole.bottom)
    picture.small_node(1, other, picture.answer.cluster.nodes > 2)
    _network_down(picture, Box(whole.left, first.bottom, whole.width, _DOWN_PX))


def _network_words(picture: NodesPicture, room: float) -> tuple[str, str, str, str]:
    """The name of the network, its bandwidth, its use in `room` pixels, and the tooltip."""
    cluster, moved, roads = picture.answer.cluster, picture.answer.traffic, picture.roads
    network = cluster.network
    assert network is not None
    name = network_words(cluster)
    nics = network.nics_per_gpu * cluster.gpus_per_node
    rails = f"{nics:g} × {rate(network.bandwidth_bytes_per_s)}"
    use = busy_words(roads.network_mean, roads.network, moved.network_bytes, moved.network_s)
    brief, _, share = use[1].partition(", ")
    line = fitting(
        picture.metrics, room, use[1], brief, share or brief.removesuffix(" moves"), weight=500
    )
    return name, rails, line, f"{name}: {rails} a node; {use[0]}"


def _network_across(picture: NodesPicture, space: Box) -> None:
    """The road between nodes side by side, with its name and use above."""
    half = picture.roads.wide(picture.roads.network) / 2
    middle, y = space.left + space.width / 2, space.top + space.height / 2
    box = Box(space.left, y - half, space.width, 2 * half)
    picture.items.extend(road(box, picture.roads.network_share))
    name, rails, line, tooltip = _network_words(picture, space.width - 4)
    top = y - half
    picture.items += (
        Marker(middle, top - 62, "communication", 5),
        Text(middle, top - 44, name, "ink", SUPPORT_PX, 600, "middle"),
        Text(middle, top - 28, rails, "ink3", anchor="middle"),
        Text(middle, top - 12, line, "communication_ink", LABEL_PX, 500, "middle"),
    )
    picture.spots.append(Spot("network", box.grown(0, 50), tooltip))


def _network_down(picture: NodesPicture, space: Box) -> None:
    """The road between a node and the node below it, with its name and use beside it."""
    half = picture.roads.wide(picture.roads.network) / 2
    x, y = space.left + 24 + half, space.top + space.height / 2
    box = Box(x - half, space.top, 2 * half, space.height)
    picture.items.extend(road(box, picture.roads.network_share))
    left = x + half + 16
    name, rails, line, tooltip = _network_words(picture, space.right - left)
    picture.items += (
        Marker(left + 5, y - 16, "communication", 5),
        Text(left + 16, y - 16, name, "ink", SUPPORT_PX, 600),
        Text(left, y, rails, "ink3"),
        Text(left, y + 16, line, "communication_ink", LABEL_PX, 500),
    )
    picture.spots.append(Spot("network", space, tooltip))


def is_node(spot: Spot) -> bool:
    """Whether a spot is a node, rather than a GPU or a road."""
    return isinstance(spot.key, tuple)
