"""The verdict bar of a step over several GPUs: its regime with the four shares, and its figures."""

from __future__ import annotations

from collections.abc import Mapping

from app.answers.cluster.page import Clustered
from app.answers.cluster.words import SHARES_HEAD, whole_percents
from app.charts.plan.headline import PAD, figure_column, headline_frame
from app.drawing import (
    Box,
    Drawing,
    Item,
    Line,
    Marker,
    Metrics,
    Mix,
    Pattern,
    Rectangle,
    Text,
    regime_ink,
)
from app.scenes.cluster_headline import headline_figures
from app.theme import HEAD_PX, LABEL_PX
from simulator.parallel.prediction import PARALLEL_REGIMES, ParallelRegime

_FIRST = 3.0
"""The ratio of the first column's width to that of each other column."""
_ALWAYS, _LEAST_PX = 5, 130
"""The number of figures if columns are narrower than these pixels: their notes would not fit."""


def cluster_headline(
    clustered: Clustered, width: float, height: float, metrics: Metrics
) -> Drawing:
    """The verdict bar of a step over several GPUs, once the step is predicted."""
    answer = clustered.answer
    assert answer is not None
    figures = headline_figures(clustered)
    if width < (len(figures) + _FIRST) * _LEAST_PX:
        figures = figures[:_ALWAYS]
    each = width / (len(figures) + _FIRST)
    items: list[Item] = [headline_frame(width, height)]
    ink = regime_ink(answer.regime)
    house = Box(PAD, 24, 40, 40)
    items.append(Rectangle(house, Mix(answer.regime, 0.16), Mix(ink, 0.5), radius=6))
    items.append(Marker(PAD + 20, 44, answer.regime, 9))
    left, right = PAD + 48, _FIRST * each - 8
    words = f"{answer.regime.capitalize()}-bound"
    items.append(Text(left, 25, words, ink, HEAD_PX, 600))
    beside = left + metrics.width(words, HEAD_PX, 600) + 14
    if beside + metrics.width(SHARES_HEAD, LABEL_PX) <= right:
        items.append(Text(right, 27, SHARES_HEAD, "ink3", LABEL_PX, anchor="end"))
    items += share_bar(answer.shares, Box(left, 44, right - left, 8))
    items += share_words(answer.shares, left, right, 68, metrics)
    for at, figure in enumerate(figures):
        x = (at + _FIRST) * each
        items.append(Line(((x, 14), (x, height - 14)), "line"))
        items += figure_column(figure, Box(x + PAD, 0, each - 2 * PAD, height), metrics)
    return Drawing(width, height, tuple(items), title=words)


def share_bar(shares: Mapping[ParallelRegime, float], box: Box) -> list[Item]:
    """The shares side by side, in their patterns, in the order of the ranks' bars."""
    items: list[Item] = []
    left = box.left
    for regime in PARALLEL_REGIMES:
        wide = box.width * max(0.0, shares[regime])
        if wide >= 0.5:
            part = Box(left, box.top, max(0.5, wide - 1), box.height)
            items.append(Rectangle(part, Pattern(regime)))
        left += wide
    return items


def share_words(
    shares: Mapping[ParallelRegime, float], left: float, right: float, y: float, metrics: Metrics
) -> list[Item]:
    """The shares in words, each with its mark; only the figures if there is little room."""
    percents = whole_percents(shares)
    words = [f"{percents[regime]}% {regime}" for regime in PARALLEL_REGIMES]
    if sum(metrics.width(word, LABEL_PX, 500) + 18 for word in words) - 5 > right - left:
        words = [f"{percents[regime]}%" for regime in PARALLEL_REGIMES]
    widths = [metrics.width(word, LABEL_PX, 500) + 18 for word in words]
    items: list[Item] = []
    x = left
    for regime, word, wide in zip(PARALLEL_REGIMES, words, widths, strict=True):
        items.append(Marker(x + 4, y, regime, 4.2))
        items.append(Text(x + 12, y, word, regime_ink(regime), LABEL_PX, 500))
        x += wide
    return items
