"""The assumptions of a plan: each with the figure at both ends of its range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from app.answers.plan.planned import candidate_of
from app.scenes.plan.table import short_name
from simulator.planning import Assumption, Plan, Row
from simulator.planning.spec import Spec
from simulator.planning.wording import latency

_LEAST = 0.002
"""Share of the figure: an assumption that moves the figure less is counted, not drawn."""


@dataclass(frozen=True)
class Bar:
    """An assumption: the figure at the low and at the high end of its value, in seconds; None if
    the candidate does not run there."""

    name: str
    value: str
    low_value: str
    high_value: str
    low_s: float | None
    high_s: float | None


@dataclass(frozen=True)
class TornadoScene:
    """Bars, sorted by how much they move the figure. `now_s` is the current figure and `limit_s`
    its limit; `still` counts the assumptions that move the figure by less than 0.2%.
    """

    bars: tuple[Bar, ...]
    now_s: float
    limit_s: float | None
    figure: str
    still: int
    candidate: str
    """The candidate of the figure: "B200 SXM ×1, vllm, fp8"."""


def tornado_scene(spec: Spec, plan: Plan) -> TornadoScene | None:
    """The varied assumptions of a plan, or None."""
    row = varied_row(plan)
    if row is None:
        return None
    limits = spec.limits
    if spec.workload.kind == "serving":
        now, limit = row.per_token_s, limits.per_token_s
    elif spec.workload.kind == "training":
        now, limit = row.duration_s, limits.deadline_s
    else:
        now, limit = row.latency_s, limits.latency_s
    varied = [a for a in plan.assumptions if a.low is not None and a.high is not None]
    if now is None or not varied:
        return None
    bars = [_bar(a) for a in varied if _swing(a, now) >= _LEAST * now]
    bars.sort(key=lambda bar: -_reach(bar, now))
    still = len(varied) - len(bars)
    name = ", ".join(short_name(row))
    return TornadoScene(tuple(bars), now, limit, plan.figure, still, name)


def tornado_rows(scene: TornadoScene) -> list[list[str]]:
    """The bars as rows: the assumption, its value, and the figure at both ends of its range."""
    rows = [
        [
            f"Sensitivity of {scene.candidate} to",
            "now",
            "low end",
            scene.figure,
            "high end",
            scene.figure,
        ]
    ]
    for bar in scene.bars:
        ends = ["does not run" if s is None else latency(s) for s in (bar.low_s, bar.high_s)]
        rows.append([bar.name, bar.value, bar.low_value, ends[0], bar.high_value, ends[1]])
    return rows


def varied_row(plan: Plan) -> Row | None:
    """The candidate for which the assumptions are varied: the first with the figure."""
    if plan.kind == "serving":
        return next((row for row in plan.rows if row.per_token_s is not None), None)
    return next((row for row in plan.rows if row.latency_s is not None), None)


def is_varied(plan: Plan, row: Row) -> bool:
    """Whether the assumptions are varied for this candidate."""
    varied = varied_row(plan)
    return varied is not None and candidate_of(varied) == candidate_of(row)


def _bar(a: Assumption) -> Bar:
    return Bar(a.name, a.value, a.low_value, a.high_value, _finite(a.low), _finite(a.high))


def _finite(value: float | None) -> float | None:
    return value if value is not None and isfinite(value) else None


def _ends(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None and isfinite(value)]


def _swing(a: Assumption, now_s: float) -> float:
    return max((abs(end - now_s) for end in _ends((a.low, a.high))), default=now_s)


def _reach(bar: Bar, now_s: float) -> float:
    return max((abs(end - now_s) for end in _ends((bar.low_s, bar.high_s))), default=now_s)
