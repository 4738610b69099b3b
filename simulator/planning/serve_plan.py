"""Candidates for a served network: each simulated, with the interval of its step times."""

from __future__ import annotations

from dataclasses import replace
from math import ceil, inf
from typing import Any

import numpy as np

from simulator.hardware.gpu import GPU
from simulator.planning.money import bill, unpriced_limit
from simulator.planning.power import mean_power
from simulator.planning.result import Row, Span
from simulator.planning.server.disaggregated import served
from simulator.planning.server.replica import (
    WARM_UP,
    Figures,
    factor,
    lengths,
    missed,
    rules,
    simulate,
)
from simulator.planning.server.requests import requests
from simulator.planning.server.scheduler import Rules, Served
from simulator.planning.server.steady import Steady, largest_rate, steady
from simulator.planning.spec import Spec
from simulator.planning.step.tables import Machine
from simulator.planning.wording import above, amount

ENDS = (0.1, 0.5, 0.9)  # quantiles of the step's interval at which a candidate is simulated
_DRAWN = 1500  # requests of each draw
MIDDLE = (0.5, 0.5, 0.5)
_SLOW_END = "at the interval's slow end"


def candidate(
    spec: Spec,
    gpu: GPU,
    count: int,
    engine: str,
    precision: str,
    machine: Machine,
    quantiles: tuple[float, float, float] = ENDS,
) -> Row:
    """The row of a candidate: simulated unless it has too little memory or is overloaded."""
    names: dict[str, Any] = {
        "gpu": gpu.id,
        "name": gpu.name,
        "count": count,
        "engine": engine,
        "precision": precision,
        "split": machine.split,
        "pools": machine.pools,
        "queues": machine.queues,
        "expert_parallel": spec.workload.expert_parallel and machine.split > 1,
    }
    rate, prompt, output = lengths(spec)
    within = rules(spec, machine, gpu)
    if within.cache_tokens < prompt + output + within.cache_block - 1:
        costs = _costs_at_most(spec, gpu, count, machine, within)
        return Row(**names, **costs, **_without_memory(spec, gpu, machine))
    servers = count // machine.gpus * machine.queues
    most = _largest(machine, within, prompt, output, 1.0) * servers
    state = steady(machine.step, within, rate / servers, prompt, output)
    refused = _overloaded(spec, machine, state, most, servers) or _slow(spec, machine, state, most)
    if refused:
        return Row(**names, **_costs_at_most(spec, gpu, count, machine, within), **refused)
    return Row(
        **names,
        **_simulated(spec, gpu, count, machine, within, state, quantiles),
        largest_rate_per_s=most,
        steady_per_token_s=state.iteration_s,
    )


def _costs_at_most(
    spec: Spec, gpu: GPU, count: int, machine: Machine, within: Rules
) -> dict[str, Any]:
    """The costs of a candidate whose cards always work, for a row that is not simulated."""
    prompt = lengths(spec)[1]
    busiest = mean_power(gpu, machine.busy_w(float(within.max_requests), prompt, 0.0), 1.0)
    bill_of = bill(gpu, count, busiest.watts, spec.prices)
    return {"usd_per_h": bill_of.usd_per_h, "price_source": bill_of.source}


def _without_memory(spec: Spec, gpu: GPU, machine: Machine) -> dict[str, Any]:
    """The figures of a row whose memory does not hold one request."""
    _, prompt, output = lengths(spec)
    room = gpu.memory_bytes * spec.workload.memory_share
    need = machine.weight_bytes + machine.activation_bytes
    need += (prompt + output) * machine.cache_bytes_per_token
    return {
        "status": "no memory",
        "binds": "capacity",
        "memory_share": need / gpu.memory_bytes,
        "reason": f"one request needs {need / 2**30:.1f} GiB of {room / 2**30:.1f} GiB",
    }


def _overloaded(
    spec: Spec, machine: Machine, state: Steady, most: float, servers: int
) -> dict[str, Any] | None:
    """The figures of a row that cannot carry the load; None if it can."""
    if not state.binds:
        return None
    what = {
        "cache": "its cache is full",
        "sequences": "all sequence slots are taken",
        "tokens": "iterations cannot hold more tokens",
        "prefill cache": "the cache of its prefill servers is full",
        "prefill tokens": "its prefill servers cannot read more tokens",
        "link": "the link between its servers is full",
    }[state.binds]
    rate = lengths(spec)[0]
    needed = ceil(rate / most * servers / machine.queues) * machine.gpus if most else 0
    return {
        "status": "overloaded",
        "binds": "capacity",
        "largest_rate_per_s": most,
        "utilisation": 1.0,
        "reason": f"carries {amount(most)} of {amount(rate)} requests/s ({what}); {needed} GPUs "
        "would",
    }


def _slow(spec: Spec, machine: Machine, state: Steady, most: float) -> dict[str, Any] | None:
    """The figures of a row whose mean iteration is far above the limit; None if it is not."""
    limit = spec.limits.per_token_s
    low = factor(machine.step, ENDS[0], state.batch)
    if limit is None or state.iteration_s * low <= 1.5 * limit:
        return None
    return {
        "status": "too slow",
        "binds": "memory",
        "largest_rate_per_s": most,
        "per_token_s": state.iteration_s,
        "steady_per_token_s": state.iteration_s,
        "reason": f"{above('a mean iteration', state.iteration_s, limit)}, so it was not simulated",
    }


def _simulated(
    spec: Spec,
    gpu: GPU,
    count: int,
    machine: Machine,
    within: Rules,
    state: Steady,
    quantiles: tuple[float, float, float],
) -> dict[str, Any]:
    """The figures of a row that is simulated at three quantiles of its step's interval."""
    rate, prompt, output = lengths(spec)
    servers = count // machine.gpus * machine.queues
    load = requests(spec, spec.requests, servers)
    tried = {
        q: simulate(spec, load, machine.step.scaled(factor(machine.step, q, state.batch)), within)
        for q in dict.fromkeys(quantiles)
    }
    near, middle, far = (tried[q] for q in quantiles)
    chances = [figures.within(spec) for figures in (near, middle, far)]
    utilisation = min(middle.served.busy_s / max(middle.served.end_s, 1e-12), 1.0)
    batch = float(np.average(middle.served.decoded)) if middle.served.decoded.size else 0.0
    drawn = mean_power(gpu, machine.busy_w(batch, prompt, state.prompt_share), utilisation)
    paid = bill(gpu, count, drawn.watts, spec.prices)
    status, reason = _verdict(spec, (near, middle, far), chances, paid.usd_per_h)
    per_hour = rate * output * 3600
    tokens_per_s = rate * output
    ends = [
        _largest(machine, within, prompt, output, factor(machine.step, q, state.batch)) * servers
        for q in (quantiles[2], quantiles[0])
    ]
    return {
        "status": status,
        "reason": reason,
        "usd_per_h": paid.usd_per_h,
        "price_source": paid.source,
        "gpu_hours": float(count),
        "usd_per_million": None if paid.usd_per_h is None else paid.usd_per_h / per_hour * 1e6,
        "first_token_s": middle.first_s,
        "first_token_interval_s": (near.first_s, far.first_s),
        "per_token_s": middle.token_s,
        "per_token_interval_s": (near.token_s, far.token_s),
        "latency_s": middle.latency_s,
        "latency_interval_s": (near.latency_s, far.latency_s),
        "batch": batch,
        "per_s": rate,
        "utilisation": utilisation,
        "largest_rate_interval_per_s": (ends[0], ends[1]),
        "waiting": middle.served.waiting,
        "preempted": middle.served.preempted,
        "memory_share": _memory_share(gpu, machine, middle.served),
        "watts": paid.watts,
        "power_source": drawn.source,
        "joules_per_unit": None if paid.watts is None else paid.watts / tokens_per_s,
        "co2_g_per_h": paid.co2_g_per_h,
        "binds": _binding(spec, machine, state, middle),
        "chance": chance_of(chances),
    }


def _verdict(
    spec: Spec, ends: tuple[Figures, Figures, Figures], holds: list[bool], usd_per_h: float | None
) -> tuple[str, str]:
    """The status of a simulated row and the reason, from whether the limits hold at each end and
    in the middle of the step's interval."""
    _, middle, slow = ends
    status = "fits" if all(holds) else "uncertain" if any(holds) else "too slow"
    reason = "" if holds[1] else missed(spec, middle)
    if status == "uncertain" and not reason:
        reason = f"{_SLOW_END} {missed(spec, slow)}"
    budget = spec.limits.cost_usd_per_h
    if budget is not None and usd_per_h is not None and usd_per_h > budget:
        money = spec.prices.currency.text
        return "too expensive", f"costs {money(usd_per_h)} an hour, above {money(budget)}"
    unchecked = unpriced_limit(spec.prices, budget, usd_per_h)
    return ("uncertain", unchecked) if unchecked and status == "fits" else (status, reason)


def _binding(spec: Spec, machine: Machine, state: Steady, middle: Figures) -> str:
    """The resource that takes the largest share of a step, or "queueing" if only the first token is
    late."""
    first, per_token = spec.limits.first_token_s, spec.limits.per_token_s
    if first is not None and middle.first_s > first and middle.token_s <= (per_token or inf):
        return "queueing"
    shares = machine.shares_beside(state.prompt_share)
    return max(shares, key=lambda n: shares[n])


def _largest(machine: Machine, within: Rules, prompt: float, output: float, times: float) -> float:
    """The largest rate of one replica, in requests per second, if its steps take `times` times
    their predicted duration."""
    key = within, prompt, output, times
    if key not in machine.largest:
        machine.largest[key] = largest_rate(machine.step.scaled(times), within, prompt, output)
    return machine.largest[key]


def chance_of(holds: list[bool]) -> float:
    """The chance that all limits hold, from whether they hold at each of the three quantiles of the
    step's interval: 0.9 if they hold at all three, 0.5 if they hold at the middle one, 0.1 if they
    hold at another one only, else 0."""
    return 0.9 if all(holds) else 0.5 if holds[1] else 0.1 if any(holds) else 0.0


def refined(spec: Spec, row: Row, gpu: GPU, machine: Machine, draws: int = 15) -> Row:
    """A row with intervals and chance from more draws of the step's interval, each with its own
    load, and with the bootstrap's 80% confidence interval of the simulated percentile."""
    within = rules(spec, machine, gpu)
    figures: list[Figures] = []
    for draw in range(draws):
        step = machine.step.scaled(factor(machine.step, (draw + 0.5) / draws, row.batch or 1.0))
        own = replace(spec, seed=spec.seed + 1 + draw, requests=min(spec.requests, _DRAWN))
        figures.append(simulate(own, requests(own, own.requests, row.servers), step, within))
    chance = sum(f.within(spec) for f in figures) / draws

    def ends(values: list[float]) -> Span:
        low, high = np.quantile(values, (0.1, 0.9), method="nearest")
        return float(low), float(high)

    load = requests(spec, spec.requests, row.servers)
    first = served(load, machine.step, within).first_s[int(len(load) * WARM_UP) :]
    random = np.random.default_rng(spec.seed)
    picks = first[random.integers(first.size, size=(100, first.size))]
    spread = np.quantile(np.quantile(picks, spec.limits.percentile / 100, axis=1), (0.1, 0.9))
    sure = row.status
    unchecked = unpriced_limit(spec.prices, spec.limits.cost_usd_per_h, row.usd_per_h)
    if sure in ("fits", "uncertain") and not unchecked:
        sure = "fits" if chance >= 0.9 else "uncertain"
    first_s = ends([f.first_s for f in figures])
    token_s = ends([f.token_s for f in figures])
    latency_s = ends([f.latency_s for f in figures])
    slow = Figures(first_s[1], token_s[1], latency_s[1], figures[-1].served)
    reason = row.reason
    if not reason or reason.startswith(_SLOW_END):
        late = missed(spec, slow)
        reason = f"{_SLOW_END} {late}" if late else f"meets every limit with {chance:.0%} chance"
    return replace(
        row,
        status=sure,
        chance=chance,
        first_token_interval_s=first_s,
        per_token_interval_s=token_s,
        latency_interval_s=latency_s,
        confidence_s=(float(spread[0]), float(spread[1])),
        reason="" if sure == "fits" else reason,
    )


def _memory_share(gpu: GPU, machine: Machine, served: Served) -> float:
    used = machine.weight_bytes + machine.activation_bytes
    return (used + served.cached_tokens * machine.cache_bytes_per_token) / gpu.memory_bytes
