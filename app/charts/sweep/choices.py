"""A sweep over choices: an interval for each variant at each choice, and its shares as bars."""

from __future__ import annotations

import numpy as np

from app.answers.sweeps.sweep import Swept
from app.drawing import (
    Box,
    Item,
    Line,
    Marker,
    Metrics,
    Pattern,
    Rectangle,
    Role,
    Text,
    elided,
    pill,
    regime_ink,
)
from app.drawing.colours import SIDES, STACK
from app.quantities import seconds_unit
from app.scenes.pixel_scale import Scale
from app.theme import LABEL_PX, SUPPORT_PX

_LEFT, _RIGHT, _TOP, _GAP, _BOTTOM = 70.0, 18.0, 30.0, 24.0, 44.0
_TIMES, _BAR, _APART = 0.62, 0.68, 0.2
"""The share of the height for times; the width of a bar and the distance between variants, as
shares of a choice's width."""


def choices(swept: Swept, box: Box, metrics: Metrics) -> list[Item]:
    """Times with their intervals on top and the first variant's shares below. The shape of a mark
    is its regime; it is hollow if the step does not fit."""
    room = box.height - _TOP - _GAP - _BOTTOM
    top = Box(box.left + _LEFT, box.top + _TOP, box.width - _LEFT - _RIGHT, _TIMES * room)
    below = Box(top.left, top.bottom + _GAP, top.width, room - top.height)
    each = top.width / len(swept.line.values)
    items = [*_variants(swept, top, metrics), *_times(swept, box, top, each)]
    for at, share in ((below.bottom, "0"), (below.centre[1], "50%"), (below.top, "100%")):
        items.append(Text(below.left - 8, at, share, "ink3", anchor="end"))
    place = box.left + 8, below.centre[1]
    items.append(Text(*place, "Share of time", "ink3", anchor="middle", turn=-90))
    for index, value in enumerate(swept.line.values):
        middle = top.left + each * (index + 0.5)
        name = elided(metrics, str(value), each - 8)
        items.append(Text(middle, below.bottom + 13, name, "ink3", anchor="middle"))
        items += _shares(
            swept,
            index,
            Box(middle - _BAR * each / 2, below.top, _BAR * each, below.height),
            metrics,
        )
    title = Text(top.centre[0], below.bottom + 31, swept.line.label, "ink3", anchor="middle")
    return [*items, title]


def _colour(index: int) -> Role:
    return SIDES[index] if index else "ink"


def _variants(swept: Swept, top: Box, metrics: Metrics) -> list[Item]:
    """The names of the variants side by side."""
    items: list[Item] = []
    left = top.left
    for index, name in enumerate(swept.names if len(swept.names) > 1 else ()):
        items.append(Text(left, top.top - 16, name, _colour(index), SUPPORT_PX, 600))
        left += metrics.width(name, SUPPORT_PX, 600) + 20
    return items


def _times(swept: Swept, box: Box, top: Box, each: float) -> list[Item]:
    columns = [s.columns[name] for s in swept.sweeps for name in ("low_s", "high_s")]
    times = np.concatenate([column[np.isfinite(column) & (column > 0)] for column in columns])
    low, high = float(times.min()), float(times.max())
    slack = 1.5 if high < 3 * low else 1.25
    unit_s, unit = seconds_unit(high)
    y = Scale(low / slack / unit_s, slack * high / unit_s, top.bottom, top.top, True)
    place = box.left + 8, top.centre[1]
    items: list[Item] = [Text(*place, f"Step time, {unit}", "ink3", anchor="middle", turn=-90)]
    for value, name in y.ticks(6):
        at = y.at(value)
        items.append(Line(((top.left, at), (top.right, at)), "grid"))
        items.append(Text(top.left - 8, at, name, "ink3", anchor="end"))
    for variant, sweep in enumerate(swept.sweeps):
        aside = (variant - (len(swept.sweeps) - 1) / 2) * _APART
        for index in range(len(sweep)):
            if index in sweep.refused:
                continue
            x = top.left + each * (index + 0.5 + aside)
            time, least, most = (
                y.at(float(sweep.columns[n][index]) / unit_s)
                for n in ("period_s", "low_s", "high_s")
            )
            items.append(Line(((x, least), (x, most)), _colour(variant), 2.0))
            hollow, regime = not sweep.columns["fits"][index], sweep.regime(index)
            items.append(Marker(x, time, regime, 6.0, _colour(variant), hollow, edge_width=1.6))
    return items


def _shares(swept: Swept, index: int, bar: Box, metrics: Metrics) -> list[Item]:
    """The first variant's shares at a choice, named where there is room."""
    sweep = swept.sweeps[0]
    if index in sweep.refused:
        words = "no answer" if metrics.width("no answer") < bar.width else "–"
        return [Text(*bar.centre, words, "ink3", anchor="middle")]
    items: list[Item] = []
    floor = bar.bottom
    for regime in STACK:
        high = float(sweep.columns[regime][index]) * bar.height
        band = Box(bar.left, floor - high, bar.width, high)
        if high > 0:
            items.append(Rectangle(band, Pattern(regime)))
        if high > 20 and metrics.width(regime, LABEL_PX, 600) + 14 < bar.width:
            items.append(pill(metrics, *band.centre, regime, regime_ink(regime), weight=600))
        floor -= high
    return items
