"""The only stopwatch: every time in a measurement file was taken here."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch


@dataclass(frozen=True)
class Timing:
    """Seconds: the median of the samples and their interquartile range over it."""

    median_s: float
    relative_iqr: float
    samples: int


def _summary(samples_s: list[float]) -> Timing:
    low, mid, high = np.percentile(samples_s, [25, 50, 75])
    return Timing(float(mid), float((high - low) / mid), len(samples_s))


def period(step: Callable[[], object], budget_s: float = 1.0, blocks: int = 7) -> Timing:
    """A step back to back: blocks of steps, synchronised only at the end of each block."""
    step()
    torch.cuda.synchronize()
    began = time.perf_counter()
    step()
    torch.cuda.synchronize()
    one_s = time.perf_counter() - began
    steps = int(np.clip(budget_s / blocks / one_s, 3, 300))
    samples: list[float] = []
    for _ in range(blocks):
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(steps):
            step()
        torch.cuda.synchronize()
        samples.append((time.perf_counter() - began) / steps)
    return _summary(samples)


def latency(step: Callable[[], object], budget_s: float = 0.5) -> Timing:
    """One step alone: from an idle GPU until the GPU is idle again."""
    samples: list[float] = []
    until = time.perf_counter() + budget_s
    while len(samples) < 5 or (time.perf_counter() < until and len(samples) < 200):
        torch.cuda.synchronize()
        began = time.perf_counter()
        step()
        torch.cuda.synchronize()
        samples.append(time.perf_counter() - began)
    return _summary(samples)
