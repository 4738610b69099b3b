"""Predicted against measured steps, and the achieved FLOP/s of single calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from app.charts.page import below, head
from app.drawing import Box, Drawing, Item, Line, Marker, Metrics, Text, pill
from app.quantities import scaled, seconds, trimmed
from app.scenes.pixel_scale import Scale
from app.scenes.ticks import decade_ticks
from app.theme import CURVE_WIDTH
from simulator.hardware.gpu import GPU
from simulator.prediction import Regime

Row = dict[str, Any]
_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _APART = 1240.0, 620.0, 76.0, 40.0, 24.0
_BAND = 1.15
_LEAST_INTENSITY, _LEAST_FLOPS_PER_S = 2e-2, 1e8


def accuracy_page(rows: Sequence[Row], gpu: GPU, metrics: Metrics) -> Drawing:
    """Plot predicted against measured times. `rows` are outcomes as `ridgepoint calibrate validate
    --json` writes them."""
    steps = [r for r in rows if r["figure"] == "period" and r["measured_s"]]
    calls = [r for r in rows if r["flops"] and r["bytes"] and r["group"].endswith("cold")]
    title = "Predicted against measured"
    about = f"{len(steps)} steps and {len(calls)} calls on an {gpu.name}, none of them fitted"
    items, top = head(title, about, _WIDTH, metrics)
    page = below(top + 8, _WIDTH, _HEIGHT)
    half = (page.width - _APART) / 2
    for left, draw in ((page.left, True), (page.left + half + _APART, False)):
        area = Box(left + _LEFT, page.top, half - _LEFT, page.height - _BOTTOM)
        items += _steps(steps, area, metrics) if draw else _calls(calls, gpu, area, metrics)
    return Drawing(_WIDTH, _HEIGHT, tuple(items), title=title)


def _grid(area: Box, x: Scale, y: Scale, titles: tuple[str, str]) -> list[Item]:
    """Grid lines without labels, and the axis titles that are not empty."""
    items: list[Item] = [
        Text(area.centre[0], area.bottom + 31, titles[0], "ink3", anchor="middle"),
    ]
    if titles[1]:
        at = area.left - _LEFT + 8, area.centre[1]
        items.append(Text(*at, titles[1], "ink3", anchor="middle", turn=-90))
    for at, _ in decade_ticks(x.low, x.high, 6):
        items.append(Line(((x.at(2.0**at), area.top), (x.at(2.0**at), area.bottom)), "grid"))
    for at, _ in decade_ticks(y.low, y.high, 6):
        items.append(Line(((area.left, y.at(2.0**at)), (area.right, y.at(2.0**at))), "grid"))
    return items


def _kind(group: str) -> Regime:
    """The regime whose mark a group of steps has: overhead if it trains, memory for CUDA graphs."""
    if group.startswith("training"):
        return "overhead"
    return "memory" if "graph" in group else "compute"


def _steps(steps: Sequence[Row], area: Box, metrics: Metrics) -> list[Item]:
    """One dot per step; the dashed lines mark ±15%."""
    times = [r["measured_s"] for r in steps]
    low, high = min(times) / 1.6, max(times) * 1.6
    x = Scale(low, high, area.left, area.right, True)
    y = Scale(low, high, area.bottom, area.top, True)
    items = _grid(area, x, y, ("Measured step time", "Predicted"))
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
        items.append(Marker(*at, _kind(r["group"]), 3.5))
    for number, text in enumerate(dict.fromkeys(r["group"] for r in steps)):
        at = area.left + 20, area.top + 16 + 20 * number
        items.append(Marker(*at, _kind(text), 3.5))
        items.append(pill(metrics, at[0] + 10, at[1], text, "ink2", anchor="start"))
    return items


def _calls(calls: Sequence[Row], gpu: GPU, area: Box, metrics: Metrics) -> list[Item]:
    """The measured FLOP/s of single calls, below the data sheet's roof."""
    points = [(r["flops"] / r["bytes"], r["flops"] / r["measured_s"]) for r in calls]
    shown = [(i, f) for i, f in points if i > _LEAST_INTENSITY and f > _LEAST_FLOPS_PER_S]
    peak = max(gpu.peak("tensor", d) or 0.0 for d in ("fp8", "int8", "bf16", "fp16"))
    peak = peak or gpu.peak("vector", "fp32") or 1e12
    x = Scale(_LEAST_INTENSITY, max(i for i, _ in shown) * 2, area.left, area.right, True)
    y = Scale(min(f for _, f in shown) / 2, peak * 3, area.bottom, area.top, True)
    items = _grid(area, x, y, ("Intensity, FLOP per byte", ""))
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
    name = pill(metrics, x.at(ridge), y.at(peak * 1.5), "data-sheet roof", "ink2")
    return [*items, name]
