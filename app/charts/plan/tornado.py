"""The assumptions of an answer: a bar spans the figures at both ends of each assumption; the part
beyond the limit is drawn in the danger colour."""

from __future__ import annotations

from collections.abc import Sequence

from app.drawing import (
    Box,
    Drawing,
    Item,
    Line,
    Metrics,
    Mix,
    Rectangle,
    Spot,
    Text,
    elided,
)
from app.drawing.items import SHARES_LEFT, Anchor
from app.scenes.pixel_scale import Scale
from app.scenes.plan.tornado import Bar, TornadoScene
from app.theme import LABEL_PX, SUPPORT_PX
from simulator.formats.numbers import short
from simulator.planning.wording import latency

_HEAD, ROW_PX, _HIGH = 40.0, 25.0, 14.0
_TICK_PX = 34.0
_NAMES, _GAP, _LEAST_MARGIN = 0.44, 5.0, 24.0
End = tuple[float, str]
"""The figure at one end of an assumption, in seconds, and the value of the assumption."""
_UNITS = ((86400.0, "days"), (3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


def tornado_height(scene: TornadoScene) -> float:
    """The height of all bars, in pixels."""
    return _HEAD + ROW_PX * len(scene.bars) + (18 if scene.still else 6)


def tornado_drawing(scene: TornadoScene, width: float, height: float, metrics: Metrics) -> Drawing:
    """The picture, with as many bars as fit."""
    fit = max(1, int((height - _HEAD - 6) // ROW_PX))
    bars = scene.bars[:fit]
    names = min(_NAMES * width, 210.0)
    left, right = _margins(bars, scene.now_s, metrics)
    plot = Box.between(names + 8 + left, _HEAD, width - right, _HEAD + ROW_PX * len(bars))
    ends = [end for bar in bars for end in (bar.low_s, bar.high_s) if end is not None]
    low, high = min([*ends, scene.now_s]), max([*ends, scene.now_s])
    limit = scene.limit_s
    if limit is not None and limit > 2.2 * high:
        limit = None
    high = max(high, limit or high)
    slack = 0.0 if high > low else 0.1 * scene.now_s
    unit, word = next((u for u in _UNITS if scene.now_s >= u[0]), _UNITS[-1])
    across = Scale((low - slack) / unit, (high + slack) / unit, plot.left, plot.right)
    items: list[Item] = []
    for value, words in across.ticks(min(5, max(2, int(plot.width // _TICK_PX)))):
        x = across.at(value)
        items.append(Line(((x, plot.top), (x, plot.bottom)), "grid"))
        items.append(Text(x, plot.top - 8, words, "ink3", anchor="middle"))
    title = elided(metrics, f"{scene.figure}, {word}", names + left)
    items.append(Text(0, plot.top - 8, title, "ink3"))
    values: list[Text] = []
    for at, bar in enumerate(bars):
        y = plot.top + ROW_PX * (at + 0.5)
        name = elided(metrics, f"{bar.name[0].upper()}{bar.name[1:]}", names, SUPPORT_PX)
        items.append(Text(0, y, name, "ink2", SUPPORT_PX))
        items += _bar(bar, scene, across, unit, y)
        values += _end_names(bar, scene, across, unit, y, width, metrics)
    now = across.at(scene.now_s / unit)
    items.append(Line(((now, plot.top - 2), (now, plot.bottom)), "ink", 1.6))
    words = f"{short(scene.now_s / unit)} now"
    items.append(Text(now, plot.top - 24, words, "ink", LABEL_PX, 600, "middle"))
    if limit is not None and limit >= low:
        x = across.at(limit / unit)
        items.append(Line(((x, plot.top - 2), (x, plot.bottom)), "danger", 1.6))
        grounds = [_ground(text, metrics) for text in values]  # the limit's line may cross a value
        items += [Rectangle(box, "bg1") for box in grounds if box.left < x < box.right]
        wide = metrics.width(words, LABEL_PX, 600) / 2
        words = f"limit {short(limit / unit)}"
        other = metrics.width(words, LABEL_PX, 600) / 2
        middle = min(x, width - other)
        if abs(middle - now) > wide + other + 6:
            items.append(Text(middle, plot.top - 24, words, "danger", LABEL_PX, 600, "middle"))
    items += values
    hidden = len(scene.bars) - len(bars)
    still = scene.still + hidden
    if still and height >= plot.bottom + 16:
        others = "1 other moves it" if still == 1 else f"{still} others move it"
        words = f"{others} {'less' if hidden else 'by less than 0.2%'}"
        items.append(Text(0, plot.bottom + 10, words, "ink3"))
    spots = tuple(
        Spot(bar.name, Box(0, plot.top + ROW_PX * at, width, ROW_PX), _tooltip(bar))
        for at, bar in enumerate(bars)
    )
    return Drawing(
        width, height, tuple(items), spots, f"Sensitivity of {scene.figure} to the assumptions"
    )


def _named_ends(bar: Bar, now_s: float) -> tuple[End | None, End | None]:
    """The named ends of a bar: the farthest below the current figure, and the farthest above."""
    ends = [(at, value) for at, value in _ends(bar) if at is not None]
    below, above = min(ends, default=None), max(ends, default=None)
    return (
        below if below and below[0] < now_s else None,
        above if above and above[0] > now_s else None,
    )


def _ends(bar: Bar) -> tuple[tuple[float | None, str], tuple[float | None, str]]:
    return (bar.low_s, bar.low_value), (bar.high_s, bar.high_value)


def _margins(bars: Sequence[Bar], now_s: float, metrics: Metrics) -> tuple[float, float]:
    """The room left and right of the longest bars for the names of their ends, in pixels."""
    margins = [_LEAST_MARGIN, _LEAST_MARGIN]
    for bar in bars:
        for side, end in enumerate(_named_ends(bar, now_s)):
            if end is not None:
                wide = metrics.width(end[1], LABEL_PX) + _GAP
                margins[side] = max(margins[side], wide)
    return margins[0], margins[1]


def _bar(bar: Bar, scene: TornadoScene, across: Scale, unit: float, y: float) -> list[Item]:
    items: list[Item] = []
    now, limit = across.at(scene.now_s / unit), scene.limit_s
    for (end_s, _), strength in zip(_ends(bar), (0.45, 0.85), strict=True):
        if end_s is None:
            continue
        x = across.at(end_s / unit)
        left, right = min(now, x), max(now, x)
        box = Box.between(left, y - _HIGH / 2, right, y + _HIGH / 2)
        items.append(Rectangle(box, Mix("ink2", strength, "bg1"), None, radius=1.5))
        if limit is not None and end_s > limit:
            start = max(left, across.at(limit / unit))
            late = Box.between(start, box.top, right, box.bottom)
            items.append(Rectangle(late, "danger_ground", "danger", 1.4, 1.5))
    return items


def _end_names(
    bar: Bar,
    scene: TornadoScene,
    across: Scale,
    unit: float,
    y: float,
    width: float,
    metrics: Metrics,
) -> list[Text]:
    """The values of the assumption at both ends, left and right of its bar."""
    items: list[Text] = []
    now = across.at(scene.now_s / unit)
    sides: tuple[tuple[float, Anchor], ...] = (-_GAP, "end"), (_GAP, "start")
    for end, (gap, anchor) in zip(_named_ends(bar, scene.now_s), sides, strict=True):
        if end is None or abs(across.at(end[0] / unit) - now) <= 1.5:
            continue
        late = scene.limit_s is not None and end[0] > scene.limit_s
        colour = "danger" if late else "ink3"
        x = across.at(end[0] / unit) + gap
        items.append(Text(x, y, end[1], colour, LABEL_PX, anchor=anchor))
    for end_s, value in _ends(bar):
        if end_s is None:
            words = f"{value}: does not run"
            x = min(now + 6, width - metrics.width(words, LABEL_PX))
            items.append(Text(x, y, words, "danger", LABEL_PX))
    return items


def _ground(text: Text, metrics: Metrics) -> Box:
    """The box of a text, with 2 pixels on both sides."""
    wide, high = metrics.width(text.words, text.px), metrics.height(text.px)
    left = text.x - SHARES_LEFT[text.anchor] * wide
    return Box(left - 2, text.y - high / 2, wide + 4, high)


def _tooltip(bar: Bar) -> str:
    texts = [
        f"{value}: {'does not run' if end is None else latency(end)}" for end, value in _ends(bar)
    ]
    return f"{bar.name}, {bar.value}; {'; '.join(texts)}"
