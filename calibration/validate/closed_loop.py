"""A simulated server whose clients each send a request when the previous one is answered."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from simulator.planning.server.requests import Requests
from simulator.planning.server.scheduler import Rules, serve
from simulator.planning.step.step_time import StepTime


@dataclass(frozen=True)
class ClosedLoop:
    """Mean seconds from sending to the first token, and of each later token; answer tokens per
    second."""

    first_token_s: float
    per_token_s: float
    tokens_per_s: float


def closed_loop(
    step: StepTime, rules: Rules, clients: int, prompt: int, output: int, least: float = 1.0
) -> ClosedLoop:
    """Simulate four requests of each client, but at least 20 in all. Lengths are uniform between
    `least` times the given lengths and the given lengths.

    Each client sends a request when its previous one ends; all clients send their first request at
    the start, so requests are sent in the order in which earlier ones end.
    """
    count = max(4 * clients, 20)
    draw = np.random.default_rng(0)
    prompts, outputs = (
        draw.integers(max(int(n * least), 1), n + 1, count) for n in (prompt, output)
    )
    load = Requests(np.zeros(count), prompts, outputs)
    served = serve(load, step, replace(rules, max_requests=min(clients, rules.max_requests)))
    ends = np.sort(served.last_s)
    sent_s = np.concatenate((np.zeros(min(clients, count)), ends))[:count]
    gaps = np.maximum(outputs - 1, 1)
    return ClosedLoop(
        float(np.mean(served.first_s - sent_s)),
        float(np.mean((served.last_s - served.first_s) / gaps)),
        float(outputs.sum() / served.end_s),
    )
