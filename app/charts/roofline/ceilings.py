"""The ceilings of a roofline: zones, lines, names and the ridge."""

from __future__ import annotations

from math import atan2, degrees, hypot

from app.charts.roofline.frame import Frame
from app.drawing import (
    Box,
    Item,
    Line,
    Marker,
    Metrics,
    Mix,
    Path,
    Pill,
    Rectangle,
    Role,
    Text,
    pill,
    polygon,
)
from app.drawing.items import Dash
from app.drawing.labels import Labels
from app.quantities import number
from app.scenes.roofline import Ceiling, Roof
from app.theme import CEILING_WIDTH, LABEL_PX, SECOND_WIDTH
from simulator.timing.ceilings import Rate

_PARTS = (-1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0)
_ZONE = 0.07  # how much of a regime's colour is mixed into its zone


def ceilings(
    frame: Frame, roof: Roof, metrics: Metrics, labels: Labels
) -> tuple[list[Item], list[Item]]:
    """The zones below the roof with the roof's lines, and the names to draw above the marks."""
    area, x, y = frame.plot, frame.x, frame.y
    dram = roof.memories[0].known_bytes_per_s
    corner_x, corner_y = x.at(roof.ridge), y.at(roof.main.flops_per_s)
    start_x, start_y = x.at(x.low), y.at(x.low * dram)
    memory = polygon(
        [(start_x, start_y), (corner_x, corner_y), (corner_x, area.bottom), (start_x, area.bottom)]
    )
    compute = Box.between(corner_x, corner_y, area.right, area.bottom)
    foot = ((corner_x, corner_y), (corner_x, area.bottom))
    items: list[Item] = [
        Path(memory, Mix("memory", _ZONE)),
        Rectangle(compute, Mix("compute", _ZONE)),
        Line(foot, "memory_ink", 1.0, "dotted", opacity=0.5),
    ]
    ridge_y, ridge_words = corner_y - 14, f"ridge {number(roof.ridge)}"
    ridge = pill(metrics, corner_x - 4, ridge_y, ridge_words, anchor="end")
    labels.take(ridge.box, Box.around(corner_x, corner_y, 7))
    names: list[Item] = []
    for ceiling in sorted(roof.engines, key=lambda c: not c.used):
        lines, name = _engine(frame, roof, ceiling, metrics, labels)
        items += lines
        names += name
    for level in reversed(roof.memories):
        items += _memory(frame, roof, level, metrics, labels)
    items.append(Marker(corner_x, corner_y, None, 4.5, "ink", True, edge_width=2.0))
    for name in names:  # a name over marks may also cover the ridge's name
        if isinstance(name, Pill) and name.box.intersects(ridge.box):
            ridge = pill(metrics, name.box.left - 4, ridge_y, ridge_words, anchor="end")
    if ridge.box.left > frame.left:
        items.append(ridge)
    return items, names


def _engine(
    frame: Frame, roof: Roof, ceiling: Ceiling, metrics: Metrics, labels: Labels
) -> tuple[list[Item], list[Item]]:
    """The line of an engine's peak, and its name where there is room."""
    area, x, y = frame.plot, frame.x, frame.y
    dram = roof.memories[0].known_bytes_per_s
    at, left = y.at(ceiling.flops_per_s), x.at(ceiling.flops_per_s / dram)
    if not area.top < at < area.bottom:
        return [], []
    main = ceiling == roof.main
    ink: Role = "compute_ink" if ceiling.used else "ink3"
    lines: list[Item] = []
    if ceiling.used:
        width, dash = (CEILING_WIDTH, "solid") if main else (SECOND_WIDTH, "dashed")
        lines.append(_level(max(left, frame.left), at, area.right, width, dash))
        if ceiling.measured_flops_per_s:
            begin = x.at(ceiling.measured_flops_per_s / dram)
            low = y.at(ceiling.measured_flops_per_s)
            lines.append(_level(begin, low, area.right, 1.0, "dashed", 0.8))
    begin, right = max(left, frame.left) + 6, area.right - 1
    for words in ceiling.labels if ceiling.used else ceiling.labels[1:]:
        sides = (-11, -25, 12, -39) if ceiling.used else (-10,)
        places = (pill(metrics, right, at + side, words, ink, anchor="end") for side in sides)
        free = (each for each in places if each.box.left > begin and labels.free(each.box))
        name = next(free, None)
        if name is None and ceiling.used and words == ceiling.labels[-1]:
            # a ceiling in use always has its name, over marks if necessary
            name = pill(metrics, right, at + sides[0], words, ink, anchor="end")
        if name is None:
            continue
        if not ceiling.used:
            lines.append(Line(((name.box.left, at), (area.right, at)), "line2", dash="dashed"))
        labels.take(name.box)
        return lines, [name]
    return lines, []


def _level(
    begin: float, y: float, end: float, width: float, dash: Dash, opacity: float = 1.0
) -> Line:
    return Line(((begin, y), (end, y)), "compute", width, dash, opacity=opacity)


def _memory(frame: Frame, roof: Roof, level: Rate, metrics: Metrics, labels: Labels) -> list[Item]:
    """The slope of a memory's bandwidth, with its name along it."""
    x, y = frame.x, frame.y
    rate, first = level.known_bytes_per_s, level.level == "DRAM"
    top = roof.main.flops_per_s
    start, end = (x.at(x.low), y.at(x.low * rate)), (x.at(top / rate), y.at(top))
    width = CEILING_WIDTH if first else SECOND_WIDTH
    items: list[Item] = [Line((start, end), "memory", width, "solid" if first else "dashed")]
    if first and level.measured_bytes_per_s and level.bytes_per_s:
        slow = level.measured_bytes_per_s
        lower = ((start[0], y.at(x.low * slow)), (x.at(top / slow), y.at(top)))
        items.append(Line(lower, "memory", 1.0, "dashed", opacity=0.8))
    words = roof.label(level)
    half = metrics.width(words, LABEL_PX, 500) / 2
    run, rise = end[0] - start[0], end[1] - start[1]
    length = hypot(run, rise)
    if length < 2 * half + 60 or frame.plot.height <= 0:
        return items
    along = run / length, rise / length
    off = 12.0 if first else -10.0
    for share in (0.34, 0.5, 0.62, 0.25, 0.42, 0.56, 0.7):  # the first position without a mark
        middle_x = start[0] + run * share - along[1] * off
        middle_y = start[1] + rise * share + along[0] * off
        boxes = [
            Box.around(middle_x + along[0] * half * part, middle_y + along[1] * half * part, 8)
            for part in _PARTS
        ]
        if all(labels.free(box) for box in boxes):
            labels.take(*boxes)
            turn = degrees(atan2(rise, run))
            name = Text(
                middle_x, middle_y, words, "memory_ink", weight=500, anchor="middle", turn=turn
            )
            return [*items, name]
    return items
