"""A histogram of waiting times, with its percentile and its limit."""

from __future__ import annotations

from app.drawing import Box, Item, Line, Metrics, Mix, Rectangles, Text, fitting, pill
from app.scenes.pixel_scale import Scale
from app.scenes.plan.queue import Histogram
from app.theme import BODY_PX, LABEL_PX
from simulator.formats.numbers import short
from simulator.planning.wording import latency

_HEAD, _FOOT = 42.0, 32.0
_APART = 10.0
"""Least distance of the names of the percentile and the limit, in pixels."""


def histogram_items(scene: Histogram, box: Box, metrics: Metrics) -> list[Item]:
    """The items of a histogram inside a box."""
    plot = Box.between(box.left, box.top + _HEAD, box.right, box.bottom - _FOOT)
    across = Scale(0.0, float(scene.edges_s[-1]), plot.left, plot.right)
    most = max(float(scene.shares.max()), 1e-12)
    up = Scale(0.0, 1.08 * most, plot.bottom, plot.top)
    has_limit = scene.limit_s is not None
    items: list[Item] = [Text(box.left, box.top + 10, scene.title, "ink", BODY_PX, 600)]
    if scene.limit_s is not None:
        words = f"{100 * scene.within:.4g}% within {latency(scene.limit_s)}"
        words_px = metrics.width(scene.title, BODY_PX, 600) + metrics.width(words, LABEL_PX)
        if words_px + 8 <= box.width:
            items.append(Text(box.right, box.top + 10, words, "ink3", LABEL_PX, anchor="end"))
    factor = 1.0 if scene.unit == "s" else 1e3
    shown = Scale(0.0, across.high * factor, plot.left, plot.right)
    for value, words in shown.ticks(6):
        x = shown.at(value)
        items.append(Line(((x, plot.top), (x, plot.bottom)), "grid"))
        items.append(Text(x, plot.bottom + 11, words, "ink3", anchor="middle"))
    bars: tuple[list[Box], list[Box]] = ([], [])
    for low, high, share in zip(scene.edges_s, scene.edges_s[1:], scene.shares, strict=False):
        if share > 0:
            late = has_limit and float(low) >= (scene.limit_s or 0.0)
            left, right = across.at(float(low)), across.at(float(high))
            bars[late].append(Box.between(left, up.at(float(share)), right - 1, plot.bottom))
    for group, fill in zip(bars, (Mix("ink3", 0.75), "danger"), strict=True):
        if group:
            items.append(Rectangles(tuple(group), fill))
    items.append(Line(((plot.left, plot.bottom), (plot.right, plot.bottom)), "line2"))
    items += _marks(scene, across, plot, metrics)
    text = fitting(metrics, box.width, f"{scene.unit}, {scene.of}", scene.unit)
    items.append(Text(plot.left + plot.width / 2, box.bottom - 7, text, "ink3", anchor="middle"))
    return items


def _marks(scene: Histogram, across: Scale, plot: Box, metrics: Metrics) -> list[Item]:
    """The lines of the percentile (dashed) and the limit, with their names above the plot."""
    items: list[Item] = []
    top = plot.top - 8
    x = across.at(scene.percentile_s)
    items.append(Line(((x, plot.top - 2), (x, plot.bottom)), "ink", 1.6, "dotted"))
    words = f"{short(scene.percent, 4)}%: {latency(scene.percentile_s)}"
    wide = metrics.width(words, LABEL_PX, 600)
    limit = scene.limit_s
    if limit is None or limit > across.high:
        left = min(max(x - wide / 2, plot.left), plot.right - wide)
        items.append(Text(left, top, words, "ink", LABEL_PX, 600))
        return items
    at = across.at(limit)
    items.append(Line(((at, plot.top - 2), (at, plot.bottom)), "danger", 1.8))
    least = plot.width - wide - _APART
    other = fitting(metrics, least, f"limit {latency(limit)}", "limit", px=LABEL_PX, weight=600)
    room = metrics.width(other, LABEL_PX, 600)
    if at >= x:  # the percentile's name ends left of its line, the limit's begins right of its line
        left = min(max(x - wide - 4, plot.left), plot.right - room - _APART - wide)
        limit_left = min(max(at + 4, left + wide + _APART), plot.right - room)
    else:
        left = max(min(x + 4, plot.right - wide), plot.left + room + _APART)
        limit_left = max(min(at - 4, left - _APART) - room, plot.left)
    items.append(Text(left, top, words, "ink", LABEL_PX, 600))
    items.append(pill(metrics, limit_left - 5, top, other, "danger", LABEL_PX, 600, "start"))
    return items
