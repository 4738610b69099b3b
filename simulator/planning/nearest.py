"""The candidate nearest to a load that no candidate carries: the limit that fails, by how much, and
the key to change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from simulator.formats.numbers import short
from simulator.planning.result import Row
from simulator.planning.server.replica import lengths
from simulator.planning.spec import Spec

_LEADS = (
    "No candidate meets every limit",
    "No candidate carries the load",
    "No candidate can run this",
)
_LIMITS, _LOAD, _MEMORY, _OTHER = range(4)


@dataclass(frozen=True)
class Shortage:
    """Why a candidate was not tried. `excess` is the least factor by which it exceeds a limit;
    infinity if a larger limit does not help. `key` is the key of the spec that sets the limit."""

    reason: str
    excess: float = inf
    key: str = ""


@dataclass(frozen=True)
class _Miss:
    """A candidate that fails: the kind of limit, the factor by which it exceeds it, the reason, and
    the key that sets the limit."""

    kind: int
    excess: float
    name: str
    reason: str
    key: str

    @property
    def order(self) -> tuple[bool, bool, float]:
        return self.kind == _OTHER, self.kind == _MEMORY, self.excess


def nothing_carries(
    spec: Spec,
    rows: Sequence[Row],
    pruned: Mapping[str, str],
    shortages: Mapping[str, Shortage],
) -> str:
    """The message for a plan without a candidate that may carry the load: the nearest candidate,
    the limit that fails, by how much, and what to change.

    The nearest exceeds its limits by the smallest factor; candidates that lack memory come after
    those that are only too slow, too expensive or too few.
    """
    misses = [*_of_rows(spec, rows), *_of_shortages(shortages)]
    if not misses:
        name, reason = next(iter(pruned.items()), ("the list of GPUs", "it is empty"))
        return f"{_LEADS[2]}. {name}: {reason}."
    near = min(misses, key=lambda miss: miss.order)
    times = ""
    if near.kind == _LIMITS and 1.05 <= near.excess < inf:
        times = f", {short(near.excess)} times the limit"
    hint = _hint(near, spec.workload.kind)
    return f"{_LEADS[min(near.kind, 2)]}. The nearest is {near.name}: {near.reason}{times}{hint}."


def _hint(near: _Miss, kind: str) -> str:
    """What to change, as the end of a sentence."""
    if near.kind == _LOAD:
        return "; raise candidates.counts, or lower load.rate"
    if near.kind != _LIMITS:
        return ""
    if near.key in ("limits.cost", "limits.budget"):
        return f"; raise {near.key}, or add cheaper GPUs"
    if near.key == "limits.deadline":
        return f"; raise {near.key} or candidates.counts, or add faster GPUs"
    more = ", a lower precision or larger splits" if kind == "serving" else " or a lower precision"
    return f"; raise {near.key}, or add faster GPUs{more}"


def _of_rows(spec: Spec, rows: Sequence[Row]) -> Iterator[_Miss]:
    for row in rows:
        name, reason = row.configuration, row.reason
        if row.status in ("too slow", "too expensive"):
            excess, key = max(_ratios(spec, row), default=(inf, ""))
            if key:
                yield _Miss(_LIMITS, excess, name, reason, f"limits.{key}")
            else:
                yield _Miss(_OTHER, inf, name, reason, "")
        elif row.status == "overloaded":
            if any(_carries_more(other, row) for other in rows):
                continue  # more of these GPUs were tried
            rate = spec.rate_per_s or lengths(spec)[0]
            most = row.largest_rate_per_s
            yield _Miss(_LOAD, rate / most if most else inf, name, reason, "load.rate")
        elif row.status == "no memory":
            yield _Miss(_MEMORY, row.memory_share or inf, name, reason, "")
        else:
            yield _Miss(_OTHER, inf, name, reason, "")


def _carries_more(other: Row, row: Row) -> bool:
    """Whether another row has more GPUs of the same kind and is not overloaded."""
    return other.server == row.server and other.count > row.count and other.status != "overloaded"


def _ratios(spec: Spec, row: Row) -> Iterator[tuple[float, str]]:
    """The factor by which a row exceeds each limit, with the limit's key."""
    limits = spec.limits
    for key, value, limit in (
        ("per_token", row.per_token_s, limits.per_token_s),
        ("first_token", row.first_token_s, limits.first_token_s),
        ("latency", row.latency_s, limits.latency_s),
        ("deadline", row.duration_s, limits.deadline_s),
        ("cost", row.usd_per_h, limits.cost_usd_per_h),
        ("budget", row.usd_total, limits.budget_usd),
    ):
        if value is not None and limit and value > limit:
            yield value / limit, key


def _of_shortages(shortages: Mapping[str, Shortage]) -> Iterator[_Miss]:
    for name, short_of in shortages.items():
        if short_of.excess == inf:
            continue
        kind = _LIMITS if short_of.key.startswith("limits.") else _LOAD
        if not short_of.key:
            kind = _MEMORY
        yield _Miss(kind, short_of.excess, name, short_of.reason, short_of.key)
