"""One replica of a candidate: its rules, and the percentiles of its simulation."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from simulator.hardware.gpu import GPU
from simulator.planning.server.disaggregated import served
from simulator.planning.server.requests import Requests, requests
from simulator.planning.server.scheduler import Pools, Rules, Served, percentile
from simulator.planning.server.static import longest
from simulator.planning.spec import Spec
from simulator.planning.step.step_time import StepTime
from simulator.planning.step.tables import Machine
from simulator.planning.wording import above

Floats = NDArray[np.float64]

WARM_UP = 0.1  # share of the requests, at the beginning, that percentiles leave out
_DRAWN = 4000  # requests from which the lengths of static batches are taken
_TAIL = NormalDist().inv_cdf(0.9)


@dataclass(frozen=True)
class Figures:
    """Percentiles of one simulation, in seconds."""

    first_s: float
    token_s: float
    latency_s: float
    served: Served

    def within(self, spec: Spec) -> bool:
        """Whether all time limits are met."""
        limits = spec.limits
        pairs = (
            (self.first_s, limits.first_token_s),
            (self.token_s, limits.per_token_s),
            (self.latency_s, limits.latency_s),
        )
        return all(limit is None or value <= limit for value, limit in pairs)


def rules(spec: Spec, machine: Machine, gpu: GPU) -> Rules:
    """The limits of a server of this workload on this machine."""
    work = spec.workload
    pools = None
    if machine.pools is not None:
        pools = Pools(*machine.pools, machine.cache_bytes_per_token / work.kv_link_bytes_per_s)
    return Rules(
        work.token_budget,
        work.max_requests,
        machine.cache_tokens(gpu, work.memory_share),
        work.prefix_hit,
        work.admission == "reserve",
        pools,
        work.cache_block,
        longest(requests(spec, _DRAWN)) if work.batching == "static" else None,
    )


def lengths(spec: Spec) -> tuple[float, float, float]:
    """Requests per second, and the mean tokens of prompts and of answers."""
    work = spec.workload
    if work.requests_csv is not None or not (work.prompt and work.output):
        load = requests(spec, 0)
        return load.rate_per_s, float(load.prompt.mean()), float(load.output.mean())
    return spec.rate_per_s or 0.0, work.prompt.mean, work.output.mean


def simulate(spec: Spec, load: Requests, step: StepTime, within: Rules) -> Figures:
    """Percentiles of one replica, over requests and over the tokens of all sequences."""
    replica = served(load, step, within)
    skipped = int(len(load) * WARM_UP)
    first, last = replica.first_s[skipped:], replica.last_s[skipped:]
    percent = spec.limits.percentile
    never = bool(np.isnan(last).any())  # longer than the cache: it is never answered
    return Figures(
        inf if never else percentile(first, None, percent),
        percentile(*gaps(replica), percent) if len(load) else 0.0,
        inf if never else percentile(last, None, percent),
        replica,
    )


def missed(spec: Spec, figures: Figures) -> str:
    """The limit that fails, and by how much."""
    limits = spec.limits
    for name, value, limit in (
        ("time per token", figures.token_s, limits.per_token_s),
        ("time to first token", figures.first_s, limits.first_token_s),
        ("latency", figures.latency_s, limits.latency_s),
    ):
        if limit is not None and value > limit:
            return above(name, value, limit)
    return ""


def gaps(replica: Served) -> tuple[Floats, Floats]:
    """The gaps between tokens in seconds, without the warm-up, and the number of tokens with each
    gap."""
    dropped, skipped = (int(a.size * WARM_UP) for a in (replica.gap_s, replica.handover_s))
    handover = replica.handover_s[skipped:]
    handover = handover[np.isfinite(handover)]
    return (
        np.concatenate([replica.gap_s[dropped:], handover]),
        np.concatenate([replica.decoded[dropped:], np.ones_like(handover)]),
    )


def factor(step: StepTime, quantile: float, batch: float) -> float:
    """The duration of a step of `batch` decodes at a quantile, as a multiple of its prediction. The
    distribution is two halves of lognormals that meet at the prediction and have the ends of the
    80% interval."""
    z = NormalDist().inv_cdf(quantile)
    low, high = step.ends(batch)
    return float((high if z > 0 else low) ** (abs(z) / _TAIL))
