"""The interval of a server's step, part by part."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import pytest

from simulator.collectives.price import collective_time
from simulator.hardware.gpu import gpu
from simulator.planning.step.engine_reduce import engine_reduce
from simulator.planning.step.rank_step import Communication, communication, node
from simulator.planning.step.step_interval import Parts, ends
from simulator.simulate.step_columns import StepColumns

MS = 1e-3


def parts(
    saved_ms: float = 0.0, attention_ms: float = 0.0, host_ms: float = 0.0, moved: Any = None
) -> Parts:
    """A step with kernels of 10 ms, for which the profile gives 9 to 12 ms."""
    values = dict.fromkeys(StepColumns._fields, np.zeros(1))
    values |= {"period_s": np.array([10 * MS]), "low_s": np.array([9 * MS])}
    kernels = StepColumns(**values | {"high_s": np.array([12 * MS])})
    saved, attention = np.array([saved_ms * MS]), np.array([attention_ms * MS])
    return Parts(kernels, saved, attention, moved, np.array([host_ms * MS]))


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
    """10 − 2 = 8 ms of kernels, with deviations of 0.8 and 1.6 ms from the profile and 1.12 ms from
    the engine. In addition, attention may take up to 2 ms longer."""
    low, high = 8 - sqrt(0.8**2 + 1.12**2), 8 + sqrt(1.6**2 + 1.12**2 + 2**2)
    assert spans(parts(attention_ms=2), "vllm") == pytest.approx((low / 8, high / 8))


def test_the_host_takes_half_to_twice_as_long() -> None:
    """10 + 4 ms: √(1² + 2²) below and √(2² + 4²) above."""
    low, high = 14 - sqrt(1 + 4), 14 + sqrt(4 + 16)
    assert spans(parts(host_ms=4), "eager") == pytest.approx((low / 14, high / 14))


def test_collectives_are_as_sure_as_their_fit() -> None:
    """5 ms of collectives, 4 to 8 ms by the fit: 15 ms, with √(1² + 1²) below and √(2² + 3²) above,
    both combined with the engine's 1.4 ms."""
    moved = Communication(*(np.array([s * MS]) for s in (5, 4, 8, 0, 0, 0)))
    low, high = 15 - sqrt(1 + 1.4**2 + 1), 15 + sqrt(4 + 1.4**2 + 9)
    assert spans(parts(moved=moved), "vllm") == pytest.approx((low / 15, high / 15))


@pytest.mark.parametrize(
    ("ranks", "kib", "measured_us"),
    [(2, 64, 4.7), (2, 1024, 8.4), (4, 256, 7.0), (4, 4096, 29.9), (8, 64, 6.6), (8, 1024, 14.1)],
)
def test_an_engines_all_reduce_takes_as_long_as_measured(
    ranks: int, kib: int, measured_us: float
) -> None:
    """Times of vLLM's all-reduce in CUDA graphs on H200s (ai-dynamo/aiconfigurator)."""
    own = engine_reduce("vllm", kib * 1024, node(gpu("h200"), ranks))
    assert own is not None
    assert own.seconds == pytest.approx(measured_us * 1e-6, rel=0.1)
    assert own.low_s < own.seconds < own.high_s


def test_an_engine_replaces_small_all_reduces() -> None:
    """64 · 8192 · 2 = 1 MiB over 8 H200s: 8.34 µs and 2 · 7/8 MiB at 337.4 GB/s, in 2 · 80 + 1
    all-reduces. With 1,024 sequences (16 MiB), and in PyTorch, NCCL runs them."""
    group = node(gpu("h200"), 8)

    def moved_s(sequences: int, engine: str) -> float:
        moved = communication("llama3-70b", [(sequences, 1)], "bf16", group, "cuda_graph", engine)
        return float(moved.seconds[0])

    own_s = 8.34e-6 + 2 * 7 / 8 * 2**20 / 337.4e9
    nccl_s = collective_time("all_reduce", 2**20, group, mode="cuda_graph").seconds
    assert own_s < nccl_s
    saved_s = moved_s(64, "compiled+graph") - moved_s(64, "vllm")
    assert saved_s == pytest.approx(161 * (nccl_s - own_s))
    assert moved_s(1024, "vllm") == moved_s(1024, "compiled+graph")


def test_no_engine_replaces_collectives_over_pcie() -> None:
    assert engine_reduce("vllm", 1024, node(gpu("rtx4090"), 2)) is None
