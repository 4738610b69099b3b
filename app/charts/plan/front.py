"""Cost against speed: candidates with 80% intervals, the frontier, and the area that is too
slow."""

from __future__ import annotations

from typing import TypeGuard

from app.answers.plan.planned import Candidate
from app.drawing import (
    Box,
    Drawing,
    Group,
    Item,
    Line,
    Marker,
    Metrics,
    Mix,
    Pattern,
    Rectangle,
    Spot,
    Text,
    fitting,
    pill,
)
from app.drawing.labels import Labels
from app.scenes.pixel_scale import Scale
from app.scenes.plan.front import FrontPoint, FrontScene
from app.theme import CURVE_WIDTH, LABEL_PX, SUPPORT_PX

_LEFT, _RIGHT, _TOP, _BOTTOM = 52.0, 14.0, 26.0, 40.0
_BEYOND, _FAR = 1.7, 2.5
"""The axis reaches at most this many times the limit, and points beyond are drawn at its end. A
limit this many times beyond all points is not shown."""
_MARK_PX, _RING_PX, _LOG_FROM = 6.5, 12.5, 5.0
_LABEL_DISTANCES = 0.0, 8.0
_SLOWER = "slower than the limit"
_NAMED = 40
"""The number of points with a name; points that meet the limits come first."""


def front_drawing(
    scene: FrontScene, width: float, height: float, metrics: Metrics, chosen: Candidate | None
) -> Drawing:
    """The picture; the key of a point's spot is its candidate."""
    plot = Box.between(_LEFT, _TOP, width - _RIGHT, height - _BOTTOM)
    if not scene.points or plot.width < 80 or plot.height < 60:
        return note(width, height, "No candidate with a price and a time yet")
    across, up = _scales(scene, plot)
    items: list[Item] = [*_axes(scene, plot, across, up)]
    items.append(Group(tuple(_limits(scene, plot, across, up)), plot))
    items += _frontier(scene, plot, across, up)
    labels = Labels(plot)
    if _is_near(scene.limit, across):
        x = across.at(scene.limit)
        labels.take(Box.between(x - 2, plot.top, x + 2, plot.bottom))
    places = {p.candidate: _place(p, across, up, plot) for p in scene.points}
    order = sorted(scene.points, key=lambda p: (p.candidate == chosen, p.surely, p.holds))
    for point in order:
        items += _cross(point, places[point.candidate], across, up, plot, point.candidate == chosen)
    named = order[: -_NAMED - 1 : -1]
    for point in named:
        labels.take(Box.around(*places[point.candidate], _reach(point, chosen)))
    items += _caption(scene, plot, across, labels, metrics)
    for point in named:
        items += _label(point, places[point.candidate], _reach(point, chosen), labels, metrics)
    if _is_near(scene.limit, across):
        half = metrics.width(scene.limit_words, LABEL_PX, 600) / 2
        at = (min(across.at(scene.limit), width - half - 4), _TOP / 2 + 2)
        items.append(Text(*at, scene.limit_words, "danger", LABEL_PX, 600, "middle"))
    elif scene.limit is not None:
        words = f"{scene.limit_words}, farther right"
        items.append(Text(plot.right, _TOP / 2 + 2, words, "danger", LABEL_PX, 600, "end"))
    if scene.left_out:
        words = f"{scene.left_out} not shown: no price, or not simulated"
        short = f"{scene.left_out} not shown"
        room = plot.width / 2 - metrics.width(scene.time_title) / 2 - 8
        words = fitting(metrics, room, words, short, f"+{scene.left_out}", "")
        items.append(Text(plot.right, plot.bottom + 29, words, "ink3", LABEL_PX, anchor="end"))
    spots = tuple(
        Spot(p.candidate, Box.around(*places[p.candidate], _MARK_PX + 3), _tooltip(p), True)
        for p in order
    )
    return Drawing(width, height, tuple(items), spots, "Cost against speed of each candidate")


def note(width: float, height: float, words: str) -> Drawing:
    """The picture without points, with the reason."""
    text = Text(width / 2, height / 2, words, "ink3", SUPPORT_PX, anchor="middle")
    return Drawing(width, height, (text,), title="Cost against speed")


def _is_near(limit: float | None, across: Scale) -> TypeGuard[float]:
    """Whether a limit lies inside the axis."""
    return limit is not None and limit <= across.high


def _scales(scene: FrontScene, plot: Box) -> tuple[Scale, Scale]:
    ends = [end for p in scene.points for end in (p.time, *(p.time_interval or ()))]
    last = 1.06 * max(ends)
    if scene.limit is not None and scene.limit < _FAR * last:
        last = max(min(last, _BEYOND * scene.limit), 1.15 * scene.limit)
    costs = [end for p in scene.points for end in (p.cost, *(p.cost_interval or ()))]
    low, high = min(costs), max(costs)
    if scene.budget is not None:
        high = max(high, scene.budget)
    wide = high / low > _LOG_FROM
    first = min(p.time for p in scene.points)
    spread = last / first > 3 * _LOG_FROM
    across = Scale(0.8 * first if spread else 0.0, last, plot.left, plot.right, log=spread)
    up = Scale(low / 1.25 if wide else 0.0, 1.2 * high, plot.bottom, plot.top, log=wide)
    return across, up


def _axes(scene: FrontScene, plot: Box, across: Scale, up: Scale) -> list[Item]:
    items: list[Item] = [Text(4, _TOP / 2 - 1, scene.cost_title, "ink3")]
    for value, words in up.ticks(6):
        y = up.at(value)
        if plot.top <= y <= plot.bottom:
            items.append(Line(((plot.left, y), (plot.right, y)), "grid"))
            items.append(Text(plot.left - 7, y, words, "ink3", anchor="end"))
    for value, words in across.ticks(8):
        x = across.at(value)
        if plot.left <= x <= plot.right:
            items.append(Line(((x, plot.top), (x, plot.bottom)), "grid"))
            items.append(Text(x, plot.bottom + 12, words, "ink3", anchor="middle"))
    middle = plot.left + plot.width / 2
    items.append(Text(middle, plot.bottom + 29, scene.time_title, "ink3", anchor="middle"))
    items.append(Line(((plot.left, plot.bottom), (plot.right, plot.bottom)), "line2"))
    return items


def _limits(scene: FrontScene, plot: Box, across: Scale, up: Scale) -> list[Item]:
    items: list[Item] = []
    if _is_near(scene.limit, across):
        x = across.at(scene.limit)
        far = Box.between(x, plot.top, plot.right, plot.bottom)
        items.append(Rectangle(far, Pattern("refused"), opacity=0.55))
        items.append(Line(((x, plot.top), (x, plot.bottom)), "danger", 1.8))
    if scene.budget is not None:
        y = up.at(scene.budget)
        items.append(Line(((plot.left, y), (plot.right, y)), "c", 1.4, "dashed"))
        items.append(Text(plot.left + 6, y - 9, f"your budget {scene.budget:.2f}", "c"))
    return items


def _caption(
    scene: FrontScene, plot: Box, across: Scale, labels: Labels, metrics: Metrics
) -> list[Item]:
    """The legend of the hatched area, in the first corner without a mark; empty if every corner has
    one."""
    if not _is_near(scene.limit, across):
        return []
    wide, high = metrics.width(_SLOWER, LABEL_PX), metrics.height(LABEL_PX)
    area = Box.between(across.at(scene.limit) + 8, plot.top + 4, plot.right - 8, plot.bottom - 4)
    corners = (
        Box(x, y, wide, high)
        for x in (area.right - wide, area.left)
        for y in (area.bottom - high, area.top)
    )
    box = next((box for box in corners if area.contains(box) and labels.free(box)), None)
    if box is None:
        return []
    labels.take(box)
    return [Text(box.left, box.centre[1], _SLOWER, "ink3", LABEL_PX)]


def _frontier(scene: FrontScene, plot: Box, across: Scale, up: Scale) -> list[Item]:
    steps: list[tuple[float, float]] = []
    for time, cost in scene.frontier:
        x, y = across.at(time), up.at(cost)
        steps += [(x, steps[-1][1] if steps else plot.top), (x, y)]
    if len(scene.frontier) < 2:
        return []
    line = Line(tuple(steps), "ink", CURVE_WIDTH - 0.4, casing="bg0")
    return [Group((line,), plot)]


def _place(point: FrontPoint, across: Scale, up: Scale, plot: Box) -> tuple[float, float]:
    """The pixel of a point; points beyond the axes are drawn at their ends."""
    x = min(across.at(point.time), plot.right - 5)
    return x, min(max(up.at(point.cost), plot.top + 5), plot.bottom - 5)


def _cross(
    point: FrontPoint,
    place: tuple[float, float],
    across: Scale,
    up: Scale,
    plot: Box,
    chosen: bool,
) -> list[Item]:
    x, y = place
    colour = "ink2" if point.holds else "ink3"
    opacity = 1.0 if point.holds else 0.6
    items: list[Item] = []
    lines: list[Item] = []

    def bar(one: tuple[float, float], other: tuple[float, float]) -> None:
        lines.append(Line((one, other), colour, 1.3, opacity=opacity))
        upright = one[0] == other[0]
        for px, py in (one, other):
            ends = ((px - 3, py), (px + 3, py)) if upright else ((px, py - 3), (px, py + 3))
            lines.append(Line(ends, colour, 1.3, opacity=opacity))

    if point.time_interval is not None:
        low, high = point.time_interval
        bar((across.at(low), y), (across.at(high), y))
    if point.cost_interval is not None:
        low, high = point.cost_interval
        bar((x, up.at(low)), (x, up.at(high)))
    if chosen:
        ring = Box.around(x, y, _RING_PX)
        items.append(Rectangle(ring, Mix("b", 0.18), "b", 2.0, _RING_PX))
    items.append(Marker(x, y, point.regime, _MARK_PX, opacity=opacity))
    return [Group(tuple(lines), plot), *items]


def _reach(point: FrontPoint, chosen: Candidate | None) -> float:
    """The radius of a point's mark, with the ring of the chosen candidate."""
    return _RING_PX if point.candidate == chosen else _MARK_PX


def _label(
    point: FrontPoint,
    place: tuple[float, float],
    reach: float,
    labels: Labels,
    metrics: Metrics,
) -> list[Item]:
    """The name beside a point, with the mode if there is room; empty if every place is taken."""
    weight = 600 if point.holds else 400
    for words in dict.fromkeys((point.label, point.name)):
        wide, high = metrics.width(words, LABEL_PX, weight) + 10, metrics.height(LABEL_PX) + 3
        box = labels.beside(*place, reach, wide, high, _LABEL_DISTANCES)
        if box is not None:
            colour = "ink" if point.holds else "ink3"
            at = (box.left, box.top + box.height / 2)
            return [pill(metrics, *at, words, colour, LABEL_PX, weight, "start")]
    return []


def _tooltip(point: FrontPoint) -> str:
    words = f"{point.name}, {point.mode}: {point.cost:.3g}, {point.time:.3g}"
    return f"{words}; {point.why}" if point.why else words
