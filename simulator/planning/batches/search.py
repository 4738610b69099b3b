"""Candidates for fixed batches: inference at a rate, and whole training runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.analysis.sweep import sweep_of
from simulator.errors import InputError
from simulator.hardware.gpu import GPU, gpu
from simulator.networks.catalogue import LORA_MODULES, LORA_RANK
from simulator.planning.batches.rows import inferred, trained
from simulator.planning.batches.served import BatchTable, served
from simulator.planning.batches.sharded import machines, shardable, sharded
from simulator.planning.batches.split import split
from simulator.planning.money import bill
from simulator.planning.result import Row
from simulator.planning.serve_search import Progress, SearchResult, SoFar, listed
from simulator.planning.spec import NETWORK_BYTES_PER_S, NODE_GPUS, SERVERS, Spec, adapted
from simulator.planning.step.scenarios import base_scenario, run_precision
from simulator.planning.step.traced_step import trace_at
from simulator.scenario.resolve import resolve
from simulator.scenario.scenario import Scenario
from simulator.whatif import apply

_MODES = {"eager": "eager"} | dict.fromkeys(("compiled+graph", *SERVERS), "reduce-overhead")
_BATCHES = (1, 8, 32, 128, 512)
_QUEUED = (1, 2, 8, 32, 128, 512)
"""The batches to predict if samples arrive one by one; batches in between are interpolated."""


def ring(
    gpu: GPU, count: int, gradient_bytes: float, network_bytes_per_s: float = NETWORK_BYTES_PER_S
) -> float | None:
    """The seconds per step in which replicas wait for each other: a ring's bound without overlap,
    2·(n−1)/n of the gradients over one direction of the link. Between nodes, rings share the
    networks of all GPUs of a node. None if the link is unknown."""
    if count == 1:
        return 0.0
    if gpu.interconnect_bytes_per_s is None:
        return None
    speed = gpu.interconnect_bytes_per_s / 2
    if count > NODE_GPUS:
        speed = min(speed, NODE_GPUS * network_bytes_per_s)
    return 2 * (count - 1) / count * gradient_bytes / speed


def search(
    spec: Spec,
    progress: Progress,
    so_far: SoFar = lambda rows: None,
) -> SearchResult:
    """Predict each candidate at each batch and count of replicas. `so_far` is called with the rows
    after each GPU."""
    result = SearchResult([], {}, {})
    cards = listed(spec.candidates)
    for done, card in enumerate(cards):
        progress(f"planning {card.name}, {done} of {len(cards)} GPUs done")
        engines = dict.fromkeys(
            "compiled+graph" if e in SERVERS else e for e in spec.candidates.engines_of(card.id)
        )
        tried = spec.candidates.precisions_of(card.id)
        for precision in dict.fromkeys(run_precision(card, p) for p in tried):
            for engine in engines:
                name = f"{card.name}, {engine}, {precision}"
                try:
                    if "replicas" in spec.candidates.parallel:
                        result.rows += _rows(spec, card, engine, precision)
                    if set(spec.candidates.parallel) - {"replicas"}:
                        _add_joint(spec, card, engine, precision, result, progress)
                except InputError as error:
                    result.pruned[name] = str(error)
        so_far(result.rows)
    if not result.rows and result.pruned:
        name, reason = next(iter(result.pruned.items()))
        raise InputError(f"no candidate can be predicted; {name}: {reason}")
    return result


def batch_scenario(spec: Spec, card: GPU, engine: str, precision: str) -> Scenario:
    """The scenario of a step, without its batch."""
    work = spec.workload
    training = work.kind == "training"
    base = base_scenario(work.network, card, precision, _MODES[engine], work.host)
    base = replace(
        base, seq=work.seq, training=training, optimizer=work.optimizer if training else None
    )
    if work.lora_rank is not None:
        adapters = {LORA_RANK: work.lora_rank, LORA_MODULES: "+".join(adapted(work))}
        base = replace(base, sizes={**base.sizes, **adapters})
    return apply(base, "recompute", {}) if training and work.recompute else base


def _rows(
    spec: Spec,
    card: GPU,
    engine: str,
    precision: str,
) -> list[Row]:
    work = spec.workload
    training = work.kind == "training"
    base = batch_scenario(spec, card, engine, precision)
    queued = spec.rate_per_s is not None and not training
    batches = _batches_of(work.batch, queued)
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
    least = -1 if work.batch else 0
    if not fits or (work.batch and fits[-1] != places[-1]):
        need = float(swept.columns["memory_bytes"][places[least]])
        shards = training and spec.candidates.parallel == ("replicas",)
        alone = bill(card, 1, None, spec.prices)
        hint = '; candidates.parallel = ["fsdp", "tensor", "pipeline"] shards or splits it'
        return [
            Row(
                **common,
                count=1,
                status="no memory",
                binds="capacity",
                memory_share=need / card.memory_bytes,
                usd_per_h=alone.usd_per_h,
                price_source=alone.source,
                reason=f"batch {batches[places[least]]} needs {need / 2**30:.1f} of "
                f"{card.memory_bytes / 2**30:.1f} GiB"
                f"{hint if shards and not shardable(engine, precision) else ''}",
            )
        ]
    best = fits[-1] if work.batch else chosen_batch(swept.columns, fits, spec.limits.latency_s)
    c = {name: float(column[best]) for name, column in swept.columns.items()}
    binds = swept.regime(best) or ""
    if training:
        weights, tokens = gradient_bytes(scenarios[best]), 1
        if work.tokens:
            tokens = sample_tokens(scenarios[best])
        return [
            trained(
                spec,
                card,
                count,
                common,
                batches[best] or 0,
                c,
                binds,
                ring(card, count, weights, spec.candidates.network_bytes_per_s),
                tokens,
            )
            for count in spec.candidates.counts_of(card.id)
        ]
    if queued:
        most = batches[best] if work.batch or work.batch_window_s else None
        known = fits if most is None else fits[: fits.index(best) + 1]
        regimes = [swept.regime(place) or "" for place in known]
        return served(spec, card, common, _table(swept.columns, batches, known), most, regimes)
    return [inferred(spec, card, common, batches[best] or 0, c, binds)]


def _add_joint(
    spec: Spec, card: GPU, engine: str, precision: str, result: SearchResult, progress: Progress
) -> None:
    """Add the rows of training sharded or split over each number of GPUs of a card."""
    name = f"{card.name}, sharded or split, {engine}, {precision}"
    if reason := shardable(engine, precision):
        result.pruned[name] = reason
        return
    names: dict[str, Any] = {
        "gpu": card.id,
        "name": card.name,
        "engine": engine,
        "precision": precision,
    }
    batch = spec.workload.batch or 1
    one = replace(batch_scenario(spec, card, engine, precision), batch=batch)
    tokens = sample_tokens(one) if spec.workload.tokens else 1
    weights = gradient_bytes(one)
    for count in spec.candidates.counts_of(card.id):
        try:
            group = machines(card, count, spec.candidates.network_bytes_per_s)
            if "fsdp" in spec.candidates.parallel:
                progress(f"sharding over {count} × {card.name}")
                result.rows.append(sharded(spec, group, names, batch, tokens))
            if set(spec.candidates.parallel) & {"tensor", "pipeline"}:
                rows, pruned = split(spec, group, names, batch, tokens, weights, progress)
                result.rows += rows
                result.pruned |= pruned
        except InputError as error:
            result.pruned[f"{count} × {name}"] = str(error)


def batch_table(spec: Spec, row: Row, most: int) -> BatchTable | None:
    """The steps of a row's card up to the batch `most`; None if that batch does not fit."""
    base = batch_scenario(spec, gpu(row.gpu), row.engine, row.precision)
    batches = _batches_of(most, queued=True)
    swept = sweep_of([replace(base, batch=batch) for batch in batches])
    fits = [i for i in range(len(batches)) if i not in swept.refused and swept.columns["fits"][i]]
    last = len(batches) - 1
    return _table(swept.columns, batches, fits) if last in fits else None


def _batches_of(batch: int | None, queued: bool) -> tuple[int, ...]:
    """The batches to predict: that of the spec, or all batches among which the planner chooses. If
    samples are batched as they arrive, batches smaller than the spec's occur too."""
    if not queued:
        return (batch,) if batch else _BATCHES
    return (*(b for b in _QUEUED if b < batch), batch) if batch else _QUEUED


def _table(
    columns: Mapping[str, NDArray[np.float64]], batches: Sequence[int], places: Sequence[int]
) -> BatchTable:
    known = {name: column[list(places)] for name, column in columns.items()}
    return BatchTable(np.array([batches[i] for i in places], float), known)


def chosen_batch(
    columns: Mapping[str, NDArray[np.float64]], fits: Sequence[int], limit_s: float | None
) -> int:
    """The index of the batch with the most samples per second among those whose latency meets the
    limit at the slow end of its interval. Falls back to those whose predicted latency meets the
    limit, then to the smallest batch."""
    latency_s = columns["latency_s"]
    slow_s = latency_s * columns["high_s"] / columns["period_s"]
    for values in (slow_s, latency_s):
        within = [i for i in fits if limit_s is None or values[i] <= limit_s]
        if within:
            return max(within, key=lambda i: columns["samples_per_s"][i])
    return fits[0]


def gradient_bytes(scenario: Scenario) -> float:
    """Bytes of gradients: those of the weights, or of the adapters if only they are trained."""
    resolved = resolve(scenario)
    trace = trace_at(resolved, resolved.request.batch, resolved.request.seq)
    if LORA_RANK not in scenario.sizes:
        return float(trace.weight_bytes)
    return float(sum(s.nbytes for s in trace.storages if s.role == "gradient"))


def sample_tokens(scenario: Scenario) -> int:
    """Tokens of a sample; the sequence is the network's default if the scenario gives no length.
    Raises InputError if the network has no tokens."""
    resolved = resolve(scenario)
    trace = trace_at(resolved, resolved.request.batch, resolved.request.seq)
    if not trace.tokens:
        raise InputError(
            f"workload.tokens: {scenario.network} has no tokens: expected samples; give "
            "workload.samples"
        )
    return trace.tokens // trace.samples
