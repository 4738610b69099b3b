"""The picture of a cluster is readable at any size, with any number of nodes and GPUs."""

from dataclasses import replace
from itertools import combinations

import pytest
from msgspec.structs import replace as replace_cluster

from app.answers.cluster.answer import ClusterAnswer
from app.charts.cluster.fabric import fabric_drawing
from app.drawing import TABULATED, Box, Drawing, Text
from app.drawing.items import SHARES_LEFT
from simulator.cluster import cluster
from simulator.cluster.cluster import Cluster
from simulator.cluster.layout import Layout
from tests.app.cluster_answers import ANSWER

TWO = cluster("16xh100-ib")
CLUSTERS = {
    "one node": cluster("2xh200"),
    "two nodes": TWO,
    "two nodes of one GPU": replace_cluster(TWO, gpus_per_node=1),
    "two nodes of three": replace_cluster(TWO, gpus_per_node=3),
    "eight nodes": cluster("64xh100-ib"),
    "a rack": cluster("gb200-nvl72"),
    "PCIe": cluster("8xl40s"),
    "AMD": cluster("8xmi355x"),
}
SIZES = ((218, 290), (300, 420), (400, 200), (428, 360), (460, 230), (620, 230), (920, 290),
         (1190, 400), (1270, 440), (2500, 900))  # fmt: skip


def of(machine: Cluster) -> ClusterAnswer:
    """The answer of a cluster whose ranks, one on each GPU, are identical."""
    rank = replace(ANSWER.ranks[0], ranks=tuple(range(machine.gpus)))
    return replace(ANSWER, cluster=machine, layout=Layout(dp=machine.gpus), ranks=(rank,))


def box_of(text: Text) -> Box:
    wide = TABULATED.width(text.words, text.px, text.weight)
    return Box(text.x - SHARES_LEFT[text.anchor] * wide, text.y - 5, wide, 10)


def first_node(drawing: Drawing, count: int) -> list[Box]:
    spots = {spot.key: spot.box for spot in drawing.spots}
    return [spots[n] for n in range(min(count, 8))]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", list(CLUSTERS))
def test_texts_do_not_touch_each_other(name: str, size: tuple[int, int]):
    drawing = fabric_drawing(of(CLUSTERS[name]), *size, TABULATED)
    boxes = [(t.words, box_of(t)) for t in drawing.items if isinstance(t, Text) and t.words]
    page = Box(-1, -1, size[0] + 2, size[1] + 2)
    assert [words for words, box in boxes if not page.contains(box)] == []
    touching = [(a, b) for (a, x), (b, y) in combinations(boxes, 2) if x.intersects(y)]
    assert touching == []


@pytest.mark.parametrize("size", SIZES)
def test_the_gpus_of_the_first_node_are_no_slivers(size: tuple[int, int]):
    drawing = fabric_drawing(of(TWO), *size, TABULATED)
    least = min(box.width for box in first_node(drawing, 8))
    assert least >= (60 if size[0] >= 600 else 28)
    spots = {spot.key: spot.box for spot in drawing.spots}
    node, switch = spots["node", 0], spots["link"]
    assert node.contains(switch) and not node.intersects(spots["node", 1])
    name = next(t for t in drawing.items if isinstance(t, Text) and t.words == "NVSwitch")
    assert switch.contains(box_of(name))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", list(CLUSTERS))
def test_the_names_of_gpus_of_a_node_are_all_long_or_all_short(name: str, size: tuple[int, int]):
    machine = CLUSTERS[name]
    drawing = fabric_drawing(of(machine), *size, TABULATED)
    for number in range(machine.nodes):
        ranks = range(number * machine.gpus_per_node, (number + 1) * machine.gpus_per_node)
        words = {t.words for t in drawing.items if isinstance(t, Text)}
        long, short = (f"GPU {r}" in words for r in ranks), (f"{r}" in words for r in ranks)
        assert not (any(long) and any(short))
