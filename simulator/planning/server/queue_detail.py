"""The queue of one candidate in detail: a replica under its share of the load."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simulator.hardware.gpu import gpu
from simulator.planning.result import Row
from simulator.planning.server.disaggregated import served as serve
from simulator.planning.server.replica import WARM_UP, gaps, lengths, rules
from simulator.planning.server.requests import requests
from simulator.planning.spec import Spec
from simulator.planning.step.tables import machine

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class QueueDetail:
    """One replica of a candidate, as simulated at the middle of the step's interval, without the
    warm-up. `token_s` holds the times of iterations, `tokens` the number of sequences that each of
    them advanced, and `first_s` the time to the first token of each request. `prompt_s` is the time
    of one prompt alone, in pieces of at most `budget` tokens; `prompt_share` is the share of the
    time in which prompts are read, rate · prompt_s, at most 1. `decode_s` is the time of a mean
    iteration of decodes, of which the host takes `host_s`. `slots` is the number of sequences
    that can decode at once, and `batch` is the mean number that do."""

    rate_per_s: float
    replicas: int
    token_s: Floats
    tokens: Floats
    first_s: Floats
    prompt_tokens: float
    output_tokens: float
    prompt_s: float
    decode_s: float
    host_s: float
    prompt_share: float
    utilisation: float
    batch: float
    slots: int
    waiting: float
    cached_tokens: float
    cache_tokens: int
    budget: int
    preempted: int


def queue_of(spec: Spec, row: Row) -> QueueDetail:
    """Simulate the queue of a candidate of a serving spec again. Raises InputError if it cannot
    serve."""
    card = gpu(row.gpu)
    one = machine(spec.workload, card, row.precision, row.engine, row.split)
    one = replace(one, pools=row.pools)
    within = rules(spec, one, card)
    rate, prompt, output = lengths(spec)
    own = rate / row.servers
    load = requests(spec, spec.requests, row.servers)
    served = serve(load, one.step, within)
    first = served.first_s[int(len(load) * WARM_UP) :]
    token_s, tokens = gaps(served)
    prefill, decode = row.pools or (1, 1)
    batch = float(np.mean(served.decoded)) if served.decoded.size else 0.0
    fresh = max(round(prompt * (1 - within.prefix_hit)), 1)
    prompt_s = one.step.mixed(fresh, float(prompt**2 - (prompt - fresh) ** 2), 0, 0.0)
    return QueueDetail(
        own,
        row.servers,
        token_s,
        tokens,
        first[np.isfinite(first)],
        prompt,
        output,
        prompt_s,
        one.step.decode(max(round(batch), 1), batch * (prompt + output / 2)),
        one.step.host_of(max(round(batch), 1)),
        min(own / prefill * prompt_s, 1.0),
        min(served.busy_s / max(served.end_s, 1e-12), 1.0),
        batch,
        within.max_requests * decode,
        served.waiting,
        served.cached_tokens,
        within.cache_tokens,
        within.token_budget,
        served.preempted,
    )
