"""Goal seek: the tried points, the goal as a line, and the answer with a mark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from app.answers.sweeps.goals import shown_value
from app.charts.page import LEFT_PX, RIGHT_PX, head, headings
from app.charts.sweep.shares import stacked_shares
from app.drawing import Box, Drawing, Item, Line, Marker, Metrics, Role, Text, pill
from app.quantities import count_of, data, percent, scaled, seconds, trimmed
from app.scenes.pixel_scale import Scale
from app.scenes.ticks import Ticks, decade_ticks, factor_ticks, near_ticks
from app.theme import BODY_PX, CURVE_WIDTH, LABEL_PX, SUPPORT_PX
from simulator.prediction import REGIMES, Prediction

if TYPE_CHECKING:
    from app.answers.sweeps.goals import Search

_WIDTH, _HIGH, _LEFT, _FOOT, _AXIS_PX = 900.0, 170.0, 76.0, 14.0, 44.0


def seek_page(searches: list[Search], heading: str, base: Prediction, metrics: Metrics) -> Drawing:
    """One plot per goal, one below the other."""
    about = "Marks: points predicted during the search"
    items, y = head(heading, about, _WIDTH, metrics)
    for search in searches:
        value = shown_value(search)
        whole = search.sought and not value.endswith("×")
        answer = f"{search.axis} {value}" if whole else value
        lines: list[tuple[str, int, int, Role]] = [
            (f"{search.question}: {answer}", BODY_PX, 600, "ink")
        ]
        if search.sought is None:
            lines.append((search.reason, LABEL_PX, 400, "c"))
        elif len(search.tried) < 2:
            lines.append((search.sought.sentence, LABEL_PX, 400, "ink3"))
        texts, y = headings(lines, y + 8, _WIDTH, metrics)
        items += texts
        if len(search.tried) > 1:
            area = Box(LEFT_PX + _LEFT, y + 8, _WIDTH - LEFT_PX - _LEFT - RIGHT_PX, _HIGH)
            items += _search(search, base, area, metrics)
            y = area.bottom + _AXIS_PX
    return Drawing(_WIDTH, y + _FOOT, tuple(items), title=heading)


def _search(search: Search, base: Prediction, area: Box, metrics: Metrics) -> list[Item]:
    """The tried points over the axis, with the answer as a vertical line."""
    low, high = search.tried[0][0], search.tried[-1][0]
    slack = max((high / low) ** 0.02, 1.0001)
    x = Scale(low / slack, high * slack, area.left, area.right, True)
    items: list[Item] = []
    for at, name in _ticks(search, low, high):
        place = x.at(2.0**at)
        items.append(Line(((place, area.top), (place, area.bottom)), "grid"))
        items.append(Text(place, area.bottom + 13, name, "ink3", anchor="middle"))
    axis = search.axis.replace("_", " ")
    items.append(Text(area.centre[0], area.bottom + 31, axis, "ink3", anchor="middle"))
    if search.kind in ("overhead", "flip"):
        lines = [x.at(search.sought.value)] if search.sought else []
        xs = x.many(np.array([value for value, _ in search.tried]))
        shares = {r: np.array([f[r] for _, f in search.tried]) for r in REGIMES}
        items += stacked_shares(area, xs, shares, lines, metrics)
        for share in (0.0, 0.5, 1.0):
            y = area.bottom - share * area.height
            items.append(Text(area.left - 8, y, percent(share), "ink3", anchor="end"))
        items.append(_title("Share of time", area))
    else:
        items += _values(search, base, x, area, metrics)
    if search.sought is not None:
        at = x.at(search.sought.value)
        items.append(Line(((at, area.top), (at, area.bottom)), "b", 1.8, casing="bg1"))
    return items


def _title(words: str, area: Box) -> Text:
    return Text(LEFT_PX + 6, area.centre[1], words, "ink3", anchor="middle", turn=-90)


def _ticks(search: Search, low: float, high: float) -> Ticks:
    if high / low < 8:
        ticks = near_ticks(low, high)
    else:
        few = high / low < 100
        ticks = factor_ticks(low, high, 12) if few else decade_ticks(low, high, 10)
    if search.axis in ("batch", "seq"):  # whole samples only
        ticks = [(at, text) for at, text in ticks if abs(2.0**at % 1 - 0.5) > 0.499]
    return ticks


def _values(search: Search, base: Prediction, x: Scale, area: Box, metrics: Metrics) -> list[Item]:
    """Memory, latency or throughput of the tried points, and the goal as a line."""
    title, values, goal, text = _quantity(search, base)
    known = [v for v in (*values, goal) if v > 0]
    low, high = min(known) / 1.32, max(known) * 1.52
    y = Scale(low, high, area.bottom, area.top, True)
    ticks = factor_ticks if search.kind == "fits" else decade_ticks
    items: list[Item] = [_title(title, area)]
    for at, _ in ticks(low, high, 5):
        place = y.at(2.0**at)
        items.append(Line(((area.left, place), (area.right, place)), "grid"))
        items.append(Text(area.left - 8, place, _named(search, 2.0**at), "ink3", anchor="end"))
    tried = [(x.at(v), y.at(value)) for (v, _), value in zip(search.tried, values, strict=True)]
    items.append(Line(tried, "ink", CURVE_WIDTH))
    for point, (_, f) in zip(tried, search.tried, strict=True):
        items.append(Marker(*point, f.regime, 4.0, hollow=not f.fits))
    at = y.at(goal)
    items.append(Line(((area.left, at), (area.right, at)), "c", 1.8, "dashed"))
    name = pill(metrics, area.left, at - 12, text, "c", SUPPORT_PX, 600, "start")
    return [*items, name]


def _quantity(search: Search, base: Prediction) -> tuple[str, list[float], float, str]:
    """The quantity of a search: title, values, goal and the goal's text."""
    figures = [f for _, f in search.tried]
    goal = search.target or 1.0
    if search.kind == "latency":
        return "Step alone", [f["latency_s"] for f in figures], goal, seconds(goal)
    if search.kind == "throughput":
        rates = [f["samples_per_s"] for f in figures]
        return "Throughput", rates, goal, count_of(goal, "samples/s")
    room = float(base.gpu.memory_bytes)
    needs = [f["peak_memory_bytes"] + base.workspace_bytes for f in figures]
    return "Memory", needs, room, f"{base.gpu.name}: {trimmed(data(room))}"


def _named(search: Search, value: float) -> str:
    if search.kind == "latency":
        return trimmed(seconds(value))
    return trimmed(scaled(value, "/s") if search.kind == "throughput" else data(value))
