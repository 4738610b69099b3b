"""Throughput over the number of GPUs, with the ideal and, below, the shares of each step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from app.answers.cluster.scaling import Point
from app.drawing import (
    Box,
    Drawing,
    Item,
    Line,
    Marker,
    Metrics,
    Mix,
    Path,
    Pattern,
    Pill,
    Rectangle,
    Spot,
    Text,
    pill,
    polygon,
    regime_ink,
)
from app.drawing.items import Anchor
from app.quantities import percent, seconds
from app.scenes.pixel_scale import Scale
from app.theme import CURVE_WIDTH, LABEL_PX, SECOND_WIDTH, SUPPORT_PX
from simulator.formats.numbers import short
from simulator.parallel.prediction import ParallelRegime

_LEFT, _RIGHT, _TOP, _FOOT, _SHARES = 54.0, 16.0, 24.0, 32.0, 0.26
_STACK: tuple[ParallelRegime, ...] = ("overhead", "memory", "communication", "compute")
"""The order of the shares from the bottom up."""
_SIDES: tuple[tuple[int, Anchor], ...] = ((1, "start"), (-1, "end"))


def scaling_drawing(
    points: Sequence[Point],
    now: int,
    node: int,
    width: float,
    height: float,
    metrics: Metrics,
    strong: bool = False,
) -> Drawing:
    """The curve; `now` is the number of GPUs of the question, `node` that of one node. If `strong`,
    the total batch of all replicas is fixed."""
    if len(points) < 2:
        words = (
            "Only one number of GPUs: no other divides the batch."
            if strong
            else "Only one number of GPUs: this split cannot scale."
        )
        text = Text(width / 2, height / 2, words, "ink3", SUPPORT_PX, anchor="middle")
        return Drawing(width, height, (text,), title=words)
    below = max(36.0, _SHARES * (height - _TOP - _FOOT))
    shares = Box.between(_LEFT, height - _FOOT - below, width - _RIGHT, height - _FOOT)
    plot = Box.between(_LEFT, _TOP, width - _RIGHT, shares.top - 10)
    first, last = points[0], points[-1]
    ideal = [first.samples_per_s * each.gpus / first.gpus for each in points]
    across = Scale(first.gpus, last.gpus, plot.left, plot.right, log=True)
    ends = [end for side in (0, 1) for end in _ends(points, side)]
    up = Scale(min(ends) / 1.1, max(*ideal, *ends) * 1.1, plot.bottom, plot.top, log=True)
    items = _axes(points, across, up, plot, shares, strong)
    items += _shares(points, across, shares, metrics)
    items.append(Text(8, 11, "samples/s", "ink3"))
    if first.gpus < node < last.gpus:
        x = across.at(node)
        items.append(Line(((x, plot.top), (x, shares.bottom)), "line2", 1.0, "dashed"))
        items.append(pill(metrics, x, plot.bottom - 9, "one node", "ink3"))
    items += _curves(points, ideal, across, up)
    items += _takeover(points, across, plot, shares, metrics)
    items += _now(points, now, across, up, plot, shares, metrics)
    spots = tuple(_spot(each, across, up, points) for each in points)
    return Drawing(width, height, tuple(items), spots, "Throughput over the number of GPUs")


def _ends(points: Sequence[Point], side: int) -> list[float]:
    """Samples per second at one end of each step's interval."""
    return [each.samples_per_s * each.period_s / each.interval_s[side] for each in points]


def _axes(
    points: Sequence[Point], across: Scale, up: Scale, plot: Box, shares: Box, strong: bool
) -> list[Item]:
    items: list[Item] = []
    room, last = 18.0, float("inf")
    for value, words in up.ticks(6):
        y = up.at(value)
        items.append(Line(((plot.left, y), (plot.right, y)), "grid"))
        if abs(last - y) >= room:
            items.append(Text(plot.left - 6, y, words, "ink3", anchor="end"))
            last = y
    for each in points:
        x = across.at(each.gpus)
        items.append(Line(((x, plot.top), (x, plot.bottom)), "grid"))
        items.append(Text(x, shares.bottom + 10, f"{each.gpus}", "ink3", anchor="middle"))
    middle = (plot.left + plot.right) / 2
    words = f"GPUs, the same {'total batch' if strong else 'batch per replica'}"
    items.append(Text(middle, shares.bottom + 24, words, "ink3", anchor="middle"))
    return items


def _curves(
    points: Sequence[Point], ideal: Sequence[float], across: Scale, up: Scale
) -> list[Item]:
    xs = [across.at(each.gpus) for each in points]
    ends = [[up.at(end) for end in _ends(points, side)] for side in (0, 1)]
    outline = [*zip(xs, ends[0], strict=True), *reversed(list(zip(xs, ends[1], strict=True)))]
    dashed = [(x, up.at(value)) for x, value in zip(xs, ideal, strict=True)]
    curve = [(x, up.at(each.samples_per_s)) for x, each in zip(xs, points, strict=True)]
    x, y = dashed[len(dashed) // 2]
    return [
        Path(polygon(outline), Mix("ink", 0.14)),
        Line(dashed, "ink2", SECOND_WIDTH, "dashed"),
        Text(x - 8, y - 10, "ideal", "ink2", anchor="end"),
        Line(curve, "ink", CURVE_WIDTH),
    ]


def _shares(points: Sequence[Point], across: Scale, box: Box, metrics: Metrics) -> list[Item]:
    """The shares as stacked areas, linear between the points; the largest areas are named."""
    items: list[Item] = [
        Text(box.left - 6, box.top + 4, "100%", "ink3", anchor="end"),
        Text(box.left - 6, box.bottom - 4, "0", "ink3", anchor="end"),
    ]
    xs = [across.at(each.gpus) for each in points]
    floor = [0.0] * len(points)
    for regime in _STACK:
        top = [f + max(0.0, p.shares[regime]) for f, p in zip(floor, points, strict=True)]
        ys = [[box.bottom - box.height * min(1.0, v) for v in line] for line in (top, floor)]
        outline = [*zip(xs, ys[0], strict=True), *reversed(list(zip(xs, ys[1], strict=True)))]
        if max(t - f for t, f in zip(top, floor, strict=True)) > 0.002:
            items.append(Path(polygon(outline), Pattern(regime)))
        at = max(range(len(points)), key=lambda n: top[n] - floor[n])
        if (top[at] - floor[at]) * box.height >= 18:
            half = metrics.width(regime, LABEL_PX, 500) / 2 + 8
            x = min(max(xs[at], box.left + half), box.right - half)
            y = (ys[0][at] + ys[1][at]) / 2
            items.append(pill(metrics, x, y, regime, regime_ink(regime)))
        floor = top
    return items


def _takeover(
    points: Sequence[Point], across: Scale, plot: Box, shares: Box, metrics: Metrics
) -> list[Item]:
    """The mark where communication becomes the largest share."""
    first = next((p.gpus for p in points if p.regime == "communication"), None)
    if first is None:
        return []
    x = across.at(first)
    words = f"communication takes over at {first}"
    anchor = "end" if x > (plot.left + plot.right) / 2 else "start"
    return [
        Line(((x, plot.top), (x, shares.bottom)), "communication_ink", 1.6, "dashed"),
        pill(metrics, x, plot.top + 8, words, "communication_ink", anchor=anchor),
    ]


def _now(
    points: Sequence[Point],
    now: int,
    across: Scale,
    up: Scale,
    plot: Box,
    shares: Box,
    metrics: Metrics,
) -> list[Item]:
    items: list[Item] = []
    places = [(across.at(each.gpus), up.at(each.samples_per_s)) for each in points]
    for each, (x, y) in zip(points, places, strict=True):
        if each.gpus != now:
            items.append(Marker(x, y, None, 3.6, "ink", hollow=True))
            continue
        items.append(Line(((x, plot.top), (x, shares.bottom)), "ink", 1.4))
        items.append(Marker(x, y, None, 5.0, "bg1"))
        words = f"{percent(each.efficiency)} of ideal"
        items.append(_share_label(words, x, y, _along(places), plot, metrics))
        items.append(Rectangle(Box(x - 13, shares.bottom + 3, 26, 14), "bg3", radius=3))
        items.append(Text(x, shares.bottom + 10, f"{each.gpus}", "ink", LABEL_PX, 600, "middle"))
    return items


def _along(places: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points of the curve, with eight more between each two."""
    steps = np.linspace(0.0, len(places) - 1.0, 9 * (len(places) - 1) + 1)
    xs, ys = (np.interp(steps, range(len(places)), line) for line in zip(*places, strict=True))
    return list(zip(xs.tolist(), ys.tolist(), strict=True))


def _share_label(
    words: str,
    x: float,
    y: float,
    places: Sequence[tuple[float, float]],
    plot: Box,
    metrics: Metrics,
) -> Pill:
    """A label beside the point at (x, y), at the first height where it hides none of `places`."""
    labels = [
        pill(metrics, x + 8 * side, at, words, "ink", weight=600, anchor=anchor)
        for at in (y + 18, y + 44, y + 70, plot.bottom - 10, plot.top + 10)
        for side, anchor in _SIDES
    ]
    return next(
        (
            each
            for each in labels
            if plot.contains(each.box) and not any(each.box.grown(4).holds(*xy) for xy in places)
        ),
        labels[0],
    )


def _spot(each: Point, across: Scale, up: Scale, points: Sequence[Point]) -> Spot:
    words = (
        f"{each.gpus} GPUs: {short(each.samples_per_s, 3)} samples/s, {seconds(each.period_s)} a "
        f"step, {percent(each.efficiency)} of ideal, {each.regime}-bound"
    )
    return Spot(each.gpus, Box.around(across.at(each.gpus), up.at(each.samples_per_s), 9), words)
