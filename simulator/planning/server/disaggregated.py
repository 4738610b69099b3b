"""Prefill and decode on separate servers (DistServe, Zhong et al. 2024; Splitwise, Patel et al.
2024).

A router draws a prefill server and a decode server for each request. The prefill server computes
the first token. Then it sends the cache of the prompt over its link, one request after the other:

    transfer = cache bytes of the prompt / bandwidth of the link

The decode server takes the request when the cache has arrived. It computes the first token's keys
and values with the second token, as vLLM's does, and then decodes like any other server.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from simulator.planning.server.requests import Requests
from simulator.planning.server.scheduler import Rules, Served, serve
from simulator.planning.server.static import serve_static
from simulator.planning.step.step_time import StepTime

Floats = NDArray[np.float64]
_ROUTER_SEED = 20_240


def served(load: Requests, step: StepTime, rules: Rules) -> Served:
    """Simulate the whole load on one replica: a server, or pools of prefill and decode servers."""
    if rules.static is not None:
        return serve_static(load, step, rules)
    return serve(load, step, rules) if rules.pools is None else _serve_apart(load, step, rules)


def decode_rules(rules: Rules) -> Rules:
    """The rules of a decode server, which receives the cache of all tokens but the newest."""
    return replace(rules, pools=None, prefix_hit=1.0)


def _serve_apart(load: Requests, step: StepTime, rules: Rules) -> Served:
    assert rules.pools is not None
    draw = np.random.default_rng(_ROUTER_SEED)
    count = len(load)
    read_by = draw.integers(rules.pools.prefill, size=count)
    decoded_by = draw.integers(rules.pools.decode, size=count)
    first, sent = np.full(count, np.nan), np.full(count, np.nan)
    busy = waiting = end = 0.0
    for server in range(rules.pools.prefill):
        own = np.flatnonzero(read_by == server)
        prompts = Requests(load.arrival_s[own], load.prompt[own], np.ones_like(own))
        reading = serve(prompts, step, replace(rules, pools=None))
        first[own] = reading.first_s
        ready = load.arrival_s[own] + reading.first_s
        takes_s = load.prompt[own].astype(np.float64) * rules.pools.transfer_s_per_token
        sent[own] = transferred(ready, takes_s)
        busy += reading.busy_s
        waiting += reading.waiting
        end = max(end, reading.end_s)
    last = first.copy()
    handover = np.full(count, np.nan)
    gaps: list[Floats] = []
    decodes: list[Floats] = []
    cached = preempted = 0.0
    for server in range(rules.pools.decode):
        own = np.flatnonzero((decoded_by == server) & (load.output > 1) & np.isfinite(sent))
        own = own[np.argsort(sent[own], kind="stable")]
        rest = Requests(sent[own], load.prompt[own] + 1, load.output[own] - 1)
        decoding = serve(rest, step, decode_rules(rules))
        begins = sent[own] - load.arrival_s[own]
        last[own] = begins + decoding.last_s
        handover[own] = begins + decoding.first_s - first[own]
        gaps.append(decoding.gap_s)
        decodes.append(decoding.decoded)
        busy += decoding.busy_s
        waiting += decoding.waiting
        cached += decoding.cached_tokens / rules.pools.decode
        preempted += decoding.preempted
        end = max(end, decoding.end_s)
    last[(load.output > 1) & ~np.isfinite(handover)] = np.nan  # the request never fits
    place = np.argsort(np.concatenate([np.linspace(0, 1, g.size) for g in gaps]), kind="stable")
    return Served(
        first,
        last,
        np.concatenate(gaps)[place],
        np.concatenate(decodes)[place],
        end,
        busy / rules.pools.servers,
        cached,
        int(preempted),
        waiting,
        handover,
    )


def transferred(ready_s: Floats, takes_s: Floats) -> Floats:
    """The end time of each transfer over one link, in order of arrival."""
    ends = np.full_like(ready_s, np.nan)
    free = 0.0
    for at in np.argsort(ready_s, kind="stable"):
        if np.isfinite(ready_s[at]):
            free = max(free, ready_s[at]) + takes_s[at]
            ends[at] = free
    return ends
