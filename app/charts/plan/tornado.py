"""What the answer rests on: a bar from the figure at one end of each assumption to that at the
other; what crosses the limit is in the colour of danger."""

from __future__ import annotations

from app.drawing import Box, Drawing, Item, Line, Metrics, Mix, Rectangle, Spot, Text, elided
from app.scenes.pixel_scale import Scale
from app.scenes.plan_tornado import Bar, TornadoScene
from app.theme import LABEL_PX, SUPPORT_PX
from simulator.formats.numbers import short
from simulator.planning.wording import latency

_HEAD, ROW_PX, _HIGH = 40.0, 25.0, 14.0
_NAMES = 0.44
_UNITS = ((86400.0, "days"), (3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


def tornado_height(scene: TornadoScene) -> float:
    """The height that all bars need, in pixels."""
    return _HEAD + ROW_PX * len(scene.bars) + (18 if scene.still else 6)


def tornado_drawing(scene: TornadoScene, width: float, height: float, metrics: Metrics) -> Drawing:
    """The picture; as many bars as fit."""
    fit = max(1, int((height - _HEAD - 6) // ROW_PX))
    bars = scene.bars[:fit]
    names = min(_NAMES * width, 210.0)
    plot = Box.between(names + 8, _HEAD, width - 40, _HEAD + ROW_PX * len(bars))
    ends = [end for bar in bars for end in (bar.low_s, bar.high_s) if end is not None]
    low, high = min([*ends, scene.now_s]), max([*ends, scene.now_s])
    limit = scene.limit_s
    if limit is not None and limit < 2.2 * high:
        high = max(high, limit)
    margin = 0.06 * (high - low) or 0.1 * scene.now_s
    unit, word = next((u for u in _UNITS if scene.now_s >= u[0]), _UNITS[-1])
    across = Scale((low - margin) / unit, (high + margin) / unit, plot.left, plot.right)
    items: list[Item] = []
    for value, words in across.ticks(5):
        x = across.at(value)
        items.append(Line(((x, plot.top), (x, plot.bottom)), "grid"))
        items.append(Text(x, plot.top - 8, words, "ink3", anchor="middle"))
    items.append(Text(0, plot.top - 8, f"{scene.figure}, {word}", "ink3"))
    for at, bar in enumerate(bars):
        y = plot.top + ROW_PX * (at + 0.5)
        items += _bar(bar, scene, across, unit, names, y, metrics)
    now = across.at(scene.now_s / unit)
    items.append(Line(((now, plot.top - 2), (now, plot.bottom)), "ink", 1.6))
    words = f"{short(scene.now_s / unit)} now"
    items.append(Text(now, plot.top - 24, words, "ink", LABEL_PX, 600, "middle"))
    if limit is not None and limit <= (high + margin):
        x = across.at(limit / unit)
        items.append(Line(((x, plot.top - 2), (x, plot.bottom)), "danger", 1.6))
        words = f"limit {short(limit / unit)}"
        wide = metrics.width(f"{short(scene.now_s / unit)} now", LABEL_PX, 600) / 2
        other = metrics.width(words, LABEL_PX, 600) / 2
        if abs(x - now) > wide + other + 6:
            items.append(Text(x, plot.top - 24, words, "danger", LABEL_PX, 600, "middle"))
    hidden = len(scene.bars) - len(bars)
    still = scene.still + hidden
    if still and height >= plot.bottom + 16:
        words = f"{still} more move it by less" + ("" if hidden else " than 0.2%")
        items.append(Text(0, plot.bottom + 10, words, "ink3"))
    spots = tuple(
        Spot(bar.name, Box(0, plot.top + ROW_PX * at, width, ROW_PX), _tooltip(bar))
        for at, bar in enumerate(bars)
    )
    return Drawing(width, height, tuple(items), spots, f"What {scene.figure} rests on")


def _bar(
    bar: Bar,
    scene: TornadoScene,
    across: Scale,
    unit: float,
    names: float,
    y: float,
    metrics: Metrics,
) -> list[Item]:
    name = f"{bar.name[0].upper()}{bar.name[1:]}"
    items: list[Item] = [Text(0, y, elided(metrics, name, names, SUPPORT_PX), "ink2", SUPPORT_PX)]
    now = across.at(scene.now_s / unit)
    limit = scene.limit_s
    ends = ((bar.low_s, bar.low_value, 0.45), (bar.high_s, bar.high_value, 0.85))
    places = [across.at(end_s / unit) for end_s, _, _ in ends if end_s is not None]
    # Of two ends on one side the farther one is named.
    sides = [x for x in places if x < now], [x for x in places if x > now]
    farthest = {max(side, key=lambda x: abs(x - now)) for side in sides if side}
    for end_s, value, strength in ends:
        if end_s is None:
            continue
        x = across.at(end_s / unit)
        left, right = min(now, x), max(now, x)
        late = limit is not None and end_s > limit
        items.append(
            Rectangle(
                Box.between(left, y - _HIGH / 2, right, y + _HIGH / 2),
                Mix("ink2", strength, "bg1"),
                None,
                radius=1.5,
            )
        )
        if late and limit is not None:
            start = max(left, across.at(limit / unit))
            box = Box.between(start, y - _HIGH / 2, right, y + _HIGH / 2)
            items.append(Rectangle(box, "danger_ground", "danger", 1.4, 1.5))
        if abs(x - now) > 1.5 and x in farthest:
            outward = "start" if x > now else "end"
            gap = 5 if x > now else -5
            colour = "danger" if late else "ink3"
            items.append(Text(x + gap, y, value, colour, LABEL_PX, anchor=outward))
    for end_s, value, _ in ends:
        if end_s is None:
            items.append(Text(now + 6, y, f"{value}: does not run", "danger", LABEL_PX))
    return items


def _tooltip(bar: Bar) -> str:
    texts = [
        f"{value}: {'does not run' if end is None else latency(end)}"
        for value, end in ((bar.low_value, bar.low_s), (bar.high_value, bar.high_s))
    ]
    return f"{bar.name}, {bar.value}; {'; '.join(texts)}"
