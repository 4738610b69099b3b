"""Predicted against measured steps, and the achieved FLOP/s of single calls."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, pi, sin
from typing import Any

from app.charts.page import below, head
from app.drawing import Box, Colour, Drawing, Item, Line, Marker, Metrics, Path, Text, pill, polygon
from app.quantities import scaled, seconds, trimmed
from app.scenes.pixel_scale import Scale
from app.scenes.ticks import decade_ticks
from app.theme import BODY_PX, CURVE_WIDTH
from simulator.hardware.gpu import GPU
from simulator.prediction import Regime

Row = dict[str, Any]
_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _APART, _TITLE = 1240.0, 640.0, 96.0, 40.0, 12.0, 26.0
_BAND = 1.15
_LEAST_INTENSITY, _LEAST_FLOPS_PER_S = 2e-2, 1e8
_LINE = 20.0
"""The height of a line of a key."""
_CORNERS = {"eager": (20, 1.0), "CUDA graph": (4, 1.25), "compiled": (3, 1.35)}
"""The shape of a mode's marks: a regular polygon with this number of corners and this radius
relative to a circle of about the same area."""
_COLOURS: dict[str, Colour] = {"inference": "b", "training": "danger"}


def accuracy_page(rows: Sequence[Row], gpu: GPU, metrics: Metrics) -> Drawing:
    """Plot predicted against measured times of the steps and calls that were predicted with the
    GPU's own profile. `rows` are outcomes as `ridgepoint calibrate validate --json` writes them."""
    own = [r for r in rows if "profile" not in r["group"]]
    steps = [r for r in own if r["figure"] == "period" and r["measured_s"]]
    calls = [r for r in own if r["flops"] and r["bytes"] and r["group"].endswith("cold")]
    shown = [each for each in map(_achieved, calls) if _is_shown(*each)]
    title = "Predictions and measurements"
    about = (
        f"{len(steps):,} periods of steps and {len(shown):,} calls on an {gpu.name}, none of them "
        "fitted"
    )
    items, top = head(title, about, _WIDTH, metrics)
    page = below(top + 8, _WIDTH, _HEIGHT)
    half = (page.width - _APART) / 2
    for left, name in (
        (page.left, "Steps: predicted and measured time"),
        (page.left + half + _APART, "Single calls with cold caches: measured FLOP/s"),
    ):
        items.append(Text(left + _LEFT, page.top + _TITLE / 2, name, "ink", BODY_PX, 600))
    high = page.height - _BOTTOM - _TITLE
    area = Box(page.left + _LEFT, page.top + _TITLE, half - _LEFT, high)
    items += _steps(steps, area, metrics)
    area = Box(page.left + half + _APART + _LEFT, page.top + _TITLE, half - _LEFT, high)
    items += _calls(shown, gpu, area, metrics)
    return Drawing(_WIDTH, _HEIGHT, tuple(items), title=title)


def _achieved(call: Row) -> tuple[float, float]:
    """The FLOP per byte and the measured FLOP/s of a call."""
    return call["flops"] / call["bytes"], call["flops"] / call["measured_s"]


def _is_shown(intensity: float, flops_per_s: float) -> bool:
    return intensity > _LEAST_INTENSITY and flops_per_s > _LEAST_FLOPS_PER_S


def _grid(area: Box, x: Scale, y: Scale, titles: tuple[str, str]) -> list[Item]:
    """Grid lines without labels, and the axis titles."""
    items: list[Item] = [
        Text(area.centre[0], area.bottom + 31, titles[0], "ink3", anchor="middle"),
        Text(area.left - _LEFT + 8, area.centre[1], titles[1], "ink3", anchor="middle", turn=-90),
    ]
    for at, _ in decade_ticks(x.low, x.high, 6):
        items.append(Line(((x.at(2.0**at), area.top), (x.at(2.0**at), area.bottom)), "grid"))
    for at, _ in decade_ticks(y.low, y.high, 6):
        items.append(Line(((area.left, y.at(2.0**at)), (area.right, y.at(2.0**at))), "grid"))
    return items


def _step_mark(x: float, y: float, group: str) -> Path:
    """The mark of a step: its colour shows whether it trains, its shape the mode."""
    phase, _, mode = group.partition(", ")
    count, radius = _CORNERS[mode]
    turns = [2 * pi * corner / count for corner in range(count)]
    points = [(x + 4 * radius * sin(turn), y - 4 * radius * cos(turn)) for turn in turns]
    return Path(polygon(points), _COLOURS[phase], "bg1", 0.8)


def _steps(steps: Sequence[Row], area: Box, metrics: Metrics) -> list[Item]:
    """One mark per step; the dashed lines are at ±15%."""
    times = [r["measured_s"] for r in steps]
    low, high = min(times) / 1.6, max(times) * 1.6
    x = Scale(low, high, area.left, area.right, True)
    y = Scale(low, high, area.bottom, area.top, True)
    items = _grid(area, x, y, ("Measured time of a step", "Predicted time of a step"))
    for at, _ in decade_ticks(low, high, 6):
        words = trimmed(seconds(2.0**at))
        items.append(Text(x.at(2.0**at), area.bottom + 13, words, "ink3", anchor="middle"))
        items.append(Text(area.left - 8, y.at(2.0**at), words, "ink3", anchor="end"))
    for factor in (1.0, _BAND, 1 / _BAND):
        begin, end = max(low, low / factor), min(high, high / factor)
        line = ((x.at(begin), y.at(begin * factor)), (x.at(end), y.at(end * factor)))
        items.append(Line(line, "line2", CURVE_WIDTH, "solid" if factor == 1.0 else "dashed"))
    for r in steps:
        at = x.at(r["measured_s"]), y.at(r["measured_s"] * r["ratio"])
        items.append(_step_mark(*at, r["group"]))
    left, top = area.left + 20, area.top + 16
    groups = sorted({r["group"] for r in steps})
    for number, group in enumerate(groups):
        at = left, top + _LINE * number
        items.append(_step_mark(*at, group))
        items.append(pill(metrics, left + 10, at[1], group, "ink2", anchor="start"))
    at = left, top + _LINE * len(groups)
    items.append(Line(((left - 7, at[1]), (left + 7, at[1])), "line2", CURVE_WIDTH, "dashed"))
    items.append(
        pill(metrics, left + 10, at[1], "15% too long or too short", "ink2", anchor="start")
    )
    return items


def _calls(
    shown: Sequence[tuple[float, float]], gpu: GPU, area: Box, metrics: Metrics
) -> list[Item]:
    """The measured FLOP/s of single calls over their FLOP per byte, with the data sheet's roof."""
    peaks = {d: gpu.peak("tensor", d) or 0.0 for d in ("fp8", "int8", "bf16", "fp16")}
    dtype = max(peaks, key=peaks.__getitem__)
    peak = peaks[dtype]
    x = Scale(_LEAST_INTENSITY, max(i for i, _ in shown) * 2, area.left, area.right, True)
    y = Scale(min(f for _, f in shown) / 2, peak * 3, area.bottom, area.top, True)
    items = _grid(area, x, y, ("Intensity, FLOP per byte", "Measured FLOP/s of a call"))
    for at, name in decade_ticks(x.low, x.high, 6):
        items.append(Text(x.at(2.0**at), area.bottom + 13, name, "ink3", anchor="middle"))
    for at, _ in decade_ticks(y.low, y.high, 6):
        words = trimmed(scaled(2.0**at, "FLOP/s"))
        items.append(Text(area.left - 8, y.at(2.0**at), words, "ink3", anchor="end"))
    ridge = peak / gpu.bandwidth_bytes_per_s
    slope = (x.low, max(y.low, x.low * gpu.bandwidth_bytes_per_s))
    roof = [slope, (ridge, peak), (x.high, peak)]
    items.append(Line([(x.at(i), y.at(f)) for i, f in roof], "ink", CURVE_WIDTH))
    for intensity, achieved in shown:
        regime: Regime = "memory" if intensity < ridge else "compute"
        items.append(Marker(x.at(intensity), y.at(achieved), regime, 2.2, edge_width=0.8))
    limits = scaled(gpu.bandwidth_bytes_per_s, "B/s"), scaled(peak, "FLOP/s")
    name = f"data-sheet roof: {limits[0]}, {limits[1]} in {dtype}"
    items.append(pill(metrics, area.right, y.at(peak * 1.6), name, "ink2", anchor="end"))
    return [*items, *_key_of_calls(shown, gpu, peak, area, metrics)]


def _key_of_calls(
    shown: Sequence[tuple[float, float]], gpu: GPU, peak: float, area: Box, metrics: Metrics
) -> list[Item]:
    """The colours of the calls, and how many of them lie above the roof."""
    items: list[Item] = []
    left, top = area.left + 20, area.top + 16
    limits: tuple[tuple[Regime, str], ...] = (
        ("memory", "bandwidth is the lower roof"),
        ("compute", "FLOP/s are the lower roof"),
    )
    for number, (regime, words) in enumerate(limits):
        at = top + _LINE * number
        items.append(Marker(left, at, regime, 3.5))
        items.append(pill(metrics, left + 10, at, words, "ink2", anchor="start"))
    above = sum(f > min(peak, i * gpu.bandwidth_bytes_per_s) for i, f in shown)
    if above:
        at = top + _LINE * len(limits)
        items.append(pill(metrics, left - 9, at, f"{above} above the roof", "ink2", anchor="start"))
    return items
