"""Timeline of the distinct ranks: a lane of kernels and one of collectives for each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from app.answers.cluster.answer import ClusterAnswer, RankAnswer, Span
from app.answers.cluster.words import collective_words, ranks_words, stage_words
from app.charts.cluster.bubbles import bubbles
from app.charts.cluster.legend import legend
from app.charts.timeline.pinned import pin_mark
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
    fitting,
    pill,
)
from app.quantities import percent, seconds, seconds_unit
from app.scenes.pixel_scale import Scale
from app.scenes.timeline.pins import Pin, Pins
from app.theme import SUPPORT_PX

_LEFT, _HEADS, ROW_PX, _MOST_PX = 116.0, 66.0, 50.0, 96.0
_COMPUTE, _COMM = 0.46, 0.2
"""The heights of the lanes of kernels and of collectives, as fractions of a row."""
_FILLS: dict[str, tuple[str, Fill]] = {
    "forward": ("forward", "compute"),
    "backward": ("backward", Mix("compute", 0.62, "bg1")),
    "optimizer": ("optimizer", Pattern("memory")),
    "communication": ("communication", Pattern("communication")),
    "wait": ("waits for a rank", Mix("communication", 0.18, "bg1")),
}


def lanes_height(ranks: int, head: bool = True) -> float:
    """The height in pixels of the lanes of some ranks, with or without the legend and the axis."""
    return _HEADS * head + ROW_PX * ranks + 6


def rank_pin(rank: RankAnswer) -> Pin:
    """The pin of a rank's lanes."""
    return Pin("rank", str(rank.ranks[0]))


def lanes_across(answer: ClusterAnswer, width: float) -> Scale:
    """The whole step across a picture, in seconds."""
    end_s = max(
        (span.end_s for rank in answer.ranks for span in (*rank.compute, *rank.communication)),
        default=answer.period_s,
    )
    return Scale(0.0, end_s, _LEFT, width - 14)


def lanes_drawing(
    answer: ClusterAnswer,
    width: float,
    height: float,
    metrics: Metrics,
    shown_s: tuple[float, float] | None = None,
    picked: int = -1,
    ranks: Sequence[RankAnswer] | None = None,
    pins: Pins = (),
    headed: bool = True,
) -> Drawing:
    """The last simulated step, beginning with the first kernel of each rank, or the part of it
    within the seconds `shown_s`. The bars of the collective in row `picked` of the answer stand
    out. Only `ranks` are drawn, by default all; `pins` are marked. The legend and the times are
    drawn if `headed`."""
    ranks = answer.ranks if ranks is None else ranks
    whole = lanes_across(answer, width)
    scale, unit = seconds_unit(whole.high)
    low, high = shown_s or (0.0, whole.high)
    across = Scale(low / scale, high / scale, whole.begin, whole.end)
    items: list[Item] = []
    head = 4.0
    if headed:
        items, head = legend(_entries(answer), 12, width - 8, metrics)
        head += 22
        items.append(Text(_LEFT - 10, head - 12, unit, "ink3", anchor="end"))
    row = min(_MOST_PX, max(ROW_PX, (height - head - 6) / max(1, len(ranks))))
    bottom = min(height - 6, head + row * len(ranks))
    for value, words in across.ticks(max(3, int(width / 110))):
        x = across.at(value)
        items.append(Line(((x, head - 4), (x, bottom)), "grid"))
        if headed:
            items.append(Text(min(x, width - 14), head - 12, words, "ink3", anchor="middle"))
    spots: list[Spot] = []
    for at, rank in enumerate(ranks):
        top = head + row * at
        box = Box(0, top, width, row)
        items += _rank(answer, rank, box, across, scale, metrics, picked)
        spots.append(Spot(rank.ranks, box, ranks_words(rank.ranks)))
        name, pin = Box(0, top, _LEFT - 4, row), rank_pin(rank)
        verb = "Unpin" if pin in pins else "Pin to the top:"
        spots.append(Spot(pin, name, f"{verb} {ranks_words(rank.ranks)} (P)"))
        if pin in pins:
            items += pin_mark(_LEFT - 10, top + 12, "b")
        spots += _bars(answer, rank, box, across, scale)
    return Drawing(width, height, tuple(items), tuple(spots), "Timeline of the distinct ranks")


def _entries(answer: ClusterAnswer) -> list[tuple[str, Fill, Role]]:
    """The entries of the legend: the kinds of spans that occur."""
    kinds = {s.kind for rank in answer.ranks for s in (*rank.compute, *rank.communication)}
    entries: list[tuple[str, Fill, Role]] = [
        (words, fill, "ink2") for kind, (words, fill) in _FILLS.items() if kind in kinds
    ]
    name = "bubble" if answer.layout.pp > 1 else "waits for a rank"
    if any(bubbles(rank) for rank in answer.ranks):
        entries.append((f"{name}, no kernel", Pattern("bubble"), "ink2"))
    return [*entries, ("no kernel", Pattern("idle"), "ink2")]


def _rank(
    answer: ClusterAnswer,
    rank: RankAnswer,
    row: Box,
    across: Scale,
    scale: float,
    metrics: Metrics,
    picked: int,
) -> list[Item]:
    name = ranks_words(rank.ranks)
    words = elided(metrics, f"{name[0].upper()}{name[1:]}", _LEFT - 30, SUPPORT_PX, 600)
    items: list[Item] = [
        Text(12, row.top + 12, words, "ink", SUPPORT_PX, 600),
        Text(12, row.top + 28, stage_words(answer.layout, rank.ranks[0]), "ink3"),
    ]
    if answer.layout.pp > 1 and row.height >= 50:
        share = percent(rank.parts.bubble_s / answer.period_s)
        items.append(Text(12, row.top + 43, f"{share} bubble", "ink3"))
    last_s = max((s.end_s for s in (*rank.compute, *rank.communication)), default=0.0)
    high = _COMPUTE * row.height
    y = row.top + 2
    items += [
        Rectangle(box, Pattern("idle"), "line")
        for box in _boxes([Span("", 0.0, last_s)], y, high, across, scale)
    ]
    waits = [Span("", start, end) for start, end in bubbles(rank)]
    boxes = _boxes(waits, y, high, across, scale)
    items.append(Rectangles(boxes, Pattern("bubble"), crisp=True))
    for spans, top, lane in (
        (rank.compute, y, high),
        (rank.communication, y + high + 4, _COMM * row.height),
    ):
        for kind, (_, fill) in _FILLS.items():
            of_kind = [s for s in spans if s.kind == kind]
            items.append(Rectangles(_boxes(of_kind, top, lane, across, scale), fill, crisp=True))
        chosen = [s for s in spans if s.row == picked >= 0]
        items.append(Rectangles(_boxes(chosen, top - 2, lane + 4, across, scale), "ink"))
    return items + _named(answer, waits, y + high / 2, across, scale, metrics)


def _named(
    answer: ClusterAnswer,
    waits: list[Span],
    middle: float,
    across: Scale,
    scale: float,
    metrics: Metrics,
) -> list[Item]:
    """The names and seconds of a pipeline's waits that are wide enough for this text."""
    name = "bubble" if answer.layout.pp > 1 else "wait"
    items: list[Item] = []
    for wait in waits:
        for box in _boxes([wait], 0.0, 0.0, across, scale):
            took = seconds(wait.end_s - wait.start_s)
            words = fitting(metrics, box.width - 18, f"{name} {took}", took, "")
            if words:
                items.append(pill(metrics, box.centre[0], middle, words, "ink2"))
    return items


def _bars(
    answer: ClusterAnswer, rank: RankAnswer, row: Box, across: Scale, scale: float
) -> list[Spot]:
    """The collectives of a rank as spots to pick; a spot's key is its row in the answer."""
    y = row.top + 6 + _COMPUTE * row.height
    spots: list[Spot] = []
    for span in rank.communication:
        if span.row >= 0:
            for box in _boxes([span], y - 3, _COMM * row.height + 6, across, scale):
                took = seconds(span.end_s - span.start_s)
                name, purpose = collective_words(answer.collectives[span.row])
                doing = "waits for a rank" if span.kind == "wait" else "moves data"
                words = f"{name}, {purpose}: {doing} {took}"
                spots.append(Spot(span.row, box.grown(1.5, 0), words))
    return spots


def _boxes(
    spans: Iterable[Span], top: float, high: float, across: Scale, scale: float
) -> list[Box]:
    """The parts of spans inside the shown seconds."""
    boxes: list[Box] = []
    for span in spans:
        start, end = span.start_s / scale, span.end_s / scale
        if end > across.low and start < across.high:
            left = across.at(max(start, across.low))
            right = across.at(min(end, across.high))
            boxes.append(Box(left, top, max(0.7, right - left), high))
    return boxes
