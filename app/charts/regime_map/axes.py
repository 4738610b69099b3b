"""The axes of a regime map, the cursor's values on them, and the legend of lines."""

from __future__ import annotations

from app.charts.regime_map.frame import LEGEND_PX, Frame
from app.drawing import Item, Line, Marker, Metrics, Point, Text, elided, pill, regime_ink
from app.drawing.items import Dash
from app.scenes.field import MapAxis
from app.scenes.regime_map.scene import Spot
from app.scenes.sweep.curves import axis_title, value_words
from app.scenes.ticks import Ticks, choice_ticks, factor_ticks
from app.theme import LABEL_PX
from simulator.prediction import REGIMES

_SMOOTH_PX, _CHOICE_PX, _ROW_PX = 56.0, 90.0, 16.0
"""The room for a value below the map, and left of it."""


def axes(frame: Frame, metrics: Metrics, chosen: Point | None = None) -> list[Item]:
    """Values and titles of both axes, without the values that the cursor's values would cover."""
    chart, field, area = frame.chart, frame.field, frame.plot
    each = _SMOOTH_PX if field.along.smooth else _CHOICE_PX
    items: list[Item] = []
    for at, name in _ticks(field.along, int(area.width / each)):
        x = frame.pixel_at(at, field.up.low)[0]
        if chosen is None or abs(x - chosen[0]) > metrics.width(name) / 2 + 24:
            short = elided(metrics, name, each)
            items.append(Text(x, area.bottom + 13, short, "ink3", anchor="middle"))
    room = area.left - frame.box.left - 4
    for at, name in _ticks(field.up, int(area.height / _ROW_PX)):
        y = frame.pixel_at(field.along.low, at)[1]
        if chosen is None or abs(y - chosen[1]) > 15:
            items.append(Text(area.left - 9, y, elided(metrics, name, room), "ink3", anchor="end"))
    below = axis_title(chart.x.name, chart.x.unit)
    above = axis_title(chart.y.name, chart.y.unit)
    items.append(Text(area.centre[0], area.bottom + 32, below, "ink2", anchor="middle"))
    items.append(Text(frame.box.left, area.top - 17, above, "ink2"))
    return items


def _ticks(axis: MapAxis, most: int) -> Ticks:
    if not axis.smooth:
        step = -(-len(axis.line.values) // max(1, most))
        return choice_ticks(axis.line.values)[::step]
    values = [float(v) for v in axis.line.values if isinstance(v, int | float)]
    return factor_ticks(values[0], values[-1], max(2, most))


def chips(frame: Frame, spot: Spot, metrics: Metrics) -> list[Item]:
    """The values of a point on both axes."""
    chart, area, (at_x, at_y) = frame.chart, frame.plot, frame.pixel(spot)
    x, y = (value_words(line.values[i]) for line, i in zip((chart.x, chart.y), spot, strict=True))
    items: list[Item] = []
    for words, below in ((x, True), (y, False)):
        half = pill(metrics, 0, 0, words, weight=600).box.width / 2
        if below:
            middle = min(max(at_x, half + 2), area.right + 16 - half), area.bottom + 13
        else:
            middle = max(half + 2, area.left - half - 4), at_y
        items.append(pill(metrics, *middle, words, "on_accent", LABEL_PX, 600, ground="b"))
    return items


def legend(frame: Frame, metrics: Metrics, hint: str = "") -> list[Item]:
    """The legend of the lines, or of the regimes on a map of choices; `hint` is shown at the
    right."""
    chart, field, area = frame.chart, frame.field, frame.plot
    x, y = area.left, frame.box.bottom - LEGEND_PX / 2 - 2
    items: list[Item] = []
    lines: list[tuple[str, float, Dash, float]] = [
        ("regime boundary", 2.2, "solid", 1.0),
        ("equal time", 1.0, "solid", 0.6),
    ]
    if chart.limit:
        lines.append(("memory full", 2.2, "dotted", 1.0))
    for words, wide, dash, opacity in lines if field.smooth else []:
        items.append(Line(((x, y), (x + 22, y)), "ink", wide, dash, opacity=opacity))
        items.append(Text(x + 28, y, words, "ink3"))
        x += 28 + metrics.width(words) + 16
    for regime in REGIMES if not field.smooth else ():
        if field.inside(regime).any():
            words = f"{regime}-bound"
            items.append(Marker(x + 6, y, regime, 4.5))
            items.append(Text(x + 16, y, words, regime_ink(regime)))
            x += 16 + metrics.width(words) + 16
    if hint and x + metrics.width(hint) < area.right:
        items.append(Text(area.right, y, hint, "ink3", anchor="end"))
    return items
