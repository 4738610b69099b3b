"""Cases of serving a Llama: single steps, loads of requests, and steps for their energy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

NETWORK = "llama3-8b-decode"
PROMPTS, ANSWERS = (256, 1024), (64, 128)
"""Numbers of tokens, drawn with equal probability."""
SHARES = (0.6, 0.9, 0.25)
"""Rates of requests, as shares of the rate that the server reaches if all requests arrive at
once."""


@dataclass(frozen=True)
class Point:
    """A step: the prefill of `batch` prompts of `tokens` tokens, or a decode with `tokens` cached
    tokens."""

    kind: str
    batch: int
    tokens: int


@dataclass(frozen=True)
class Suite:
    """The sizes of the network that override the catalogue's, the points to time, and the server:
    its slots, its tokens per slot and per iteration, and the batches and mean contexts of its CUDA
    graphs. Also the number of requests that arrive at once, the seconds of arrivals, and the batch
    that is served alone (sequences, prompt, answer)."""

    points: tuple[Point, ...]
    slots: int = 64
    length: int = 1152
    token_budget: int = 2048
    batches: tuple[int, ...] = (1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 64)
    contexts: tuple[int, ...] = (256, 512, 768, 1024)
    burst: int = 128
    load_s: float = 11.0
    static: tuple[int, int, int] = (16, 512, 128)
    energy: tuple[Point, ...] = (Point("decode", 64, 1024), Point("prefill", 1, 2048))
    sizes: Mapping[str, Any] = field(default_factory=dict[str, Any])


_DECODES = (
    (1, 256), (32, 2048), (128, 256), (8, 2048), (32, 8192), (1, 8192), (128, 2048), (8, 256),
    (32, 256), (1, 2048), (8, 8192),
)  # fmt: skip
_PREFILLS = ((1, 2048), (1, 512), (1, 128), (4, 1024))
WHOLE = Suite(
    tuple(Point("decode", b, n) for b, n in _DECODES[:4])
    + tuple(Point("prefill", b, n) for b, n in _PREFILLS)
    + tuple(Point("decode", b, n) for b, n in _DECODES[4:])
)
TINY = Suite(
    points=(Point("decode", 2, 16), Point("prefill", 1, 8)),
    slots=4,
    length=48,
    token_budget=64,
    batches=(1, 2, 4),
    contexts=(16, 32),
    burst=6,
    load_s=0.5,
    static=(2, 8, 4),
    energy=(Point("decode", 2, 16),),
    sizes={"width": 64, "layers": 2, "heads": 4, "kv_heads": 2, "hidden": 96, "vocab": 100},
)
"""A tiny case for a host without a GPU."""


@dataclass(frozen=True)
class Load:
    """Requests: ascending arrival times in seconds, tokens of prompts and of answers."""

    arrival_s: list[float]
    prompt: list[int]
    output: list[int]


def burst(count: int, shrink: int = 1) -> Load:
    """A load whose requests all arrive at once."""
    return _load(np.zeros(count), np.random.default_rng(7), shrink)


def poisson(rate_per_s: float, seconds: float, shrink: int = 1) -> Load:
    """A load with random arrivals within `seconds`; it has at least one request."""
    draw = np.random.default_rng(11)
    gaps = draw.exponential(1 / rate_per_s, int(rate_per_s * seconds * 2) + 20)
    arrivals = np.cumsum(gaps) - gaps[0]
    return _load(arrivals[arrivals < seconds], draw, shrink)


def _load(arrivals: np.ndarray, draw: np.random.Generator, shrink: int) -> Load:
    prompts = draw.choice(PROMPTS, arrivals.size) // shrink
    answers = draw.choice(ANSWERS, arrivals.size) // shrink
    return Load(arrivals.tolist(), prompts.tolist(), answers.tolist())
