"""Cost against speed: a point for each candidate of a plan, and the frontier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.answers.plan.planned import Candidate, candidate_of
from app.scenes.plan.table import distinguishing, mode_of, short_name
from simulator.planning import Row
from simulator.planning.result import Span
from simulator.planning.spec import Spec
from simulator.planning.wording import Currency, duration, latency
from simulator.prediction import REGIMES, Regime

_DAY, _HOUR = 86400.0, 3600.0


@dataclass(frozen=True)
class FrontPoint:
    """A candidate: `time` in the scene's unit with its 80% interval, `cost` with the interval that
    follows from it. `holds` is whether the candidate meets every limit somewhere within its
    interval, `surely` whether it does over the whole interval. `binds` names the limiting factor;
    `regime` is None if that is not a regime."""

    candidate: Candidate
    name: str
    mode: str
    label: str
    """The name with the fields that distinguish it from other candidates of the plan."""
    time: float
    time_interval: Span | None
    cost: float
    cost_interval: Span | None
    regime: Regime | None
    binds: str
    holds: bool
    surely: bool
    why: str


@dataclass(frozen=True)
class FrontScene:
    """Points in the order of the plan. `limit` is on the time, `budget` on the cost, in the units
    of the axes. `frontier` are the times and costs, sorted by time, of the points that meet the
    limits and are not beaten in both cost and time. `left_out` counts candidates without a price or
    without a time."""

    points: tuple[FrontPoint, ...]
    time_title: str
    cost_title: str
    limit: float | None
    limit_words: str
    budget: float | None
    frontier: tuple[tuple[float, float], ...]
    left_out: int


def front_scene(spec: Spec, rows: Sequence[Row]) -> FrontScene:
    """The candidates that have a time and a price."""
    kind, limits = spec.workload.kind, spec.limits
    percent = f"{limits.percentile:g}%"
    per_hour = limits.cost_usd_per_h
    unit = "token" if kind == "serving" or spec.workload.tokens else "sample"
    currency = spec.prices.currency
    cost_title, budget = f"{currency.name} per million {unit}s", None
    if kind == "serving":
        scale, title = 1e-3, f"{percent} of tokens arrive within (ms)"
        limit = limits.per_token_s
        budget = _per_million(rows, per_hour)
    elif kind == "inference":
        scale, title = 1e-3, "time of a batch (ms)"
        if spec.rate_per_s is not None:
            title = f"{percent} of samples end within (ms)"
        limit = limits.latency_s
        budget = _per_million(rows, per_hour)
    else:
        longest = max((row.duration_s or 0.0 for row in rows), default=0.0)
        scale, word = (_DAY, "days") if longest > 2 * _DAY else (_HOUR, "hours")
        title, cost_title = f"time of the run ({word})", f"{currency.name} in all"
        limit, budget = limits.deadline_s, limits.budget_usd
    fields = distinguishing(rows)
    points = [
        point for row in rows if (point := _point(row, kind, scale, currency, fields)) is not None
    ]
    write = duration if kind == "training" else latency
    words = "" if limit is None else f"limit {write(limit)}"
    return FrontScene(
        tuple(points),
        title,
        cost_title,
        None if limit is None else limit / scale,
        words,
        currency.of(budget),
        frontier([(p.time, p.cost) for p in points if p.holds]),
        len(rows) - len(points),
    )


def frontier(points: Sequence[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """The points that no other point beats in both cost and time, sorted by time."""
    best: list[tuple[float, float]] = []
    for time, cost in sorted(set(points)):
        if not best or cost < best[-1][1]:
            best.append((time, cost))
    return tuple(best)


def _point(
    row: Row, kind: str, scale: float, currency: Currency, fields: tuple[str, ...]
) -> FrontPoint | None:
    if kind == "serving":
        time, span, cost = row.per_token_s, row.per_token_interval_s, row.usd_per_million
        if cost is None and row.usd_per_h is not None and row.per_s:
            cost = row.usd_per_h
    elif kind == "training":
        time, span, cost = row.duration_s, row.duration_interval_s, row.usd_total
    else:
        time, span, cost = row.latency_s, row.latency_interval_s, row.usd_per_million
    cost = currency.of(cost)
    if time is None or cost is None:
        return None
    ends = None if span is None or not span[0] < span[1] else span
    costs = None
    if kind == "training" and ends is not None:
        costs = cost * ends[0] / time, cost * ends[1] / time
    name, mode = short_name(row)
    return FrontPoint(
        candidate_of(row),
        name,
        mode,
        " ".join(filter(None, (name, mode_of(row, fields)))),
        time / scale,
        None if ends is None else (ends[0] / scale, ends[1] / scale),
        cost,
        costs,
        row.binds if row.binds in REGIMES else None,
        row.binds,
        row.status in ("fits", "uncertain"),
        row.status == "fits",
        row.reason,
    )


def _per_million(rows: Sequence[Row], per_hour: float | None) -> float | None:
    """A limit of USD per hour as USD per million; the conversion is the same for all candidates."""
    for row in rows:
        if per_hour is not None and row.usd_per_h and row.usd_per_million:
            return per_hour * row.usd_per_million / row.usd_per_h
    return None
