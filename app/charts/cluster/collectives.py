"""The collectives of a step as a table, with a bar for the exposed time of each."""

from __future__ import annotations

from app.answers.cluster.answer import ClusterAnswer
from app.answers.cluster.words import collective_words
from app.drawing import (
    Box,
    Drawing,
    Item,
    Line,
    Marker,
    Metrics,
    Pattern,
    Rectangle,
    Spot,
    Text,
    fitting,
)
from app.quantities import data, seconds
from app.theme import LABEL_PX, SUPPORT_PX
from simulator.parallel.rank_parts import Collectives

_HEAD, ROW_PX, _BAR_PX = 26.0, 27.0, 84.0
_COLUMNS = (
    ("Count", 44.0), ("Bytes each", 112.0), ("Algorithm, protocol", 122.0), ("Each", 58.0),
    ("All", 58.0), ("Exposed", 62.0),
)  # fmt: skip
_DROPPED = ("Algorithm, protocol", "All", "Bytes each")
"""Columns that a narrow table leaves out, in this order."""
_LEAST_PX = 150.0


def collectives_height(answer: ClusterAnswer) -> float:
    """The height of all rows, in pixels."""
    return _HEAD + ROW_PX * max(1, len(answer.collectives)) + 4


def collective_cells(row: Collectives) -> dict[str, str]:
    """The cells of a row by column head."""
    low, high = row.bytes_each
    sizes, least = data(high), data(low)
    if least != sizes:
        number, _, unit = least.partition(" ")
        sizes = f"{number if sizes.endswith(f' {unit}') else least} to {sizes}"
    return {
        "Count": f"{row.count:,} ×",
        "Bytes each": sizes,
        "Algorithm, protocol": f"{row.choice.algorithm}, {row.choice.protocol}",
        "Each": seconds(row.each_s),
        "All": seconds(row.all_s),
        "Exposed": seconds(row.exposed_s),
    }


def collectives_drawing(
    answer: ClusterAnswer, width: float, height: float, metrics: Metrics
) -> Drawing:
    """The table, without the bar and the columns for which there is no room."""
    if not answer.collectives:
        words = "No GPU waits for another: this step has no collectives."
        text = Text(width / 2, height / 2, words, "ink3", SUPPORT_PX, anchor="middle")
        return Drawing(width, height, (text,), title=words)
    columns = list(_COLUMNS)
    bar = width - sum(px for _, px in columns) - _LEAST_PX - 24 >= _BAR_PX
    for name in _DROPPED:
        if sum(px for _, px in columns) + _LEAST_PX + 24 > width:
            columns = [column for column in columns if column[0] != name]
    right = width - 12 - (_BAR_PX + 10 if bar else 0)
    ends: dict[str, float] = {}
    for name, px in reversed(columns):
        ends[name] = right
        right -= px
    ends = {name: ends[name] for name, _ in columns}
    items: list[Item] = [Text(28, 13, "Operation", "ink3")]
    items += [Text(end, 13, name, "ink3", anchor="end") for name, end in ends.items()]
    if bar:
        items.append(Text(width - 12, 13, "exposed of all", "ink3", anchor="end"))
    longest_s = max(row.all_s for row in answer.collectives) or 1.0
    spots: list[Spot] = []
    for at, row in enumerate(answer.collectives):
        y = _HEAD + ROW_PX * (at + 0.5)
        items.append(Line(((0, y - ROW_PX / 2), (width, y - ROW_PX / 2)), "line"))
        items += _row(row, y, ends, right, metrics)
        if bar:
            whole = Box(width - 12 - _BAR_PX, y - 5, _BAR_PX * row.all_s / longest_s, 10)
            items.append(Rectangle(whole, None, "line2", radius=2))
            part = min(1.0, row.exposed_s / row.all_s) if row.all_s else 0.0
            if part * whole.width >= 1:
                shown = Box(whole.left, whole.top, part * whole.width, whole.height)
                items.append(Rectangle(shown, Pattern("communication"), radius=2))
        box = Box(0, y - ROW_PX / 2, width, ROW_PX)
        spots.append(Spot(at, box, collective_tooltip(row)))
    count = sum(row.count for row in answer.collectives)
    return Drawing(width, height, tuple(items), tuple(spots), f"{count:,} collectives of a step")


def _row(
    row: Collectives, y: float, ends: dict[str, float], room: float, metrics: Metrics
) -> list[Item]:
    name, purpose = collective_words(row)
    left = 28 + metrics.width(name, SUPPORT_PX, 600) + 7
    items: list[Item] = [
        Marker(16, y, "communication", 4.6),
        Text(28, y, name, "ink", SUPPORT_PX, 600),
        Text(left, y, fitting(metrics, room - left, purpose, row.phase, ""), "ink3", LABEL_PX),
    ]
    cells = collective_cells(row)
    for head, end in ends.items():
        exposed = head == "Exposed"
        colour = "communication_ink" if exposed and row.exposed_s > 0 else "ink"
        items.append(
            Text(end, y, cells[head], colour, LABEL_PX, 600 if exposed else 400, anchor="end")
        )
    return items


def collective_tooltip(row: Collectives) -> str:
    """The tooltip of a row."""
    name, purpose = collective_words(row)
    cells = "; ".join(f"{head} {cell}" for head, cell in collective_cells(row).items())
    return f"{name}, {purpose}; {cells}"
