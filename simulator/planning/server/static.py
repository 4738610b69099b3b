"""A server with static batching: a batch runs to its end before the next one begins.

A free server takes the requests that wait, in order of arrival, up to its number of sequences and
its cache. Prompts are padded to the longest, and all sequences decode until the longest answer is
complete, as in `generate` of Hugging Face's transformers. The tokens of each request are streamed.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from simulator.planning.server.requests import Requests
from simulator.planning.server.scheduler import Floats, Longest, Rules, Served
from simulator.planning.step.step_time import StepTime

_QUANTILES = 1001


def longest(load: Requests) -> Longest:
    """The quantiles of the lengths of a load."""
    at = np.linspace(0, 1, _QUANTILES)
    prompt, output = (np.quantile(tokens, at).tolist() for tokens in (load.prompt, load.output))
    return Longest(tuple(prompt), tuple(output))


def batch_s(
    step: StepTime, rules: Rules, batch: int, prompt: float, output: float
) -> tuple[float, Floats]:
    """Seconds of the prompts of a batch, padded to `prompt` tokens, and of each decode [output − 1]
    until `output` tokens."""
    hit = int(prompt * rules.prefix_hit)
    fresh = max(round(prompt) - hit, 1)
    squares = batch * (prompt**2 - float(prompt - fresh) ** 2)
    prompts_s = step.mixed(batch * fresh, squares, 0, 0.0)
    decodes = range(max(round(output) - 1, 0))
    return prompts_s, np.array([step.decode(batch, batch * (prompt + n)) for n in decodes])


def serve_static(load: Requests, step: StepTime, rules: Rules) -> Served:
    """Simulate the whole load on one replica."""
    arrivals, prompts, outputs = (a.tolist() for a in (load.arrival_s, load.prompt, load.output))
    count, most = len(arrivals), min(rules.max_requests, len(step.decode_s) - 1)
    first, last = np.full(count, np.nan), np.full(count, np.nan)
    gaps: list[Floats] = []
    decoded: list[Floats] = []
    clock = busy = cached_area = waiting_area = 0.0
    coming = 0
    while coming < count:
        clock = max(clock, arrivals[coming])
        batch: list[int] = []
        prompt = output = 0
        while coming < count and len(batch) < most and arrivals[coming] <= clock:
            p, o = max(prompt, prompts[coming]), max(output, outputs[coming])
            if rules.in_blocks(p + o) * (len(batch) + 1) > rules.cache_tokens:
                if batch:
                    break
                coming += 1  # it never fits
                continue
            batch.append(coming)
            prompt, output = p, o
            coming += 1
        if not batch:
            continue
        size, own = len(batch), np.array(batch)
        prompts_s, decodes_s = batch_s(step, rules, size, prompt, output)
        ends = clock + prompts_s + np.concatenate([[0.0], np.cumsum(decodes_s)])
        first[own] = ends[0]
        last[own] = ends[load.output[own] - 1]
        alive = (load.output[own][:, None] - 1 > np.arange(decodes_s.size)).sum(0)
        gaps.append(decodes_s[alive > 0])
        decoded.append(alive[alive > 0].astype(float))
        took = float(ends[-1] - clock)
        arrived = cast("int", np.searchsorted(load.arrival_s, ends[-1], side="right"))
        waiting = int(arrived) - coming
        waiting_area += max(waiting, 0) / 2 * took
        cached_area += size * (prompt + output / 2) * took
        busy += took
        clock = float(ends[-1])
    arrival = load.arrival_s
    return Served(
        first - arrival,
        last - arrival,
        np.concatenate(gaps) if gaps else np.empty(0),
        np.concatenate(decoded) if decoded else np.empty(0),
        clock,
        busy,
        cached_area / max(busy, 1e-12),
        0,
        waiting_area / max(clock, 1e-12),
    )
