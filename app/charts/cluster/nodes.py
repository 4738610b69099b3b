"""Nodes of the cluster with their GPUs, drawn in full or reduced."""

from __future__ import annotations

from app.answers.cluster.answer import ClusterAnswer
from app.answers.cluster.words import link_words, ranks_words
from app.charts.cluster.gpu_box import gpu_items, gpu_name_fits, rank_of
from app.charts.cluster.roads import Roads, busy_words, rate, road
from app.drawing import Box, Item, Marker, Metrics, Rectangle, Spot, Text, elided, fitting
from app.quantities import data
from app.theme import LABEL_PX, SUPPORT_PX

PAD_PX, GAP_PX = 10.0, 8.0
MOST_COLUMNS = 4
_HEAD, _SWITCH, _LANE, _BRANCH = 26.0, 30.0, 14.0, 10.0
_GPU_PX, _PAIR_PX = 34.0, 90.0
"""The height of a GPU that shows its name and its bar, and the width of two GPUs beside a
switch."""


class NodesPicture:
    """The items and spots of the nodes drawn so far."""

    def __init__(self, answer: ClusterAnswer, roads: Roads, metrics: Metrics) -> None:
        self.answer, self.roads, self.metrics = answer, roads, metrics
        self.items: list[Item] = []
        self.spots: list[Spot] = []

    def _gpus(self, first: int, boxes: list[Box]) -> None:
        """Draw the GPUs of rank `first` and later ranks, either all with long names or all with
        short ones."""
        last = f"GPU {first + len(boxes) - 1}"
        is_long = gpu_name_fits(last, boxes[0], self.metrics)
        for rank, box in enumerate(boxes, first):
            name = f"GPU {rank}" if is_long else f"{rank}"
            self.items.extend(gpu_items(self.answer, rank, box, self.metrics, name))
            self.spots.append(Spot(rank, box, _tooltip(self.answer, rank)))

    def _head(self, box: Box, name: str, *notes: str, at_end: bool = False) -> None:
        """The name of a node, and the first note that fits beside it."""
        left = box.left + PAD_PX
        name = elided(self.metrics, name, box.width - 2 * PAD_PX, SUPPORT_PX, 600)
        self.items.append(Text(left, box.top + 15, name, "ink", SUPPORT_PX, 600))
        left += self.metrics.width(name, SUPPORT_PX, 600) + 8
        words = fitting(self.metrics, box.right - PAD_PX - left, *notes, "")
        if at_end:
            text = Text(box.right - PAD_PX, box.top + 15, words, "ink3", anchor="end")
        else:
            text = Text(left, box.top + 15, words, "ink3")
        self.items.append(text)

    def node(self, number: int, box: Box) -> None:
        """A node in full: rows of GPUs above and below the switch, each with its road."""
        cluster, count = self.answer.cluster, self.answer.cluster.gpus_per_node
        self.items.append(Rectangle(box, "bg2", "line2", radius=8))
        name = f"Node {number}"
        self.spots.append(Spot(("node", number), box, f"{name}: {count} GPUs"))
        self._head(box, name, f"{count} × {cluster.gpu.name}", f"{count} GPUs")
        shown = min(count, 2 * MOST_COLUMNS)
        rows = 1 if shown <= 2 else 2
        columns = -(-shown // rows)
        inner = Box.between(
            box.left + PAD_PX, box.top + _HEAD, box.right - PAD_PX, box.bottom - PAD_PX
        )
        road_px = min(24.0, 0.1 * inner.height)
        high = (inner.height - _SWITCH - rows * road_px) / rows
        wide = (inner.width - (columns - 1) * GAP_PX) / columns
        switch = Box(inner.left, inner.top + high + road_px, inner.width, _SWITCH)
        half = min(self.roads.wide(self.roads.link), 0.5 * wide) / 2
        boxes: list[Box] = []
        for n in range(shown):
            row, column = divmod(n, columns)
            top = inner.top if row == 0 else switch.bottom + road_px
            gpu = Box(inner.left + column * (wide + GAP_PX), top, wide, high)
            start, end = (gpu.bottom, switch.top) if row == 0 else (switch.bottom, gpu.top)
            way = Box.between(gpu.left + wide / 2 - half, start, gpu.left + wide / 2 + half, end)
            self.items.extend(road(way, self.roads.link_share))
            boxes.append(gpu)
        self._gpus(number * count, boxes)
        self._switch(switch, count - shown)

    def _switch(self, box: Box, hidden: int) -> None:
        """The name of the link between the GPUs of a node, with its use."""
        roads, metrics, moved = self.roads, self.metrics, self.answer.traffic
        self.items.append(Rectangle(box, "bg1", "communication", 1.4, 6))
        x, y = box.left + 14, box.top + box.height / 2
        self.items.append(Marker(x, y, "communication", 5))
        name = link_words(self.answer.cluster)
        room = box.right - 12 - (x + 12)
        shown = elided(metrics, name, room, SUPPORT_PX, 600)
        self.items.append(Text(x + 12, y, shown, "ink", SUPPORT_PX, 600))
        left = x + 20 + metrics.width(shown, SUPPORT_PX, 600)
        use = busy_words(roads.link_mean, roads.link, moved.link_bytes, moved.link_s)
        more = f"; {hidden} more GPUs" if hidden > 0 else ""
        each = f"{rate(roads.link)} a GPU, each way{more}"
        room = box.right - 12 - left
        both = metrics.width(each, LABEL_PX) + 16 + metrics.width(use[0], LABEL_PX, 500)
        brief = use[1].rpartition(", ")[2]
        right = fitting(metrics, room, use[0] if both <= room else use[1], brief, "", weight=500)
        self.items.append(Text(box.right - 12, y, right, "communication_ink", LABEL_PX, 500, "end"))
        room -= metrics.width(right, LABEL_PX, 500) + 14
        short = f"{rate(roads.link)}{more}"
        words = fitting(metrics, room, each, short, more[2:] or rate(roads.link), "")
        self.items.append(Text(left, y, words, "ink3", LABEL_PX))
        self.spots.append(Spot("link", box, f"{name}: {each}; {use[0]}"))

    def small_node(self, number: int, box: Box, folded: bool) -> None:
        """A node that does the same work, drawn small: only its GPUs, beside the switch."""
        cluster = self.answer.cluster
        last, count = cluster.nodes - 1, cluster.gpus_per_node
        name = f"Nodes {number} to {last}" if folded else f"Node {number}"
        dash = "dashed" if folded else "solid"
        self.items.append(Rectangle(box, "bg2", "line2", radius=8, dash=dash))
        self.spots.append(Spot(("node", number), box, f"{name}: {count} GPUs each"))
        note = "each the same" if folded else "the same, drawn small"
        self._head(box, name, note, "the same", at_end=True)
        inner = Box.between(
            box.left + PAD_PX, box.top + _HEAD + 2, box.right - PAD_PX, box.bottom - PAD_PX
        )
        if inner.width > 2.5 * inner.height:
            self._row(number * count, inner)
        else:
            self._pairs(number * count, inner)

    def _pairs(self, first: int, inner: Box) -> None:
        """GPUs left and right of an upright switch, only as many as stay readable."""
        count = min(self.answer.cluster.gpus_per_node, 2 * MOST_COLUMNS)
        most = max(1, int((inner.height + GAP_PX) / (_GPU_PX + GAP_PX)))
        sides = min(count, 1 if inner.width < _PAIR_PX else 2)
        rows = min(-(-count // sides), most)
        each = (inner.width - _LANE - sides * _BRANCH) / sides
        high = (inner.height - (rows - 1) * GAP_PX) / rows
        lane = Box(inner.left + each + _BRANCH, inner.top, _LANE, inner.height)
        self.items.append(Rectangle(lane, "bg1", "communication", 1.2, 4))
        half = min(6.0, self.roads.wide(self.roads.link) / 4)
        boxes: list[Box] = []
        for n in range(min(count, sides * rows)):
            row, column = divmod(n, sides)
            top = inner.top + row * (high + GAP_PX)
            left = inner.left if column == 0 else lane.right + _BRANCH
            start = left + each if column == 0 else lane.right
            way = Box(start, top + high / 2 - half, _BRANCH, 2 * half)
            self.items.extend(road(way, self.roads.link_share))
            boxes.append(Box(left, top, each, high))
        self._gpus(first, boxes)

    def _row(self, first: int, inner: Box) -> None:
        """GPUs in a row above a flat switch."""
        count = min(self.answer.cluster.gpus_per_node, 2 * MOST_COLUMNS)
        wide = (inner.width - (count - 1) * GAP_PX) / count
        high = inner.height - _LANE - _BRANCH
        lane = Box(inner.left, inner.bottom - _LANE, inner.width, _LANE)
        self.items.append(Rectangle(lane, "bg1", "communication", 1.2, 4))
        half = min(6.0, self.roads.wide(self.roads.link) / 4)
        boxes: list[Box] = []
        for n in range(count):
            gpu = Box(inner.left + n * (wide + GAP_PX), inner.top, wide, high)
            way = Box(gpu.left + wide / 2 - half, gpu.bottom, 2 * half, _BRANCH)
            self.items.extend(road(way, self.roads.link_share))
            boxes.append(gpu)
        self._gpus(first, boxes)


def _tooltip(answer: ClusterAnswer, number: int) -> str:
    rank = rank_of(answer, number)
    need = data(rank.needed_bytes)
    same = f", the same on {ranks_words(rank.ranks)}" if len(rank.ranks) > 1 else ""
    return f"GPU {number}: {need}{same}"
