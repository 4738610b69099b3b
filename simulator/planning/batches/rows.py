"""The rows of one card: batches at its capacity, or a whole training run."""

from __future__ import annotations

from typing import Any

from simulator.hardware.gpu import GPU
from simulator.planning.money import Bill, bill, unpriced_limit
from simulator.planning.power import mean_power
from simulator.planning.result import Row
from simulator.planning.spec import Spec
from simulator.planning.wording import above, duration


def inferred(
    spec: Spec, card: GPU, common: dict[str, Any], batch: int, c: dict[str, float], binds: str
) -> Row:
    """The row of a card that always has full batches: the fewest replicas, at their capacity."""
    limits, count = spec.limits, spec.candidates.counts_of(card.id)[0]
    low, high = c["low_s"] / c["period_s"], c["high_s"] / c["period_s"]
    rate_per_s = c["samples_per_s"] * count
    drawn = mean_power(card, c["joules"] / c["period_s"], 1.0)
    paid = bill(card, count, drawn.watts, spec.prices)
    ends = c["latency_s"] * low, c["latency_s"] * high
    status, reason = "fits", ""
    if limits.latency_s is not None and c["latency_s"] > limits.latency_s:
        status, reason = "too slow", above("latency", c["latency_s"], limits.latency_s)
    elif limits.latency_s is not None and ends[1] > limits.latency_s:
        status, reason = (
            "uncertain",
            f"at the interval's slow end {above('latency', ends[1], limits.latency_s)}",
        )
    status, reason = price_status(spec, paid, status, reason)
    return Row(
        **common,
        count=count,
        status=status,
        reason=reason,
        usd_per_h=paid.usd_per_h,
        price_source=paid.source,
        usd_per_million=None
        if paid.usd_per_h is None
        else paid.usd_per_h / (rate_per_s * 3600) * 1e6,
        gpu_hours=float(count),
        latency_s=c["latency_s"],
        latency_interval_s=ends,
        batch=float(batch),
        per_s=rate_per_s,
        utilisation=1.0,
        largest_rate_per_s=rate_per_s,
        largest_rate_interval_per_s=(rate_per_s / high, rate_per_s / low),
        memory_share=c["memory_bytes"] / card.memory_bytes,
        watts=paid.watts,
        power_source=drawn.source,
        joules_per_unit=None if paid.watts is None else paid.watts / rate_per_s,
        co2_g_per_h=paid.co2_g_per_h,
        binds=binds,
        at_capacity=True,
    )


def trained(
    spec: Spec,
    card: GPU,
    count: int,
    common: dict[str, Any],
    batch: int,
    c: dict[str, float],
    binds: str,
    waits_s: float | None,
    per_sample: int,
) -> Row:
    """A whole run: steps, waits between replicas, checkpoints and failures. `per_sample` is the
    tokens per sample if the spec counts tokens, else 1."""
    work, limits = spec.workload, spec.limits
    if waits_s is None:
        return Row(
            **common, count=count, status="left out", reason="its file gives no interconnect"
        )
    amount = (work.tokens or work.samples or 0.0) / per_sample
    step = c["period_s"] * work.accumulation + waits_s
    steps = amount / (batch * work.accumulation * count)
    lost = lost_share(spec, count)
    if lost >= 1:
        return Row(
            **common,
            count=count,
            status="too slow",
            binds="capacity",
            reason="GPUs fail faster than the run restarts",
        )
    whole = steps * step / (1 - lost)
    low, high = c["low_s"] / c["period_s"], c["high_s"] / c["period_s"]
    share = waits_s / step
    ends = whole * (low * (1 - share) + share), whole * (high * (1 - share) + share)
    drawn = mean_power(card, c["joules"] / c["period_s"], 1 - share)
    paid = bill(card, count, drawn.watts, spec.prices, whole)
    total = None if paid.usd_per_h is None else paid.usd_per_h * whole / 3600
    status, reason = "fits", ""
    deadline = limits.deadline_s
    if deadline is not None and whole > deadline:
        status, reason = "too slow", f"takes {duration(whole)}, above {duration(deadline)}"
    elif deadline is not None and ends[1] > deadline:
        status, reason = (
            "uncertain",
            f"takes {duration(ends[1])} at the interval's slow end, above {duration(deadline)}",
        )
    if limits.budget_usd is not None and total is not None and total > limits.budget_usd:
        money = spec.prices.currency.text
        status, reason = "too expensive", f"costs {money(total)}, above {money(limits.budget_usd)}"
    unchecked = unpriced_limit(spec.prices, limits.budget_usd, total)
    if unchecked and status == "fits":
        status, reason = "uncertain", unchecked
    status, reason = price_status(spec, paid, status, reason)
    return Row(
        **common,
        count=count,
        status=status,
        reason=reason,
        usd_per_h=paid.usd_per_h,
        price_source=paid.source,
        usd_total=total,
        gpu_hours=whole / 3600 * count,
        duration_s=whole,
        duration_interval_s=ends,
        latency_s=step,
        batch=float(batch),
        per_s=batch * work.accumulation * count / step * per_sample,
        utilisation=1 - lost,
        memory_share=c["memory_bytes"] / card.memory_bytes,
        watts=paid.watts,
        power_source=drawn.source,
        joules_per_unit=None if paid.watts is None else paid.watts * whole / (amount * per_sample),
        co2_g_per_h=paid.co2_g_per_h,
        binds="communication" if share > 0.5 else binds,
    )


def lost_share(spec: Spec, count: int) -> float:
    """The share of a run that checkpoints and failures take: C/τ + (τ/2 + R)·n/M, for checkpoints
    of C seconds every τ, restarts of R, and n GPUs that each fail every M (Daly 2006, first
    order)."""
    work = spec.workload
    every = work.checkpoint_every_s
    written = work.checkpoint_s / every if every else 0.0
    if not work.failures_every_s:
        return written
    between = work.failures_every_s / count
    return written + (every / 2 + work.restart_s) / between


def price_status(spec: Spec, paid: Bill, status: Any, reason: str) -> tuple[Any, str]:
    """The status and reason of a row, or those of a cost above the limit."""
    budget = spec.limits.cost_usd_per_h
    if unchecked := unpriced_limit(spec.prices, budget, paid.usd_per_h):
        return ("uncertain", unchecked) if status == "fits" else (status, reason)
    if budget is None or paid.usd_per_h is None or paid.usd_per_h <= budget:
        return status, reason
    money = spec.prices.currency.text
    return "too expensive", f"costs {money(paid.usd_per_h)} an hour, above {money(budget)}"
