"""Timeline of the distinct ranks: a lane of kernels and one of collectives for each."""

from __future__ import annotations

from app.answers.cluster_answer import ClusterAnswer, RankAnswer, Span
from app.answers.cluster_words import ranks_words, stage_words
from app.charts.cluster.legend import legend
from app.drawing import (
    Box,
    Drawing,
    Fill,
    Item,
    Line,
    Metrics,
    Mix,
    Pattern,
    Rectangle,
    Rectangles,
    Role,
    Spot,
    Text,
    elided,
)
from app.quantities import seconds_unit
from app.scenes.pixel_scale import Scale
from app.theme import SUPPORT_PX

_LEFT, _HEADS, ROW_PX, _MOST_PX = 116.0, 66.0, 50.0, 96.0
_COMPUTE, _COMM = 0.46, 0.2
"""The parts of a row that the lanes of kernels and of collectives are high."""
_FILLS: dict[str, tuple[str, Fill]] = {
    "forward": ("forward", "compute"),
    "backward": ("backward", Mix("compute", 0.62, "bg1")),
    "optimizer": ("optimizer", Pattern("memory")),
    "communication": ("communication", Pattern("communication")),
    "wait": ("waits for a rank", Mix("communication", 0.18, "bg1")),
}


def lanes_height(answer: ClusterAnswer) -> float:
    """The height that all ranks need, in pixels."""
    return _HEADS + ROW_PX * len(answer.ranks) + 6


def lanes_drawing(answer: ClusterAnswer, width: float, height: float, metrics: Metrics) -> Drawing:
    """The last of the steps that were simulated, from the first kernel of each rank on."""
    end_s = max(
        (span.end_s for rank in answer.ranks for span in (*rank.compute, *rank.communication)),
        default=answer.period_s,
    )
    scale, unit = seconds_unit(end_s)
    across = Scale(0.0, end_s / scale, _LEFT, width - 14)
    items, head = legend(_entries(answer), 12, width - 8, metrics)
    head += 22
    row = min(_MOST_PX, max(ROW_PX, (height - head - 6) / len(answer.ranks)))
    bottom = min(height - 6, head + row * len(answer.ranks))
    items.append(Text(_LEFT - 10, head - 12, unit, "ink3", anchor="end"))
    for value, words in across.ticks(max(3, int(width / 110))):
        x = across.at(value)
        items.append(Line(((x, head - 4), (x, bottom)), "grid"))
        items.append(Text(min(x, width - 14), head - 12, words, "ink3", anchor="middle"))
    spots: list[Spot] = []
    for at, rank in enumerate(answer.ranks):
        top = head + row * at
        items += _rank(answer, rank, Box(0, top, width, row), across, scale, metrics)
        spots.append(Spot(rank.ranks, Box(0, top, width, row), ranks_words(rank.ranks)))
    return Drawing(width, height, tuple(items), tuple(spots), "Timeline of the distinct ranks")


def _entries(answer: ClusterAnswer) -> list[tuple[str, Fill, Role]]:
    """What the legend names: the kinds that occur."""
    kinds = {s.kind for rank in answer.ranks for s in (*rank.compute, *rank.communication)}
    entries: list[tuple[str, Fill, Role]] = [
        (words, fill, "ink2") for kind, (words, fill) in _FILLS.items() if kind in kinds
    ]
    return [*entries, ("no kernel", Pattern("bubble"), "ink2")]


def _rank(
    answer: ClusterAnswer,
    rank: RankAnswer,
    row: Box,
    across: Scale,
    scale: float,
    metrics: Metrics,
) -> list[Item]:
    name = ranks_words(rank.ranks)
    words = elided(metrics, f"{name[0].upper()}{name[1:]}", _LEFT - 16, SUPPORT_PX, 600)
    items: list[Item] = [
        Text(12, row.top + 12, words, "ink", SUPPORT_PX, 600),
        Text(12, row.top + 28, stage_words(answer.layout, rank.ranks[0]), "ink3"),
    ]
    last_s = max((s.end_s for s in (*rank.compute, *rank.communication)), default=0.0)
    high = _COMPUTE * row.height
    whole = Box.between(across.at(0), row.top + 2, across.at(last_s / scale), row.top + 2 + high)
    items.append(Rectangle(whole, Pattern("bubble"), "line"))
    for spans, y, lane in (
        (rank.compute, whole.top, high),
        (rank.communication, whole.bottom + 4, _COMM * row.height),
    ):
        for kind, (_, fill) in _FILLS.items():
            boxes = [_box(s, y, lane, across, scale) for s in spans if s.kind == kind]
            if boxes:
                items.append(Rectangles(boxes, fill, crisp=True))
    return items


def _box(span: Span, y: float, high: float, across: Scale, scale: float) -> Box:
    left, right = across.at(span.start_s / scale), across.at(span.end_s / scale)
    return Box(left, y, max(0.7, right - left), high)
