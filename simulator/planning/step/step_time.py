"""The time of one iteration of a server as a function of its tokens.

    T(p, c, b, k) = L(p + b) − h·(L(p + b) − L(b)) + q·Σ((c+p)² − c²) + a(b, k) + host + r·b

A server that prepares an iteration during the one before it takes the longer of the two: the GPU's
terms, or host + r·b.

L(n)   a forward pass of n tokens that attend to no earlier tokens: the traced prefill of n tokens,
       from one to the budget, or the decode of n sequences if the batch has no prompt
h      the share of L that the head takes: a server computes logits for last tokens only
q      seconds per squared token, from two prefills of equal size: one prompt, and many short ones
a      seconds that k cached tokens in total add to the decode of b sequences
r      the host's work for each sequence that decodes: to schedule it, sample and stream its token
p, c   tokens of prompts in this iteration, and the tokens that their sequences have cached before
Every term comes from predictions of the traced step; none is a sum over a table of ops.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class StepTime:
    """Tables of seconds, in the symbols of this module's formula.

    forward_s      [n]: L for n tokens, from 0 (0 s) to the budget
    decode_s       [b]: L for b sequences with an empty cache
    near_s, far_s  [b]: seconds per cached token up to, and beyond, `knee` tokens of mean context
    quadratic_s    q
    head           h
    host_s         added to each iteration
    low, high      [b]: ends of the 80% interval of a step with b decodes, as multiples of its time
    request_s      r
    overlaps       whether the host works in parallel with the GPU
    """

    forward_s: Floats
    decode_s: Floats
    near_s: Floats
    far_s: Floats
    knee: float
    quadratic_s: float
    head: float
    host_s: float
    low: Floats = field(default_factory=lambda: np.array([0.9]))
    high: Floats = field(default_factory=lambda: np.array([1.1]))
    request_s: float = 0.0
    overlaps: bool = False

    @cached_property
    def lists(self) -> tuple[list[float], list[float], list[float], list[float]]:
        """The four tables as lists, since reading a single value of a list is faster."""
        tables = self.forward_s, self.decode_s, self.near_s, self.far_s
        forward, empty, near, far = (table.tolist() for table in tables)
        return forward, empty, near, far

    def ends(self, batch: float) -> tuple[float, float]:
        """The ends of the 80% interval of steps with `batch` decodes, as multiples of the step."""
        at = min(max(round(batch), 0), self.low.size - 1)
        return float(self.low[at]), float(self.high[at])

    def host_of(self, batch: int) -> float:
        """Seconds of the host in an iteration with `batch` decodes."""
        return self.host_s + self.request_s * batch

    def decode(self, batch: int, cached: float) -> float:
        """Seconds of an iteration without prompts; `cached` is the sum over all sequences."""
        _, empty_s, _, _ = self.lists
        return self._with_host(empty_s[batch] + self._attended_s(batch, cached), batch)

    def mixed(self, prompt: int, squares: float, batch: int, cached: float) -> float:
        """Seconds of an iteration with `prompt` tokens of prompts, whose Σ((c+p)² − c²) is
        `squares`, and `batch` decodes with `cached` tokens in all."""
        if not prompt:
            return self.decode(batch, cached)
        forward, empty_s, _, _ = self.lists
        alone = empty_s[batch] if batch else 0.0
        last = len(forward) - 1
        n = prompt + batch
        both = forward[n] if n <= last else forward[last] * n / last
        both = max(both - self.head * max(both - alone, 0.0), alone)
        attended = self._attended_s(batch, cached) if batch else 0.0
        return self._with_host(both + self.quadratic_s * squares + attended, batch)

    def _attended_s(self, batch: int, cached: float) -> float:
        """Seconds in which the decodes read their cache."""
        _, _, near_s, far_s = self.lists
        near = min(cached, self.knee * batch)
        return near * near_s[batch] + (cached - near) * far_s[batch]

    def _with_host(self, gpu_s: float, batch: int) -> float:
        """Seconds of an iteration that takes `gpu_s` on the GPU."""
        host_s = self.host_of(batch)
        return max(gpu_s, host_s) if self.overlaps else gpu_s + host_s

    def scaled(self, times: float) -> StepTime:
        """The step with every second of the GPU and the host multiplied by `times`."""
        if times == 1:
            return self
        return StepTime(
            self.forward_s * times,
            self.decode_s * times,
            self.near_s * times,
            self.far_s * times,
            self.knee,
            self.quadratic_s * times,
            self.head,
            self.host_s * times,
            self.low,
            self.high,
            self.request_s * times,
            self.overlaps,
        )


def constant(seconds: float, batch: int, tokens: int = 4096) -> StepTime:
    """A step time that is the same for all iterations, to compare with queueing theory."""
    flat = np.full(max(batch, tokens) + 1, seconds)
    zero = np.zeros(batch + 1)
    return StepTime(flat, flat[: batch + 1], zero, zero, 1.0, 0.0, 0.0, 0.0)
