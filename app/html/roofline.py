"""The roofline of a report, in pixels for its template."""

from __future__ import annotations

from dataclasses import dataclass
from math import atan2, degrees, pi, sqrt

from app.quantities import number, percent, scaled, seconds
from app.scenes.launches import LaunchGroup, launch_groups
from app.scenes.pixel_scale import Scale
from app.scenes.roofline import Roof, ends, roof
from simulator.prediction import Prediction

WIDTH, HEIGHT = 1080, 380
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 1070, 14, 336
_LEAST_NAMED = 0.01
_LETTER_PX = 6.4
_LARGEST_PX2 = 3000.0
"""The area of a mark that takes all of the GPU time."""


@dataclass(frozen=True)
class CeilingLine:
    """A ceiling; its name is drawn at `at`, rotated by `turn` degrees."""

    kind: str
    points: tuple[float, float, float, float]
    words: str
    at: tuple[float, float]
    turn: float = 0.0


@dataclass(frozen=True)
class RooflineMark:
    """The mark of a group of launches: centre and radius in pixels; `name` is "" for most."""

    regime: str
    x: float
    y: float
    reach: float
    name: str
    told: str


@dataclass(frozen=True)
class RooflineDrawing:
    """The whole roofline."""

    lines: tuple[CeilingLine, ...]
    marks: tuple[RooflineMark, ...]
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    ridge: tuple[float, float, str]


def drawing(p: Prediction) -> RooflineDrawing | None:
    """The roofline of kernels with FLOPs; None if there are none."""
    found = [a for a in launch_groups(p) if a.flops and a.bytes]
    if not found:
        return None
    roofs = roof(p, found)
    span = ends(found, roofs)
    x = Scale(*span.x, _LEFT, _RIGHT, log=True)
    y = Scale(*span.y, _BOTTOM, _TOP, log=True)
    lines = (*_engines(roofs, x, y), *_memories(roofs, x, y))
    written = [_box(*each.at, each.words, each.turn == 0.0) for each in lines]
    marks = tuple(_mark(a, x, y, written) for a in found)
    at = x.at(roofs.ridge), y.at(roofs.main.flops_per_s)
    return RooflineDrawing(
        lines,
        tuple(reversed(marks)),  # the heaviest on top
        _decades(x, False),
        _decades(y, True),
        (*at, f"ridge {number(roofs.ridge)}"),
    )


_Box = tuple[float, float, float, float]


def _box(left: float, middle: float, words: str, before: bool = False) -> _Box:
    """The box of a label: left, top, right, bottom."""
    wide = _LETTER_PX * len(words)
    left -= wide if before else 0.0
    return left, middle - 8, left + wide, middle + 8


def _named(x: float, y: float, reach: float, name: str, written: list[_Box]) -> bool:
    """Reserve the room right of a mark for its name; False if another label is there."""
    box = _box(x + 1.4 * reach + 4, y, name)
    meets = any(
        box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3] for b in written
    )
    if meets or box[2] > _RIGHT:
        return False
    written.append(box)
    return True


def _mark(a: LaunchGroup, x: Scale, y: Scale, written: list[_Box]) -> RooflineMark:
    told = (
        f"{a.label}, {a.shape} {a.dtype}: {a.count:,} launches, {seconds(a.total_s)} "
        f"({percent(a.share)} of the GPU's time), {a.regime}-bound, "
        f"{number(a.intensity)} FLOP/byte, {scaled(a.achieved_flops_per_s, 'FLOP/s')}, "
        f"{percent(a.of_roof)} of {a.roof}"
    )
    reach = max(3.5, sqrt(_LARGEST_PX2 * a.share / pi))
    at = x.at(a.intensity), y.at(a.achieved_flops_per_s)
    name = f"{a.label} ×{a.count}"
    shown = a.share >= _LEAST_NAMED and _named(*at, reach, name, written)
    return RooflineMark(a.regime, *at, reach, name if shown else "", told)


def _engines(roofs: Roof, x: Scale, y: Scale) -> list[CeilingLine]:
    lines: list[CeilingLine] = []
    for ceiling in roofs.engines:
        if not ceiling.used:
            continue
        at = y.at(ceiling.flops_per_s)
        begin = x.at(ceiling.flops_per_s / roofs.memories[0].known_bytes_per_s)
        kind = "compute" if ceiling == roofs.main else "compute second"
        place = (_RIGHT - 4.0, at - 6)
        lines.append(CeilingLine(kind, (max(begin, _LEFT), at, _RIGHT, at), ceiling.label, place))
    return lines


def _memories(roofs: Roof, x: Scale, y: Scale) -> list[CeilingLine]:
    lines: list[CeilingLine] = []
    top = roofs.main.flops_per_s
    for level in roofs.memories:
        rate = level.known_bytes_per_s
        points = (x.at(x.low), y.at(x.low * rate), x.at(top / rate), y.at(top))
        turn = degrees(atan2(points[3] - points[1], points[2] - points[0]))
        dram = level.level == "DRAM"
        share = 0.62 if dram else 0.3
        at = (
            points[0] + share * (points[2] - points[0]),
            points[1] + share * (points[3] - points[1]),
        )
        kind = "memory" if dram else "memory second"
        lines.append(CeilingLine(kind, points, roofs.label(level), at, turn))
    return lines


def _decades(scale: Scale, rates: bool) -> tuple[tuple[float, str], ...]:
    """Ticks with their labels, rates as "100 T"."""
    return tuple(
        (scale.at(value), scaled(value, "") if rates else words) for value, words in scale.ticks(8)
    )
