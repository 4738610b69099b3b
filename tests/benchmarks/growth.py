"""Sweeps of 10² to 10⁵ scenarios: GPU × precision × batch × mode of a network of 500 kernels.

With `--most 1000000` there are 10⁶, which take minutes and some GB.
"""

from __future__ import annotations

import re
import resource
from collections.abc import Iterator, Sequence
from math import log10
from typing import Any

from simulator.analysis.sweep import sweep
from simulator.scenario import trace_source
from simulator.scenario.scenario import Scenario, predict
from tests.benchmarks.slopes import slope
from tests.benchmarks.timing import Row, timed

NETWORK = Scenario("gpt2", batch=8, seq=128, sizes={"layers": 50})
CARDS = ("h200", "h100", "a100", "b200", "l40s")
PRECISIONS = ("fp32", "tf32", "fp16", "bf16")
MODES = ("eager", "cuda_graph")
GOALS_S = {10_000: 5.0, 1_000_000: 30.0}
_TOLD = "sweep of "


def axes(scenarios: int) -> dict[str, Any]:
    """Axes with about this many scenarios; the number of batches varies."""
    batches = max(2, scenarios // (len(CARDS) * len(PRECISIONS) * len(MODES)))
    return {
        "gpu": CARDS,
        "precision": PRECISIONS,
        "batch": range(1, batches + 1),
        "mode": MODES,
    }


def growth(most: int = 100_000) -> Iterator[Row]:
    """Time and memory of each size. The families of traces are fitted first, in a separate row.
    Each size is predicted twice: by families without cached points, then again.
    """
    trace_source.forget()
    name = f"{NETWORK.network} of {predict(NETWORK).kernel_count} kernels"
    yield timed(f"{name}: families of traces fitted", lambda _: _swept(axes(400)), 1)
    scenarios = 100
    last: dict[str, tuple[int, float]] = {}
    while scenarios <= most:
        axes_of_all = axes(scenarios)
        count = len(CARDS) * len(PRECISIONS) * len(MODES) * len(axes_of_all["batch"])
        goal = GOALS_S.get(scenarios, float("nan"))
        for times in ("new", "again"):
            figure = f"{name}: {_TOLD}{count:,} scenarios, {times}"
            row = timed(figure, lambda _, a=axes_of_all: _swept(a), 1, goal)
            now = count, row.cpu_s
            yield row._replace(note=slope(last.get(times), now) + row.note)
            last[times] = now
        scenarios *= 10


def _swept(swept_axes: dict[str, Any]) -> str:
    before = _peak_mib()
    swept = sweep(NETWORK, swept_axes)
    return f"{len(swept.refused)} refused, {_peak_mib() - before:.0f} MiB more at the peak"


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def picture(rows: Sequence[Row]) -> str:
    """CPU seconds and MiB over the number of scenarios, both axes in decades, as an SVG."""
    measured: list[tuple[float, float, float]] = []
    held = 0.0
    for row in rows:
        match = re.search(rf"{_TOLD}([\d,]+) scenarios, new", row.figure)
        more = re.search(r"(\d+) MiB", row.note)
        if match and more:
            held += float(more[1])
            measured.append((float(match[1].replace(",", "")), row.cpu_s, held))
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 560 360" font-family="sans-serif" '
        'font-size="11">',
        '<rect width="560" height="360" fill="white"/>',
        '<text x="60" y="22" font-size="14">A sweep grows in proportion</text>',
    ]
    for power in range(1, 6):
        x = _x(10.0**power)
        parts.append(f'<line x1="{x:.0f}" y1="40" x2="{x:.0f}" y2="320" stroke="#ddd"/>')
        parts.append(f'<text x="{x:.0f}" y="338" text-anchor="middle">{10**power:,}</text>')
    for power in range(-2, 4):
        y = _y(10.0**power)
        parts.append(f'<line x1="60" y1="{y:.0f}" x2="520" y2="{y:.0f}" stroke="#ddd"/>')
        parts.append(f'<text x="54" y="{y + 4:.0f}" text-anchor="end">{10.0**power:g}</text>')
    for place, (label, colour) in enumerate((("CPU seconds", "#c04000"), ("MiB", "#0060a0")), 1):
        dots = [(_x(each[0]), _y(max(each[place], 1e-2))) for each in measured]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in dots)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in dots]
        parts.append(f'<text x="{60 + 100 * place}" y="36" fill="{colour}">{label}</text>')
    parts.append('<text x="290" y="354" text-anchor="middle">scenarios</text></svg>')
    return "\n".join(parts) + "\n"


def _x(scenarios: float) -> float:
    return 60 + 460 * (log10(scenarios) - 1) / 4


def _y(value: float) -> float:
    return 320 - 280 * (log10(value) + 2) / 5
