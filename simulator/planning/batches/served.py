"""The rows of a card that runs samples in batches as they arrive, with the latency of its queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import floor, inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.hardware.gpu import GPU
from simulator.planning.batches.queue import BatchedLoad, BatchServer, arrivals, serve_batches
from simulator.planning.batches.rows import price_status
from simulator.planning.money import bill
from simulator.planning.power import mean_power
from simulator.planning.result import Row
from simulator.planning.serve_plan import chance_of
from simulator.planning.spec import Spec
from simulator.planning.wording import above, amount

Floats = NDArray[np.float64]

LOW, MIDDLE, HIGH = "low_s", "period_s", "high_s"
"""The columns of a step's interval."""
_SCREENED = 1000  # samples of the simulations that choose the largest batch
_NEAR = 1.02  # the latency of the chosen batch, as a multiple of the lowest one


@dataclass(frozen=True)
class BatchTable:
    """The steps of a card: their batches [points], ascending, and the columns [points] of their
    predictions."""

    batches: Floats
    columns: Mapping[str, Floats]

    def at(self, name: str, batch: float) -> float:
        """A column, interpolated linearly between the points."""
        return float(np.interp(batch, self.batches, self.columns[name]))

    def watts(self, batch: float) -> float:
        """The mean power of a card that always works."""
        return self.at("joules", batch) / self.at("period_s", batch)

    def server(self, most: int, window_s: float, end: str = MIDDLE) -> BatchServer:
        """A GPU with batches of at most `most` samples, whose steps take the `end` of their
        interval. A larger batch never takes less time."""
        sizes = np.arange(1, most + 1, dtype=float)
        ratio = self.columns[end] / self.columns[MIDDLE]
        seconds = np.interp(sizes, self.batches, self.columns["latency_s"] * ratio)
        return BatchServer(np.maximum.accumulate(seconds), window_s)


def served(
    spec: Spec,
    card: GPU,
    common: dict[str, Any],
    table: BatchTable,
    most: int | None,
    regimes: Sequence[str],
) -> list[Row]:
    """A row for each count of replicas, from the first that carries the rate (else the largest) to
    the first that meets every limit. `most` is the largest batch; None chooses one for each count.
    `regimes` [points] are those of the table's steps."""
    rows: list[Row] = []
    for count in spec.candidates.counts_of(card.id):
        row = _served(
            spec,
            card,
            common | {"count": count},
            table,
            most or largest_batch(spec, table, count),
            regimes,
        )
        if rows and rows[-1].status == "overloaded":
            rows.pop()
        rows.append(row)
        if row.status == "fits":
            break
    return rows


def largest_batch(spec: Spec, table: BatchTable, count: int) -> int:
    """The largest batch for one of `count` GPUs, if steps take the slow end of their interval.

    The choice is among batches whose latency is near the lowest one, or among all if all are
    overloaded. Batches whose own time is within the limit are preferred. Of these, the one that
    carries the most samples per second is chosen."""
    assert spec.rate_per_s
    quick = replace(spec, requests=min(spec.requests, _SCREENED))
    latency_s: dict[int, float] = {}
    rates: dict[int, float] = {}
    brief: set[int] = set()
    for most in map(int, table.batches):
        slow = table.server(most, 0.0, HIGH)
        rates[most] = table.server(most, 0.0).largest_rate_per_s
        if slow.batch_s[-1] <= (spec.limits.latency_s or inf):
            brief.add(most)
        if spec.rate_per_s < count * slow.largest_rate_per_s:
            load = simulated(quick, count, slow)
            latency_s[most] = load.percentile_s(spec.limits.percentile)
    near = _NEAR * min(latency_s.values(), default=0.0)
    among = [most for most, value in latency_s.items() if value <= near]
    within = [most for most in among or rates if most in brief]
    return max(within or among or rates, key=lambda most: rates[most])


def simulated(spec: Spec, count: int, server: BatchServer) -> BatchedLoad:
    """The simulated load of one of `count` GPUs, each with an equal share of the rate."""
    assert spec.rate_per_s
    return serve_batches(arrivals(spec.rate_per_s / count, spec.requests, spec.seed), server)


def _served(
    spec: Spec,
    card: GPU,
    common: dict[str, Any],
    table: BatchTable,
    most: int,
    regimes: Sequence[str],
) -> Row:
    limits, rate, count = spec.limits, spec.rate_per_s or 0.0, common["count"]
    servers = [table.server(most, spec.workload.batch_window_s, e) for e in (LOW, MIDDLE, HIGH)]
    best, carried, surely = (each.largest_rate_per_s * count for each in servers)
    common = common | {
        "largest_batch": most,
        "largest_rate_per_s": carried,
        "largest_rate_interval_per_s": (surely, best),
        "memory_share": table.at("memory_bytes", most) / card.memory_bytes,
    }
    if rate >= surely:
        return _overloaded(spec, card, common, table, rate)
    near, middle, far = (simulated(spec, count, server) for server in servers)
    low_s, latency_s, high_s = (e.percentile_s(limits.percentile) for e in (near, middle, far))
    limit_s = limits.latency_s or inf
    within = [value <= limit_s for value in (low_s, latency_s, high_s)]
    status, reason = "fits" if all(within) else "uncertain" if any(within) else "too slow", ""
    if not within[1]:
        reason = above("latency", latency_s, limit_s)
    elif not within[2]:
        reason = f"at the interval's slow end {above('latency', high_s, limit_s)}"
    batch = middle.mean_batch
    drawn = mean_power(card, table.watts(batch), middle.utilisation)
    paid = bill(card, count, drawn.watts, spec.prices)
    binds = regimes[int(np.argmin(np.abs(table.batches - batch)))]
    status, reason = price_status(spec, paid, status, reason)
    return Row(
        **common,
        status=status,
        reason=reason,
        usd_per_h=paid.usd_per_h,
        price_source=paid.source,
        usd_per_million=None if paid.usd_per_h is None else paid.usd_per_h / (rate * 3600) * 1e6,
        gpu_hours=float(count),
        latency_s=latency_s,
        latency_interval_s=(low_s, high_s),
        batch=batch,
        per_s=rate,
        utilisation=middle.utilisation,
        watts=paid.watts,
        power_source=drawn.source,
        joules_per_unit=None if paid.watts is None else paid.watts / rate,
        co2_g_per_h=paid.co2_g_per_h,
        binds="queueing" if not within[1] and table.at("latency_s", batch) <= limit_s else binds,
        chance=chance_of(within),
    )


def _overloaded(
    spec: Spec, card: GPU, common: dict[str, Any], table: BatchTable, rate: float
) -> Row:
    """The row of a card that cannot carry the rate, at least at the slow end of its steps'
    interval."""
    most, count, largest_rate = (
        common[n] for n in ("largest_batch", "count", "largest_rate_per_s")
    )
    surely = common["largest_rate_interval_per_s"][0]
    paid = bill(card, count, mean_power(card, table.watts(most), 1.0).watts, spec.prices)
    slow = "" if rate >= largest_rate else " at the interval's slow end"
    return Row(
        **common,
        status="overloaded",
        reason=f"carries {amount(surely if slow else largest_rate)} of {amount(rate)} "
        f"samples/s{slow}; {floor(rate / surely * count) + 1} GPUs would",
        usd_per_h=paid.usd_per_h,
        price_source=paid.source,
        batch=float(most),
        utilisation=1.0,
        binds="capacity",
    )
