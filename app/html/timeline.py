"""The timeline of a report: one step, host above GPU, in pixels."""

from __future__ import annotations

from dataclasses import dataclass

from app.quantities import percent, seconds
from app.scenes.pixel_scale import Scale
from app.scenes.timeline import GPU_KINDS, HOST_KINDS, Slices, lanes, visible
from simulator.prediction import Prediction

WIDTH = 1080
_LEFT, _RIGHT = 64, 1070
_CLASSES = {
    **dict(zip(GPU_KINDS, ("compute", "memory", "overhead", "idle", "idle"), strict=True)),
    **dict(zip(HOST_KINDS, ("launch", "view", "idle"), strict=True)),
}


@dataclass(frozen=True)
class Lane:
    """Rectangles from left to right as (x, width, class), and a sentence with their sums."""

    name: str
    bars: tuple[tuple[float, float, str], ...]
    told: str


@dataclass(frozen=True)
class TimelineDrawing:
    """Both lanes, with ticks in seconds."""

    host: Lane
    gpu: Lane
    ticks: tuple[tuple[float, str], ...]


def drawing(p: Prediction) -> TimelineDrawing | None:
    """The timeline of one step; None if no kernel runs."""
    if not p.kernel_count:
        return None
    found = lanes(p)
    x = Scale(0.0, found.span_s, _LEFT, _RIGHT)
    ticks = tuple((x.at(float(v)), seconds(float(v))) for v, _ in x.ticks(8))
    return TimelineDrawing(_lane("host", found.host, x), _lane("GPU", found.gpu, x), ticks)


def _lane(name: str, slices: Slices, x: Scale) -> Lane:
    """Build a lane; adjacent slices of one class become one rectangle."""
    shown = visible(slices, x)
    wide = zip(
        shown.left.tolist(), shown.right.tolist(), slices.kind[shown.wide].tolist(), strict=True
    )
    parts = sorted([*wide, *((float(a), float(b), kind) for a, b, kind in shown.runs)])
    bars: list[tuple[float, float, str]] = []
    for left, right, kind in parts:
        what = _CLASSES[slices.kinds[kind]]
        if bars and bars[-1][2] == what and left - (bars[-1][0] + bars[-1][1]) < 0.5:
            bars[-1] = bars[-1][0], round(right - bars[-1][0], 1), what
        else:
            bars.append((round(left, 1), round(right - left, 1), what))
    sums = slices.sums(0.0, x.high)
    told = [f"{kind} {seconds(s)} ({percent(s / x.high)})" for kind, s in sums.items() if s > 0]
    return Lane(name, tuple(bars), ", ".join(told))
