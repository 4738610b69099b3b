"""A server's queue drawn as a factory, and the waiting times of its customers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simulator.planning.server.queue_detail import QueueDetail
from simulator.planning.server.scheduler import percentile
from simulator.planning.spec import Spec

Floats = NDArray[np.float64]
_BINS = 36
_REACH = 1.25
"""The end of a histogram, as a multiple of its percentile or its limit."""


@dataclass(frozen=True)
class Histogram:
    """Shares by bin; `edges_s` has one more entry. `beyond` is the share past the last bin."""

    title: str
    unit: str
    edges_s: Floats
    shares: Floats
    beyond: float
    percent: float
    percentile_s: float
    limit_s: float | None
    within: float
    """The share that meets the limit; 1 if there is no limit."""
    of: str
    """The counted items, such as "4,000 simulated requests"."""


@dataclass(frozen=True)
class QueueScene:
    """The factory: waiting customers, the prefill machine, the decode line, the shelf of cache."""

    detail: QueueDetail
    token: Histogram
    first: Histogram


def queue_scene(spec: Spec, detail: QueueDetail) -> QueueScene:
    """The picture of a candidate's queue."""
    limits = spec.limits
    tokens = f"{detail.tokens.sum():,.0f} simulated tokens"
    token = _histogram(
        "Time per token",
        detail.token_s,
        detail.tokens,
        limits.percentile,
        limits.per_token_s,
        tokens,
    )
    every = np.ones(detail.first_s.size)
    count = f"{detail.first_s.size:,} simulated requests"
    first = _histogram(
        "First token", detail.first_s, every, limits.percentile, limits.first_token_s, count
    )
    return QueueScene(detail, token, first)


def _histogram(
    title: str, values_s: Floats, weights: Floats, percent: float, limit_s: float | None, of: str
) -> Histogram:
    whole = float(weights.sum())
    if not whole:
        edges = np.linspace(0.0, 1.0, _BINS + 1)
        return Histogram(title, "ms", edges, np.zeros(_BINS), 0.0, percent, 0.0, limit_s, 1.0, of)
    at = percentile(values_s, weights, percent)
    last = _REACH * at
    if limit_s is not None and limit_s < 3 * at:
        last = max(last, 1.12 * limit_s)
    edges = np.linspace(0.0, last, _BINS + 1)
    counts, _ = np.histogram(values_s, edges, weights=weights)
    within = 1.0 if limit_s is None else float(weights[values_s <= limit_s].sum()) / whole
    shares = counts / whole
    unit = "s" if last >= 10 else "ms"
    beyond = max(0.0, 1 - float(shares.sum()))
    return Histogram(title, unit, edges, shares, beyond, percent, at, limit_s, within, of)
