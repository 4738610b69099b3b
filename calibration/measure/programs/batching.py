"""Continuous batching on a real clock, by the rules of `simulator.planning.server.scheduler`.

Each iteration processes one token of every sequence that decodes; the remaining budget goes to
prompts in order of arrival, and the last of these may be cut. A request waits until a slot is free.
Slots hold whole sequences, so that no sequence is pre-empted.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Protocol

from calibration.cases.steps.serving import Load


@dataclass(frozen=True)
class Chunk:
    """Tokens of a prompt in an iteration, after its cached tokens."""

    slot: int
    cached: int
    tokens: int
    last: bool


class Server(Protocol):
    """A server that runs an iteration, and returns when its tokens are on the host."""

    def iterate(self, batch: int, cached: int, chunks: list[Chunk]) -> None: ...


class Clock:
    """A clock that counts seconds from its start."""

    def __init__(self) -> None:
        self._began = time.perf_counter()

    def now(self) -> float:
        return time.perf_counter() - self._began

    def wait(self, until_s: float) -> None:
        """Wait without sleeping, since a sleep ends up to a millisecond late."""
        while self.now() < until_s:
            pass


@dataclass
class Run:
    """Times of each request's first and last token in seconds from 0; for each iteration its start,
    its seconds, the number of decodes, their cached tokens, and the prompts' tokens."""

    first_s: list[float]
    last_s: list[float]
    iterations: list[tuple[float, float, int, int, int]] = field(
        default_factory=list[tuple[float, float, int, int, int]]
    )


def run(
    server: Server,
    load: Load,
    slots: int,
    token_budget: int,
    clock: Any = None,
    until_s: float = float("inf"),
) -> Run:
    """Serve the whole load, or stop at `until_s`; unanswered requests keep NaN."""
    count = len(load.arrival_s)
    served = Run([float("nan")] * count, [float("nan")] * count)
    waiting: deque[int] = deque()
    cut: list[int] = []  # [request, number of tokens of its prompt in the cache]
    decoding: dict[int, list[int]] = {}  # request: [tokens cached, tokens to come]
    coming = 0
    clock = clock or Clock()
    while (now := clock.now()) < until_s:
        while coming < count and load.arrival_s[coming] <= now:
            waiting.append(coming)
            coming += 1
        if not decoding and not cut and not waiting:
            if coming == count:
                break
            clock.wait(load.arrival_s[coming])
            continue
        batch, budget = len(decoding), token_budget - len(decoding)
        chunks: list[Chunk] = []
        finished: list[int] = []
        while budget > 0:
            if not cut:
                if not waiting or batch + len(finished) >= slots:
                    break
                cut = [waiting.popleft(), 0]
            who, had = cut
            take = min(budget, load.prompt[who] - had)
            budget -= take
            last = had + take == load.prompt[who]
            chunks.append(Chunk(batch + len(finished), had, take, last))
            if not last:
                cut = [who, had + take]
                break
            finished.append(who)
            cut = []
        cached = sum(each[0] for each in decoding.values())
        server.iterate(batch, cached, chunks)
        after = clock.now()
        tokens = sum(chunk.tokens for chunk in chunks)
        served.iterations.append((now, after - now, batch, cached, tokens))
        for who, each in list(decoding.items()):
            each[0] += 1
            each[1] -= 1
            if not each[1]:
                served.last_s[who] = after
                del decoding[who]
        for who in finished:
            served.first_s[who] = after
            if load.output[who] == 1:
                served.last_s[who] = after
            else:
                decoding[who] = [load.prompt[who], load.output[who] - 1]
    return served
