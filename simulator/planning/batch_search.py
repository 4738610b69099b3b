"""Candidates for fixed batches: inference at a rate, and training to the last token."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import ceil
from typing import Any

from simulator.analysis.sweep import sweep_of
from simulator.errors import InputError
from simulator.hardware.gpu import GPU
from simulator.planning.money import Bill, bill
from simulator.planning.power import mean_power
from simulator.planning.result import Row
from simulator.planning.serve_search import Progress, SearchResult, SoFar, listed
from simulator.planning.spec import Spec
from simulator.planning.tables import asked
from simulator.planning.traced_step import trace_at
from simulator.planning.wording import above, amount, duration, usd
from simulator.scenario.resolve import resolve
from simulator.scenario.scenario import Scenario
from simulator.whatif import apply

_MODES = {"eager": "eager", "compiled+graph": "reduce-overhead", "vllm": "reduce-overhead"}
_BATCHES = (1, 8, 32, 128, 512)

Communication = Callable[[GPU, int, float], float | None]
"""Seconds a step that replicas wait for each other: of a GPU, a count and bytes of gradients; None
where it is not known. The place of a model of several GPUs."""


def ring(gpu: GPU, count: int, gradient_bytes: float) -> float | None:
    """A ring's bound without overlap: 2·(n−1)/n of the gradients over one direction of the link."""
    if count == 1:
        return 0.0
    if gpu.interconnect_bytes_per_s is None:
        return None
    return 2 * (count - 1) / count * gradient_bytes / (gpu.interconnect_bytes_per_s / 2)


def search(
    spec: Spec,
    progress: Progress,
    so_far: SoFar = lambda rows: None,
    communication: Communication = ring,
) -> SearchResult:
    """Every candidate: predicted steps at each batch, replicas by count. `so_far` is called with
    the rows after each GPU."""
    found = SearchResult([], {}, {})
    cards = listed(spec.candidates)
    for done, card in enumerate(cards):
        progress(f"planning {card.name}, {done} of {len(cards)} GPUs done")
        engines = dict.fromkeys(
            "compiled+graph" if e == "vllm" else e for e in spec.candidates.engines_of(card.id)
        )
        for precision in spec.candidates.precisions_of(card.id):
            for engine in engines:
                name = f"{card.name}, {engine}, {precision}"
                try:
                    found.rows += _rows(spec, card, engine, precision, communication)
                except InputError as error:
                    found.pruned[name] = str(error)
        so_far(found.rows)
    if not found.rows and found.pruned:
        name, reason = next(iter(found.pruned.items()))
        raise InputError(f"no candidate can be predicted; {name}: {reason}")
    return found


def batch_scenario(spec: Spec, card: GPU, engine: str, precision: str) -> Scenario:
    """The scenario of a step, without its batch."""
    work = spec.workload
    training = work.kind == "training"
    base = asked(work.network, card, precision, _MODES[engine])
    base = replace(
        base, seq=work.seq, training=training, optimizer=work.optimizer if training else None
    )
    return apply(base, "recompute", {}) if training and work.recompute else base


def _rows(
    spec: Spec,
    card: GPU,
    engine: str,
    precision: str,
    communication: Communication,
) -> list[Row]:
    work = spec.workload
    training = work.kind == "training"
    base = batch_scenario(spec, card, engine, precision)
    batches = (work.batch,) if work.batch else _BATCHES
    scenarios = [replace(base, batch=batch) for batch in batches]
    swept = sweep_of(scenarios)
    if len(swept.refused) == len(scenarios):
        raise InputError(next(iter(swept.refused.values())))
    places = [i for i in range(len(scenarios)) if i not in swept.refused]
    fits = [i for i in places if swept.columns["fits"][i]]
    common: dict[str, Any] = {
        "gpu": card.id,
        "name": card.name,
        "engine": engine,
        "precision": precision,
    }
    if not fits:
        need = float(swept.columns["memory_bytes"][places[0]])
        return [
            Row(
                **common,
                count=1,
                status="no memory",
                binds="capacity",
                reason=f"batch {batches[places[0]]} needs {need / 2**30:.1f} of "
                f"{card.memory_bytes / 2**30:.1f} GiB",
            )
        ]
    latency = spec.limits.latency_s
    ok = [i for i in fits if latency is None or swept.columns["latency_s"][i] <= latency]
    best = max(ok or fits[:1], key=lambda i: swept.columns["samples_per_s"][i])
    c = {name: float(column[best]) for name, column in swept.columns.items()}
    binds = swept.regime(best) or ""
    if training:
        weights, tokens = gradient_bytes(scenarios[best]), 1
        if work.tokens:
            tokens = sample_tokens(scenarios[best])
        return [
            _trained(
                spec,
                card,
                count,
                common,
                batches[best] or 0,
                c,
                binds,
                communication(card, count, weights),
                tokens,
            )
            for count in spec.candidates.counts_of(card.id)
        ]
    return _inferred(spec, card, common, batches[best] or 0, c, binds)


def gradient_bytes(scenario: Scenario) -> float:
    """Bytes of gradients, as many as of weights."""
    found = resolve(scenario)
    return float(trace_at(found, found.ask.batch, found.ask.seq).weight_bytes)


def sample_tokens(scenario: Scenario) -> int:
    """Tokens of a sample, at the network's own sequence where the scenario names none. Raises
    InputError if the network has no tokens."""
    found = resolve(scenario)
    trace = trace_at(found, found.ask.batch, found.ask.seq)
    if not trace.tokens:
        raise InputError(
            f"workload.tokens: {scenario.network} has no tokens: expected samples; give "
            "workload.samples"
        )
    return trace.tokens // trace.samples


def _inferred(
    spec: Spec, card: GPU, common: dict[str, Any], batch: int, c: dict[str, float], binds: str
) -> list[Row]:
    """One row: as many replicas as the rate asks for, on the steps' far end."""
    limits = spec.limits
    low, high = c["low_s"] / c["period_s"], c["high_s"] / c["period_s"]
    rate = spec.rate_per_s or c["samples_per_s"]
    needed = ceil(rate / (c["samples_per_s"] / high) - 1e-9) if spec.rate_per_s else 1
    choices = spec.candidates.counts_of(card.id)
    counts = [n for n in choices if n >= needed]
    count = counts[0] if counts else max(choices)
    carried = c["samples_per_s"] * count
    utilisation = min(rate / carried, 1.0)
    drawn = mean_power(card, c["joules"] / c["period_s"], utilisation)
    paid = bill(card, count, drawn.watts, spec.prices)
    ends = c["latency_s"] * low, c["latency_s"] * high
    status, reason = "fits", ""
    if limits.latency_s is not None and c["latency_s"] > limits.latency_s:
        status, reason = "too slow", above("latency", c["latency_s"], limits.latency_s)
    elif limits.latency_s is not None and ends[1] > limits.latency_s:
        status, reason = (
            "uncertain",
            f"at the interval's far end {above('latency', ends[1], limits.latency_s)}",
        )
    if not counts:
        status = "overloaded"
        reason = f"carries {amount(carried)} of {amount(rate)} samples/s; {needed} GPUs would"
    status, reason = _dear(spec, paid, status, reason)
    served = min(rate, carried)
    million = None if paid.usd_per_h is None else paid.usd_per_h / (served * 3600) * 1e6
    joules = None if paid.watts is None else paid.watts / served
    return [
        Row(
            **common,
            count=count,
            status=status,
            reason=reason,
            usd_per_h=paid.usd_per_h,
            price_source=paid.source,
            usd_per_million=million,
            gpu_hours=float(count),
            latency_s=c["latency_s"],
            latency_interval_s=ends,
            batch=float(batch),
            per_s=served,
            utilisation=utilisation,
            largest_rate_per_s=carried,
            largest_rate_interval_per_s=(carried / high, carried / low),
            memory_share=c["memory_bytes"] / card.memory_bytes,
            watts=paid.watts,
            power_source=drawn.source,
            joules_per_unit=joules,
            co2_g_per_h=paid.co2_g_per_h,
            binds=binds,
        )
    ]


def _trained(
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
    """A whole run: steps, the wait for replicas, checkpoints, failures. `per_sample` are tokens of
    a sample where tokens are counted, else 1."""
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
            reason="failures come sooner than restarts are done",
        )
    whole = steps * step / (1 - lost)
    low, high = c["low_s"] / c["period_s"], c["high_s"] / c["period_s"]
    share = waits_s / step
    ends = whole * (low * (1 - share) + share), whole * (high * (1 - share) + share)
    drawn = mean_power(card, c["joules"] / c["period_s"], 1 - share)
    paid = bill(card, count, drawn.watts, spec.prices)
    total = None if paid.usd_per_h is None else paid.usd_per_h * whole / 3600
    status, reason = "fits", ""
    deadline = limits.deadline_s
    if deadline is not None and whole > deadline:
        status, reason = "too slow", f"takes {duration(whole)}, above {duration(deadline)}"
    elif deadline is not None and ends[1] > deadline:
        status, reason = (
            "uncertain",
            f"at the interval's far end takes {duration(ends[1])}, above {duration(deadline)}",
        )
    if limits.budget_usd is not None and total is not None and total > limits.budget_usd:
        status, reason = "too dear", f"costs {usd(total)}, above {usd(limits.budget_usd)}"
    status, reason = _dear(spec, paid, status, reason)
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
    """The share of a run that checkpoints and failures take: C/τ + (τ/2 + R)·n/M, of checkpoints
    of C seconds every τ, restarts of R, and GPUs that fail every M (Daly 2006, first order)."""
    work = spec.workload
    every = work.checkpoint_every_s
    written = work.checkpoint_s / every if every else 0.0
    if not work.failures_every_s:
        return written
    between = work.failures_every_s / count
    return written + (every / 2 + work.restart_s) / between


def _dear(spec: Spec, paid: Bill, status: Any, reason: str) -> tuple[Any, str]:
    budget = spec.limits.cost_usd_per_h
    if budget is None or paid.usd_per_h is None or paid.usd_per_h <= budget:
        return status, reason
    return "too dear", f"costs {usd(paid.usd_per_h)} an hour, above {usd(budget)}"
