"""From rows to a verdict: ranking, Pareto front, break-even prices, two sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from simulator.planning.nearest import Shortage, nothing_carries
from simulator.planning.result import Row
from simulator.planning.spec import Prices, Spec
from simulator.planning.wording import amount, duration, latency

_ORDER = ("fits", "uncertain", "too slow", "too expensive", "overloaded", "no memory", "left out")


def ranked(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Rank rows: first those that fit, by cost, then the others, by their distance to the limits.
    Mark the front."""
    marked = front(rows)
    return tuple(
        sorted(
            marked, key=lambda row: (_ORDER.index(row.status), _unpriced(row), row.cost, _time(row))
        )
    )


def _unpriced(row: Row) -> bool:
    return row.usd_per_h is None


def front(rows: Sequence[Row]) -> list[Row]:
    """Set `front` in rows for which no other row that fits is as good in cost, time, energy and
    count, and better in at least one of them."""
    fits = [row for row in rows if row.status in ("fits", "uncertain")]
    figures = {id(row): _figures(row) for row in fits}

    def beaten(row: Row) -> bool:
        own = figures[id(row)]
        return any(
            other is not row
            and figures[id(other)] != own
            and all(a <= b for a, b in zip(figures[id(other)], own, strict=True))
            for other in fits
        )

    return [replace(row, front=id(row) in figures and not beaten(row)) for row in rows]


def _time(row: Row) -> float:
    for value in (row.per_token_s, row.duration_s, row.latency_s):
        if value is not None:
            return value
    return float("inf")


def _figures(row: Row) -> tuple[float, float, float, float]:
    far = float("inf")
    cost = far if row.usd_total is None and row.usd_per_h is None else row.cost
    joules = row.joules_per_unit
    return cost, _time(row), far if joules is None else joules, row.count


def break_even(row: Row, other: Row, prices: Prices) -> str:
    """The hourly price of the other row's GPU, without energy, below which that row costs less, and
    its price now. Empty if a price is not known or the energy alone costs more."""
    if row.usd_per_h is None or other.usd_per_h is None:
        return ""
    energy = (other.watts or 0.0) / 1000 * prices.energy_usd_per_kwh / other.count
    if row.usd_total is not None and other.gpu_hours:
        each = row.usd_total / other.gpu_hours
    elif row.at_capacity and other.per_s:
        each = row.cost * other.per_s / other.count
    else:
        each = row.usd_per_h / other.count
    if each <= energy:
        return ""
    now = other.usd_per_h / other.count
    money = prices.currency.text
    return f"{money(each - energy)} an hour for each GPU (now {money(now - energy)})"


def verdict(
    spec: Spec,
    rows: Sequence[Row],
    pruned: Mapping[str, str],
    shortages: Mapping[str, Shortage] = MappingProxyType({}),
) -> str:
    """Two sentences: the best candidate, and the runner-up. `shortages` holds the limits that the
    bounds of candidates in `pruned` exceed."""
    best = next((row for row in rows if row.status == "fits"), None)
    if best is None:
        return _unsure(rows) or nothing_carries(spec, rows, pruned, shortages)
    text = f"{best.configuration} {_does(spec, best)}{_cost(spec, best)}."
    others = [r for r in rows if r.status in ("fits", "uncertain") and r.gpu != best.gpu]
    cheaper = [r for r in others if r.status == "uncertain" and _cheaper(r, best)]
    if cheaper:
        other = min(cheaper, key=lambda row: (-(row.chance or 0.0), row.cost))
        saved = (
            f"costs {1 - other.cost / best.cost:.0%} less, but" if best.cost else "is uncertain:"
        )
        return f"{text} {other.configuration} {saved} {other.reason or 'may miss a limit'}."
    if others:
        other = min(others, key=lambda row: (row.status != "fits", _unpriced(row), row.cost))
        even = break_even(best, other, spec.prices)
        if other.status == "uncertain":
            how = other.reason
        elif even:
            how = f"it would cost less below {even}"
        elif _unpriced(best) or _unpriced(other):
            how = f"no price is known for {other.name}"
        else:
            how = "its energy alone costs more"
        return f"{text} The runner-up is {other.configuration}: {how}."
    return f"{text} No other GPU among the candidates meets every limit."


def _cheaper(row: Row, best: Row) -> bool:
    return _unpriced(row) == _unpriced(best) and row.cost < best.cost


def _does(spec: Spec, row: Row) -> str:
    percent = f"{spec.limits.percentile:g}%"
    if spec.workload.kind == "serving":
        assert row.per_token_s is not None and row.first_token_s is not None
        return (
            f"serves {amount(row.per_s or 0)} requests/s with {percent} of tokens within "
            f"{latency(row.per_token_s)} and of first tokens within {latency(row.first_token_s)}"
        )
    if spec.workload.kind == "training":
        assert row.duration_s is not None
        return f"trains it in {duration(row.duration_s)}"
    assert row.latency_s is not None and row.per_s is not None
    if row.largest_batch is not None:
        batches = "one by one"
        if row.largest_batch > 1:
            batches = f"in batches of {amount(row.batch or 0)} on average, at most "
            batches += f"{row.largest_batch}"
        return (
            f"carries {amount(row.per_s)} samples/s with {percent} of them within "
            f"{latency(row.latency_s)}, {batches},"
        )
    return (
        f"carries {amount(row.per_s)} samples/s in batches of {amount(row.batch or 0)}, "
        f"{latency(row.latency_s)} each,"
    )


def _cost(spec: Spec, row: Row) -> str:
    money = spec.prices.currency.text
    if row.usd_total is not None:
        return f" for {money(row.usd_total)}"
    if row.usd_per_h is None:
        return f" in {gpu_hours(row)}, at an unknown price"
    million = row.usd_per_million
    unit = "tokens" if spec.workload.kind == "serving" else "samples"
    more = f", {money(million)} per million {unit}" if million is not None else ""
    return f" for {money(row.usd_per_h)} an hour{more}"


def gpu_hours(row: Row) -> str:
    """The cost if there is no price: "12.5 GPU-hours" for a run, "2 GPU-hours an hour"."""
    if row.duration_s is not None and row.gpu_hours is not None:
        return f"{amount(row.gpu_hours)} GPU-hours"
    return f"{row.count} GPU-hour{'s' if row.count > 1 else ''} an hour"


def _unsure(rows: Sequence[Row]) -> str:
    """The verdict if no candidate is certain to meet every limit, but one may; else empty."""
    unsure = [row for row in rows if row.status == "uncertain"]
    if not unsure:
        return ""
    near = max(unsure, key=lambda row: row.chance or 0.0)  # the cheapest of the likeliest
    nearest = f"The nearest is {near.configuration}: {near.reason}."
    return f"No candidate is certain to meet every limit. {nearest}"
