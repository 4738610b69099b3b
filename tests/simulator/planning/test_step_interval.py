"""The interval of a server's step, part by part."""

from __future__ import annotations

from math import inf, sqrt
from typing import Any

import numpy as np
import pytest

from simulator.collectives.price import collective_time
from simulator.hardware.gpu import gpu
from simulator.planning.step.rank_step import Communication, communication, node
from simulator.planning.step.step_interval import Parts, ends
from simulator.simulate.step_columns import StepColumns

MS = 1e-3


def parts(
    saved_ms: float = 0.0, attention_ms: float = 0.0, host_ms: float = 0.0, moved: Any = None
) -> Parts:
    """A step with kernels of 10 ms, 9 to 12 ms by their profile."""
    values = dict.fromkeys(StepColumns._fields, np.zeros(1))
    values |= {"period_s": np.array([10 * MS]), "low_s": np.array([9 * MS])}
    kernels = StepColumns(**values | {"high_s": np.array([12 * MS])})
    saved, attention = np.array([saved_ms * MS]), np.array([attention_ms * MS])
    return Parts(kernels, saved, attention, moved, host_ms * MS)


def spans(one: Parts, engine: str) -> tuple[float, float]:
    low, high = ends(one, engine)
    return float(low[0]), float(high[0])


def test_kernels_of_pytorch_are_as_sure_as_their_profile() -> None:
    assert spans(parts(), "eager") == pytest.approx((0.9, 1.2))
    assert spans(parts(saved_ms=5), "compiled+graph") == pytest.approx((0.9, 1.2))


def test_kernels_of_an_engine_lie_farther() -> None:
    """10 − √(1² + 1.4²) = 8.28 ms and 10 + √(2² + 1.4²) = 12.44 ms."""
    low, high = 1 - sqrt(1 + 1.4**2) / 10, 1 + sqrt(4 + 1.4**2) / 10
    assert spans(parts(), "vllm") == pytest.approx((low, high))


def test_attention_may_read_as_slowly_as_traced() -> None:
    """10 − 2 = 8 ms of kernels, of which 0.8 and 1.6 ms by the profile and 1.12 ms by the engine;
    above them 2 ms of attention."""
    low, high = 8 - sqrt(0.8**2 + 1.12**2), 8 + sqrt(1.6**2 + 1.12**2 + 2**2)
    assert spans(parts(attention_ms=2), "vllm") == pytest.approx((low / 8, high / 8))


def test_the_host_takes_half_to_twice_as_long() -> None:
    """10 + 4 ms: √(1² + 2²) below and √(2² + 4²) above."""
    low, high = 14 - sqrt(1 + 4), 14 + sqrt(4 + 16)
    assert spans(parts(host_ms=4), "eager") == pytest.approx((low / 14, high / 14))


def test_an_engines_own_all_reduce_is_the_low_end_of_collectives() -> None:
    """5 ms of collectives, 4 to 8 ms by the fit, 2 ms by an engine's kernel: 15 ms, below them
    √(1² + 3²) and above √(2² + 3²) beside the kernels, and 1.4 ms of the engine in both."""
    moved = Communication(*(np.array([s * MS]) for s in (5, 4, 8, 0, 2)))
    low, high = 15 - sqrt(1 + 1.4**2 + 9), 15 + sqrt(4 + 1.4**2 + 9)
    assert spans(parts(moved=moved), "vllm") == pytest.approx((low / 15, high / 15))
    low = 15 - sqrt(1 + 1)  # any other engine uses NCCL's
    assert spans(parts(moved=moved), "compiled+graph")[0] == pytest.approx(low / 15)


def test_a_direct_all_reduce_takes_one_exchange_of_small_messages() -> None:
    """64 · 8192 · 2 = 1 MiB over 8 H200s: the latency of two ranks and 2 · 7/8 MiB at 450 GB/s, in
    2 · 80 + 1 all-reduces. With 1,024 sequences (16 MiB) engines use NCCL's."""
    group = node(gpu("h200"), 8)
    small, large = (
        communication("llama3-70b", [(n, 1)], "bf16", group, "cuda_graph") for n in (64, 1024)
    )
    pair = collective_time("all_reduce", 1024, node(gpu("h200"), 2), mode="cuda_graph").seconds
    direct_s = pair + 2 * 7 / 8 * 2**20 / 450e9
    nccl_s = collective_time("all_reduce", 2**20, group, mode="cuda_graph").seconds
    assert direct_s < nccl_s
    saved_s = float(small.seconds[0] - small.direct_s[0])
    assert saved_s == pytest.approx(161 * (nccl_s - direct_s))
    assert large.direct_s[0] == large.seconds[0]


def test_no_engine_replaces_collectives_over_pcie() -> None:
    moved = communication("llama3-8b", [(16, 1)], "bf16", node(gpu("rtx4090"), 2), "cuda_graph")
    assert moved.direct_s[0] == moved.seconds[0] < inf
