"""Ranks side by side: the parts of each distinct rank's period, on one scale."""

from __future__ import annotations

from collections.abc import Iterable

from app.answers.cluster.answer import ClusterAnswer, RankAnswer
from app.answers.cluster.words import PARTS, PARTS_TIP, part_seconds, ranks_words, stage_words
from app.charts.cluster.legend import legend
from app.drawing import Box, Drawing, Item, Metrics, Pattern, Rectangle, Spot, Text, elided, pill
from app.drawing.colours import Fill, PatternKind, Role
from app.quantities import percent, seconds
from app.theme import LABEL_PX, SUPPORT_PX

_HEADS, ROW_PX, _MOST_PX, _HIGH = 48.0, 36.0, 64.0, 18.0
_WORDS_PX, _LIST_PX, _LINE_PX = 52.0, 150.0, 18.0
"""Minimum row heights for figures below the bar, as words and as a list, and the height of a line
of that list."""
_NAME_PX, _BUSY_PX, _PACE_PX = 116.0, 74.0, 116.0
PART_INKS: dict[PatternKind, Role] = {
    "compute": "compute_ink",
    "memory": "memory_ink",
    "overhead": "overhead_ink",
    "bubble": "ink3",
    "communication": "communication_ink",
}


def rank_seconds(rank: RankAnswer) -> dict[PatternKind, float]:
    """Seconds of a rank by the pattern of its bar."""
    return part_seconds(rank.parts)


def ranks_height(answer: ClusterAnswer) -> float:
    """The height that all ranks need, in pixels."""
    return _HEADS + ROW_PX * len(answer.ranks) + 4


def ranks_drawing(answer: ClusterAnswer, width: float, height: float, metrics: Metrics) -> Drawing:
    """The picture, with as many ranks as fit."""
    kinds: list[PatternKind] = [
        k for k in PART_INKS if any(rank_seconds(rank)[k] > 0 for rank in answer.ranks)
    ]
    entries: list[tuple[str, Fill, Role]] = [
        (PARTS[kind], Pattern(kind), PART_INKS[kind]) for kind in kinds
    ]
    items, head = legend(entries, 12, width - 8, metrics)
    head += 4
    fit = max(1, int((height - head - 4) // ROW_PX))
    ranks = answer.ranks if len(answer.ranks) <= fit else answer.ranks[: max(1, fit - 1)]
    room_px = (height - head - 4) / len(answer.ranks)
    listed = room_px >= _LIST_PX
    row_px = _LIST_PX if listed else min(_MOST_PX, max(ROW_PX, room_px))
    pace = width >= 620 and len(answer.ranks) > 1
    right = width - 10 - _BUSY_PX - (_PACE_PX if pace else 0)
    plot = Box.between(12 + _NAME_PX, head, right, height)
    spots: list[Spot] = []
    slowest = max(answer.ranks, key=lambda rank: rank.busy_s)
    for at, rank in enumerate(ranks):
        has_words = row_px >= _WORDS_PX
        y = head + (24 if listed else row_px / 2 - (10 if has_words else 0)) + row_px * at
        items += _name(answer, rank, y, metrics)
        items += _bar(rank, plot, y, answer.period_s, metrics)
        busy = f"busy {percent(rank.busy_s / answer.period_s)}"
        items.append(Text(plot.right + 10, y, busy, "ink", SUPPORT_PX, 600))
        if pace and rank is slowest:
            words = "sets the pace"
            items.append(Text(plot.right + 10 + _BUSY_PX, y, words, "ink3", LABEL_PX))
        if listed:
            items += _list(rank, answer.period_s, plot, y + 30, metrics)
        elif has_words:
            items += _words(rank, answer.period_s, plot.left, width - 10, y + 21, metrics)
        row = Box(0, head + row_px * at, width, row_px)
        spots.append(Spot(rank.ranks, row, _tooltip(rank)))
    hidden = len(answer.ranks) - len(ranks)
    if hidden:
        y = head + row_px * len(ranks) + 12
        items.append(Text(12, y, f"{hidden} more: see the table", "ink3"))
    title = f"{len(answer.ranks)} distinct ranks of {answer.cluster.gpus}"
    return Drawing(width, height, tuple(items), tuple(spots), title)


def _name(answer: ClusterAnswer, rank: RankAnswer, y: float, metrics: Metrics) -> list[Item]:
    name = ranks_words(rank.ranks)
    stage = stage_words(answer.layout, rank.ranks[0])
    words = elided(metrics, f"{name[0].upper()}{name[1:]}", _NAME_PX - 6, SUPPORT_PX, 600)
    if not stage:
        return [Text(12, y, words, "ink", SUPPORT_PX, 600)]
    return [
        Text(12, y - 7, words, "ink", SUPPORT_PX, 600),
        Text(12, y + 8, stage, "ink3", LABEL_PX),
    ]


def _bar(rank: RankAnswer, plot: Box, y: float, period_s: float, metrics: Metrics) -> list[Item]:
    items: list[Item] = []
    left = plot.left
    for kind, part_s in rank_seconds(rank).items():
        wide = plot.width * part_s / period_s
        if wide >= 0.5:
            box = Box(left, y - _HIGH / 2, max(0.5, wide - 1), _HIGH)
            edge: Role | None = "line2" if kind == "bubble" else None
            items.append(Rectangle(box, Pattern(kind), edge, radius=2 if wide > 6 else 0))
            words = seconds(part_s)
            if metrics.width(words, LABEL_PX, 500) + 14 <= wide:
                items.append(pill(metrics, left + wide / 2, y, words, PART_INKS[kind]))
        left += wide
    return items


def _words(
    rank: RankAnswer, period_s: float, left: float, right: float, y: float, metrics: Metrics
) -> list[Item]:
    """The figures below a bar, with their percentages if there is room."""
    parts: dict[PatternKind, float] = {
        kind: part_s for kind, part_s in rank_seconds(rank).items() if part_s > 0
    }
    forms: list[dict[PatternKind, str]] = [
        {kind: f"{seconds(s)}, {percent(s / period_s)}" for kind, s in parts.items()},
        {kind: seconds(s) for kind, s in parts.items()},
        {kind: percent(s / period_s) for kind, s in parts.items()},
    ]
    words = next(
        (form for form in forms if _width(form.values(), metrics) <= right - left), forms[-1]
    )
    items: list[Item] = []
    for kind, each in words.items():
        items.append(Text(left, y, each, PART_INKS[kind]))
        left += metrics.width(each, LABEL_PX) + 16
    return items


def _list(rank: RankAnswer, period_s: float, plot: Box, y: float, metrics: Metrics) -> list[Item]:
    """The figures below a bar, one per line; they start at the margin if the bar is short."""
    parts: dict[PatternKind, float] = {
        kind: part_s for kind, part_s in rank_seconds(rank).items() if part_s > 0
    }
    figures_left = plot.right - 46
    room_px = min(
        figures_left - metrics.width(seconds(s), LABEL_PX) - metrics.width(PARTS[kind], LABEL_PX)
        for kind, s in parts.items()
    )
    left = plot.left if room_px - 8 >= plot.left else 12
    items: list[Item] = []
    for kind, part_s in parts.items():
        items.append(Text(left, y, PARTS[kind], "ink2"))
        items.append(Text(figures_left, y, seconds(part_s), PART_INKS[kind], anchor="end"))
        items.append(Text(plot.right, y, percent(part_s / period_s), "ink3", anchor="end"))
        y += _LINE_PX
    return items


def _width(words: Iterable[str], metrics: Metrics) -> float:
    return sum(metrics.width(each, LABEL_PX) + 16 for each in words) - 16


def _tooltip(rank: RankAnswer) -> str:
    parts = [f"{PARTS[kind]} {seconds(s)}" for kind, s in rank_seconds(rank).items() if s > 0]
    return f"{ranks_words(rank.ranks)}: {', '.join(parts)}\n{PARTS_TIP}"
