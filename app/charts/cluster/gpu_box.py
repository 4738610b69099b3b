"""One GPU of the cluster: its place in the split, the parts of its time, and its memory."""

from __future__ import annotations

from app.answers.cluster.answer import ClusterAnswer, RankAnswer
from app.answers.cluster.words import PARTS
from app.charts.cluster.ranks import PART_INKS, rank_seconds
from app.drawing import Box, Item, Metrics, Pattern, Rectangle, Text, fitting
from app.drawing.colours import PatternKind
from app.quantities import data, percent, seconds
from app.theme import LABEL_PX, SUPPORT_PX

_TALL, _LOW, _LINE_PX = 74.0, 34.0, 16.0
_MARGIN = -7.0


def place_words(answer: ClusterAnswer, number: int) -> str:
    """The place of a rank in the split: "copy 1, half 0, stage 2"."""
    spread = answer.layout
    group = spread.tp * spread.dp
    words: list[str] = []
    if spread.pp > 1:
        words.append(f"stage {number // group + 1}")
    if spread.dp > 1:
        words.append(f"copy {number % group // spread.tp}")
    if spread.tp > 1:
        words.append(f"part {number % spread.tp}")
    return ", ".join(words)


def _parts(rank: RankAnswer, box: Box, metrics: Metrics) -> list[Item]:
    """The parts of the time, one per line, if there is room for all of them."""
    parts: dict[PatternKind, float] = {kind: s for kind, s in rank_seconds(rank).items() if s > 0}
    if box.height < _LINE_PX * len(parts):
        return []
    items: list[Item] = []
    for at, (kind, part_s) in enumerate(parts.items()):
        y = box.top + _LINE_PX * (at + 0.5)
        time = seconds(part_s)
        room = box.width - 16 - metrics.width(time, LABEL_PX) - 6
        full = PARTS[kind]
        first, last = full.partition(" ")[0], full.rpartition(" ")[2]
        name = fitting(metrics, room, full, last, first, "")
        items.append(Rectangle(Box(box.left, y - 5, 11, 10), Pattern(kind), "line2", radius=2))
        items.append(Text(box.left + 16, y, name, "ink3"))
        items.append(Text(box.right, y, time, PART_INKS[kind], anchor="end"))
    return items


def rank_of(answer: ClusterAnswer, number: int) -> RankAnswer:
    """The rank with this number, or the rank that represents it."""
    return next((rank for rank in answer.ranks if number in rank.ranks), answer.ranks[0])


def gpu_name_fits(name: str, box: Box, metrics: Metrics) -> bool:
    """Whether the name of a GPU fits into its box."""
    return metrics.width(name, LABEL_PX, 600) <= box.width + 2 * _MARGIN


def gpu_items(
    answer: ClusterAnswer, number: int, box: Box, metrics: Metrics, name: str
) -> list[Item]:
    """The box of a GPU; small boxes show only its name or its bar."""
    rank = rank_of(answer, number)
    edge = "line2" if rank.fits else "danger"
    items: list[Item] = [Rectangle(box, "bg1", edge, 1.0 if rank.fits else 1.6, 5)]
    inner = box.grown(_MARGIN, -5)
    if inner.width < 8 or inner.height < 6:
        return items
    top = inner.top + 7
    if box.height >= _LOW:
        items.append(Text(inner.left, top, name, "ink", LABEL_PX, 600))
        room = inner.width - metrics.width(name, LABEL_PX, 600) - 8
        place = place_words(answer, number)
        words = fitting(metrics, room, place, place.partition(", ")[0], "")
        items.append(Text(inner.right, top, words, "ink3", LABEL_PX, anchor="end"))
        top += 12
    bar = Box(inner.left, top, inner.width, min(12.0, inner.bottom - top))
    left = bar.left
    for kind, part_s in rank_seconds(rank).items():
        wide = bar.width * part_s / answer.period_s
        if wide >= 0.5:
            items.append(Rectangle(Box(left, bar.top, wide, bar.height), Pattern(kind)))
        left += wide
    items.append(Rectangle(bar, None, "line2", radius=2))
    if box.height < _TALL:
        return items
    capacity = answer.cluster.gpu.memory_bytes
    used = rank.needed_bytes / capacity
    track = Box(inner.left, bar.bottom + 8, inner.width, 6)
    items.append(Rectangle(track, "bg3", radius=2))
    filled = Box(track.left, track.top, track.width * min(1.0, used), track.height)
    items.append(Rectangle(filled, "danger" if used > 1 else "ink3", radius=2))
    y = track.bottom + 11
    if y + 6 <= inner.bottom:
        need = data(rank.needed_bytes)
        words = fitting(metrics, inner.width, f"{need}, {percent(used)} of memory", need, "")
        if words:
            items.append(Text(inner.left, y, words, "ink3" if used <= 1 else "danger", LABEL_PX))
        else:
            y -= 17
    busy = rank.busy_s / answer.period_s
    if y + 26 <= inner.bottom:
        words = fitting(metrics, inner.width, f"busy {percent(busy)}", percent(busy), "",
                        px=SUPPORT_PX, weight=600)  # fmt: skip
        items.append(Text(inner.left, y + 19, words, "ink", SUPPORT_PX, 600))
    items += _parts(rank, Box.between(inner.left, y + 32, inner.right, inner.bottom), metrics)
    return items
