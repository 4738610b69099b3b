"""The assumptions of a plan of fixed batches, and the influence of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import nan

from simulator.analysis.sweep import sweep_of
from simulator.errors import RidgepointError
from simulator.hardware.gpu import gpu
from simulator.planning.batches.rows import lost_share
from simulator.planning.batches.search import (
    batch_scenario,
    batch_table,
    gradient_bytes,
    ring,
    sample_tokens,
)
from simulator.planning.batches.served import simulated
from simulator.planning.price_assumptions import of_eager_host, of_prices
from simulator.planning.result import Assumption, Row
from simulator.planning.spec import NETWORK_BYTES_PER_S, NODE_GPUS, Spec
from simulator.planning.wording import amount, duration, latency

_YOURS = "your spec"
Figure = Callable[[int, float, float], float]
"""The plan's figure at another batch, derived from the latency and the period of its step."""


def of_batches(spec: Spec, rows: Sequence[Row]) -> list[Assumption]:
    """The assumptions of the best row, each varied alone; the figure is the duration of a training
    run, else the latency of a batch, in seconds."""
    best = next((row for row in rows if row.latency_s is not None), None)
    if best is None:
        return []
    varied = list(
        _of_training(spec, best) if best.duration_s is not None else _of_batch(spec, best)
    )
    varied.sort(key=lambda a: -a.swing if a.swing == a.swing else 0.0)
    return [*varied, *_fixed(spec, best)]


def _of_batch(spec: Spec, row: Row) -> Iterator[Assumption]:
    assert row.latency_s is not None
    yield _step(row.latency_s, row.latency_interval_s)
    if row.largest_batch is None:
        yield from _batches(spec, row, lambda batch, latency_s, period_s: latency_s)
    elif row.per_s is not None:
        yield from _of_queue(spec, row, row.largest_batch, row.per_s)


def _of_queue(spec: Spec, row: Row, most: int, rate: float) -> Iterator[Assumption]:
    """The assumptions on the queue, simulated with other loads, largest batches and windows; NaN
    for an overloaded queue."""
    window_s = spec.workload.batch_window_s

    def at(rate: float = rate, most: int = most, window_s: float = window_s) -> float:
        table = batch_table(spec, row, most)
        if table is None:
            return nan
        server = table.server(most, window_s)
        if rate >= server.largest_rate_per_s * row.count:
            return nan
        load = simulated(replace(spec, rate_per_s=rate), row.count, server)
        return load.percentile_s(spec.limits.percentile)

    rates = 0.75 * rate, 1.25 * rate
    low, high = (amount(each) for each in rates)
    yield Assumption(
        "samples a second", amount(rate), _YOURS, low, high, at(rates[0]), at(rates[1])
    )
    halves = max(most // 2, 1), 2 * most
    source = "most samples a second at the lowest latency"
    if spec.workload.batch or window_s:
        own = bool(spec.workload.batch)
        source = _YOURS if own else "most samples a second within the limits"
    ends = [at(most=each) for each in halves]
    low, high = map(str, halves)
    yield Assumption("largest batch", f"{most}", source, low, high, *ends)
    fills_s = most * row.count / rate
    yield Assumption(
        "longest wait for a full batch",
        latency(window_s) if window_s else "none: a free GPU takes the waiting samples",
        _YOURS if window_s else "the default of Triton Inference Server",
        "none",
        f"{latency(fills_s)}, in which {most} arrive",
        at(window_s=0.0),
        at(window_s=fills_s),
    )


def _of_training(spec: Spec, row: Row) -> Iterator[Assumption]:
    """The assumptions of a training run. Its figures are proportional to the steps and to 1 / (1 −
    lost), so most ends are products."""
    whole, work = row.duration_s, spec.workload
    assert whole is not None and row.latency_s
    lost = lost_share(spec, row.count)
    waits_s = _waits_s(spec, row)

    def losing(share: float) -> float:
        return whole * (1 - lost) / (1 - share) if share < 1 else nan

    yield _step(whole, row.duration_interval_s)
    yield Assumption(
        "amount of training data",
        amount(work.tokens or work.samples or 0.0),
        _YOURS,
        "0.75×",
        "1.25×",
        0.75 * whole,
        1.25 * whole,
    )

    def at_batch(batch: int, latency_s: float, period_s: float) -> float:
        step_s = period_s * work.accumulation + waits_s
        before_s = row.latency_s or nan
        return whole * (row.batch or 1) / batch * step_s / before_s

    if not row.joint:
        yield from _batches(spec, row, at_batch)
    if waits_s:
        each = waits_s / row.latency_s * whole
        yield Assumption(
            "wait for other replicas",
            f"{waits_s / row.latency_s:.0%} of a step: a ring over the card's link, not overlapped",
            "2·(n−1)/n of the gradients: an upper bound",
            "all overlapped",
            "link half as fast",
            whole - each,
            whole + each,
        )
    if work.checkpoint_every_s:
        own = [
            lost_share(_of_work(spec, checkpoint_every_s=t * work.checkpoint_every_s), row.count)
            for t in (0.5, 2.0)
        ]
        yield Assumption(
            "time between checkpoints",
            duration(work.checkpoint_every_s),
            f"{_YOURS}; Daly, first order",
            "0.5×",
            "2×",
            *map(losing, own),
        )
    if work.failures_every_s:
        own = [
            lost_share(_of_work(spec, failures_every_s=t * work.failures_every_s), row.count)
            for t in (0.5, 2.0)
        ]
        yield Assumption(
            "time between failures of one GPU",
            duration(work.failures_every_s),
            f"{_YOURS}; Daly, first order",
            "0.5×",
            "2×",
            *map(losing, own),
        )


def _step(value: float, ends: tuple[float, float] | None) -> Assumption:
    low, high = ends or (value, value)
    return Assumption(
        "step time",
        "as predicted",
        "the 80% interval of the profile",
        f"× {low / value:.2f}",
        f"× {high / value:.2f}",
        low,
        high,
    )


def _batches(spec: Spec, row: Row, figure: Figure) -> Iterator[Assumption]:
    """The assumption on the batch, predicted at half and twice the batch; NaN at an end that does
    not fit."""
    batch = round(row.batch or 1)
    halves = [max(batch // 2, 1), 2 * batch]
    source = _YOURS if spec.workload.batch else "the fastest batch tried within the limits"
    ends = [_at_batch(spec, row, each, figure) for each in halves]
    low, high = (f"{each}" for each in halves)
    yield Assumption("batch per GPU", f"{batch}", source, low, high, *ends)


def _at_batch(spec: Spec, row: Row, batch: int, figure: Figure) -> float:
    base = batch_scenario(spec, gpu(row.gpu), row.engine, row.precision)
    try:
        swept = sweep_of([replace(base, batch=batch)])
    except RidgepointError:
        return nan
    if swept.refused or not swept.columns["fits"][0]:
        return nan
    c = swept.columns
    return figure(batch, float(c["latency_s"][0]), float(c["period_s"][0]))


def _waits_s(spec: Spec, row: Row) -> float:
    """Seconds per step that replicas wait for each other."""
    if row.count == 1 or row.joint:
        return 0.0
    card = gpu(row.gpu)
    base = batch_scenario(spec, card, row.engine, row.precision)
    scenario = replace(base, batch=round(row.batch or 1))
    return (
        ring(card, row.count, gradient_bytes(scenario), spec.candidates.network_bytes_per_s) or 0.0
    )


def _network(spec: Spec) -> Assumption:
    """The assumption on the network between nodes."""
    speed = spec.candidates.network_bytes_per_s
    source = _YOURS
    if speed == NETWORK_BYTES_PER_S:
        source = "a network card of 400 Gb/s each, as in a DGX H100"
    return Assumption(
        f"network per GPU, between nodes of {NODE_GPUS}", f"{speed / 1e9:g} GB/s", source
    )


def _of_work(spec: Spec, **values: float) -> Spec:
    return replace(spec, workload=replace(spec.workload, **values))


def _interrupted(spec: Spec) -> bool:
    """Whether checkpoints or failures take time."""
    return bool(spec.workload.checkpoint_every_s or spec.workload.failures_every_s)


def _fixed(spec: Spec, row: Row) -> Iterator[Assumption]:
    """The assumptions that are not varied, and what is not modelled."""
    if row.duration_s is None:
        if row.largest_batch is None:
            yield Assumption("arrivals", "batches are always full", "your spec gives no load.rate")
        else:
            how = "a Poisson process; each GPU gets its share at random"
            yield Assumption("arrivals", "samples arrive one by one", how)
    elif row.joint:
        how = "FSDP2; collectives overlap with kernels as torch issues them"
        if row.spread:
            how = "Megatron's tensor parallelism, 1F1B pipelines; the fastest of the splits tried"
        shown = row.spread or f"sharded over {row.count} GPUs"
        yield Assumption("weights, gradients, optimizer", shown, how)
        yield Assumption("batch per GPU", f"{row.batch:g}", _YOURS)
        if spec.workload.accumulation > 1:
            how = "each of them with its optimizer step: an upper bound"
            yield Assumption("accumulation", f"{spec.workload.accumulation} steps", how)
    elif row.count == 1:
        yield Assumption("replicas", "one GPU", "nothing to wait for")
    if spec.workload.tokens:
        own = _YOURS if spec.workload.seq else "the network's default"
        scenario = batch_scenario(spec, gpu(row.gpu), row.engine, row.precision)
        tokens = sample_tokens(replace(scenario, batch=int(row.batch or 1)))
        yield Assumption("tokens per sample", f"{tokens:,}", own)
    if row.duration_s is not None:
        yield Assumption(
            "checkpoints, failures",
            f"{1 - (row.utilisation or 1.0):.2%} of the run",
            "Daly, first order" if _interrupted(spec) else "your spec gives none",
        )
    if spec.workload.lora_rank is not None:
        yield Assumption("adapters", "in the dtype of the weights, no dropout", "LoRA's definition")
    yield from of_eager_host(spec, row)
    yield from of_prices(spec, row)
    if row.duration_s is not None and row.count > NODE_GPUS:
        yield _network(spec)
    left_out = "data loading"
    if row.duration_s is not None and not {"tensor", "pipeline"} & {*spec.candidates.parallel}:
        left_out += "; tensor and pipeline parallelism, unless candidates.parallel names them"
    yield Assumption("not modelled", left_out, "")
