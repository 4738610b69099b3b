"""A server of one model, iteration by iteration, by the rules of vLLM's v1 scheduler.

Each iteration has a budget of tokens. Sequences that decode take one token each; the rest goes to
prompts: first to one that the last budget cut, then to waiting ones in order of arrival (chunked
prefill).
A sequence holds cache for its tokens. If the cache is full, the newest sequence frees its cache and
is prefilled again ("preempt"); or a request enters only if its whole length fits ("reserve").
Between two events all decodes advance by one token per iteration, so that simulating an iteration
costs the same for any number of decodes.
"""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass, field
from math import inf
from typing import cast

import numpy as np
from numpy.typing import NDArray

from simulator.caches.cancelling import check_cancelled
from simulator.planning.server.requests import Requests
from simulator.planning.step.step_time import StepTime

Floats = NDArray[np.float64]

_CHECKED = 256
"""Number of passes of the simulation, each one iteration or more, between two checks."""


@dataclass(frozen=True)
class Pools:
    """The numbers of prefill and decode servers, and the seconds in which a prefill server sends
    the cache of one token to a decode server."""

    prefill: int
    decode: int
    transfer_s_per_token: float

    @property
    def servers(self) -> int:
        """The number of servers in both pools."""
        return self.prefill + self.decode


@dataclass(frozen=True)
class Longest:
    """Quantiles of the tokens of prompts and outputs, ascending, evenly spaced."""

    prompt: tuple[float, ...]
    output: tuple[float, ...]

    def of(self, batch: float) -> tuple[float, float]:
        """The longest prompt and output of a batch: the quantile batch/(batch + 1) of each."""
        at = batch / (batch + 1) * (len(self.prompt) - 1)
        below = int(at)
        above = min(below + 1, len(self.prompt) - 1)
        prompt, output = (
            tokens[below] + (at - below) * (tokens[above] - tokens[below])
            for tokens in (self.prompt, self.output)
        )
        return prompt, output


@dataclass(frozen=True)
class Rules:
    """The limits of a server: tokens per iteration, sequences, and tokens in its cache.
    `prefix_hit` is the share of each prompt that is already cached; `pools` is set if a replica has
    separate prefill and decode servers; a sequence holds whole blocks of `cache_block` tokens, so
    that half a block is empty on average; `static` is set if batches run to their end."""

    token_budget: int
    max_requests: int
    cache_tokens: int
    prefix_hit: float = 0.0
    reserve: bool = False
    pools: Pools | None = None
    cache_block: int = 1
    static: Longest | None = None

    @property
    def waste(self) -> float:
        """Mean tokens of a sequence's last block that are empty."""
        return (self.cache_block - 1) / 2

    def in_blocks(self, tokens: int) -> int:
        """The tokens of the whole blocks that hold `tokens`."""
        return -(-tokens // self.cache_block) * self.cache_block


@dataclass(frozen=True)
class Served:
    """Results of a simulation. `first_s` and `last_s` [requests] are the seconds to the first and
    the last token, NaN if the request never fits. `gap_s` and `decoded` are the seconds and the
    number of decodes of each iteration with decodes. `busy_s` is the time in iterations,
    `cached_tokens` the mean number of cached tokens, and `preempted` the number of times that a
    sequence started again. `handover_s` [requests] are the seconds from the first token to the
    second if another server decodes, NaN without a second token."""

    first_s: Floats
    last_s: Floats
    gap_s: Floats
    decoded: Floats
    end_s: float
    busy_s: float
    cached_tokens: float
    preempted: int
    waiting: float
    handover_s: Floats = field(default_factory=lambda: np.empty(0))


def serve(load: Requests, step: StepTime, rules: Rules) -> Served:
    """Simulate the whole load on one replica."""
    arrivals, prompts, outputs = (a.tolist() for a in (load.arrival_s, load.prompt, load.output))
    count = len(arrivals)
    first, last = [float("nan")] * count, [float("nan")] * count
    generated = [0] * count  # tokens generated before the sequence was pre-empted
    _, decode_s, near_s, far_s = step.lists
    knee = step.knee
    room, most = rules.cache_tokens, min(rules.max_requests, len(decode_s) - 1)
    waste = rules.waste
    waiting: deque[int] = deque()
    partial: deque[list[int]] = deque()  # [request, tokens left of its prompt, tokens cached]
    ends: list[tuple[int, int]] = []  # iteration of the last token, request
    entered: dict[int, tuple[int, int]] = {}  # decodes: first iteration, cache then
    used = reserved = 0  # tokens of cache that are in use, and that are reserved
    gaps: list[float] = []
    decoded: list[int] = []
    clock = busy = cached_area = waiting_area = 0.0
    tick = coming = preempted = passes = 0

    def whole(request: int) -> int:
        """The number of cache tokens that a request reserves."""
        return rules.in_blocks(prompts[request] + outputs[request])

    def retire() -> None:
        """Free the sequences whose last token came in this iteration."""
        nonlocal used, reserved
        while ends and ends[0][0] <= tick:
            request = heapq.heappop(ends)[1]
            since, had = entered.pop(request)
            used -= had + tick - since
            reserved -= whole(request)
            last[request] = clock

    while True:
        passes += 1
        if passes % _CHECKED == 0:
            check_cancelled()
        while coming < count and arrivals[coming] <= clock:
            if prompts[coming] + outputs[coming] + rules.cache_block - 1 <= room:
                waiting.append(coming)
            coming += 1
        batch = len(entered)
        if not batch and not partial and not waiting:
            if coming == count:
                break
            clock = arrivals[coming]
            continue
        if batch and not waiting and not partial:  # nothing but decodes until the next event
            stop = arrivals[coming] if coming < count else inf
            host_s, knee_at = step.host_of(batch), knee * batch
            flat, least = decode_s[batch], host_s
            if not step.overlaps:
                flat, least = flat + host_s, 0.0
            slope, beyond, began = near_s[batch], far_s[batch], len(gaps)
            most_ticks = ends[0][0] - tick
            if not rules.reserve:  # up to the last iteration that fits in the cache
                most_ticks = min(most_ticks, max(int((room - waste * batch - used) // batch), 0))
            for cached in range(used, used + most_ticks * batch, batch):
                if clock >= stop:
                    break
                took = flat + (
                    cached * slope
                    if cached <= knee_at
                    else knee_at * slope + (cached - knee_at) * beyond
                )
                if took < least:
                    took = least
                clock += took
                cached_area += cached * took
                gaps.append(took)
            used += batch * (len(gaps) - began)
            tick += len(gaps) - began
            decoded += [batch] * (len(gaps) - began)
            busy += sum(gaps[began:])
            if len(gaps) > began:
                retire()
                continue
        while not rules.reserve and batch and used + batch > room - waste * batch:
            victim = next(reversed(entered))
            since, had = entered.pop(victim)
            tokens = tick - since
            used -= had + tokens
            generated[victim] += tokens
            ends = [e for e in ends if e[1] != victim]
            heapq.heapify(ends)
            waiting.appendleft(victim)
            preempted += 1
            batch -= 1
        left = rules.token_budget - batch
        prompt, squares = 0, 0.0
        finished: list[int] = []
        while left > 0:
            if not partial:
                if not waiting or batch + len(finished) >= most:
                    break
                request = waiting[0]
                size = prompts[request] + generated[request]
                hit = int(prompts[request] * rules.prefix_hit)
                if rules.reserve:
                    short = reserved + whole(request) > room
                else:
                    empty = waste * (batch + len(finished) + 1)
                    short = used + size + batch + 1 > room - empty
                if short:
                    break
                waiting.popleft()
                reserved += whole(request)
                hit = min(hit, size - 1)
                used += hit
                partial.append([request, size - hit, hit])
            chunk = partial[0]
            take = min(left, chunk[1])
            left_room = room - waste * (batch + len(finished) + 1) - used - batch
            if not rules.reserve and take > left_room:
                take = int(left_room)
                if take <= 0:
                    break
            squares += (chunk[2] + take) ** 2 - chunk[2] ** 2
            prompt += take
            left -= take
            used += take
            chunk[1] -= take
            chunk[2] += take
            if chunk[1]:
                break
            finished.append(chunk[0])
            partial.popleft()
        if prompt:
            took = step.mixed(prompt, squares, batch, used - prompt)
        elif batch:
            took = step.decode(batch, used)
        else:  # a cut prompt without room in the cache, and no decode to preempt
            request, _, had = partial.popleft()
            used -= had
            reserved -= whole(request)
            waiting.appendleft(request)
            continue
        clock += took
        busy += took
        tick += 1
        cached_area += used * took
        waiting_area += len(waiting) * took
        if batch:
            gaps.append(took)
            decoded.append(batch)
            used += batch
        retire()
        for request in finished:
            if not generated[request]:
                first[request] = clock
            generated[request] += 1
            if generated[request] >= outputs[request]:
                last[request] = clock
                used -= prompts[request] + generated[request] - 1
                reserved -= whole(request)
                continue
            entered[request] = tick, prompts[request] + generated[request] - 1
            heapq.heappush(ends, (tick + outputs[request] - generated[request], request))
    arrival = load.arrival_s
    span = max(clock, 1e-12)
    return Served(
        np.array(first) - arrival,
        np.array(last) - arrival,
        np.array(gaps),
        np.array(decoded, float),
        clock,
        busy,
        cached_area / max(busy, 1e-12),
        preempted,
        waiting_area / span,
    )


def percentile(values: Floats, weights: Floats | None, percent: float) -> float:
    """The smallest value that this percentage of the weight does not exceed; NaN without values."""
    if not values.size:
        return float("nan")
    order = np.argsort(values)
    mass = np.cumsum(np.ones(values.size) if weights is None else weights[order])
    at = cast("int", np.searchsorted(mass, mass[-1] * percent / 100))
    return float(values[order][min(int(at), values.size - 1)])
