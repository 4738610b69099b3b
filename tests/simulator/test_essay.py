"""The figures of the essay "Making Deep Learning Go Brrrr From First Principles".

The essay's A100 has 312 TFLOP/s on tensor cores, 19.5 on vector units, and 1.5 TB/s of memory.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

import numpy as np
import pytest
import torch
from msgspec.structs import replace

from simulator import predict_trace
from simulator.costs import Work
from simulator.hardware.gpu import gpu as find_gpu
from simulator.lowering import lower
from simulator.networks.catalogue import build
from simulator.records import Trace
from simulator.timing.profile import Profile, Tiles, Traffic, profile
from simulator.timing.roofline import roofs
from simulator.tracing import trace

A100 = replace(find_gpu("a100-40gb"), bandwidth_bytes_per_s=1.5e12, sustained_memory=None)
ELEMENTS = 1 << 24
BYTES = 4 * ELEMENTS  # bytes of a single-precision tensor: 67,108,864


def by_data_sheet() -> Profile:
    """Curves of kernels that reach the peaks of the data sheet without a ramp."""
    free = Traffic(stream=1e9, l2=1.0, issue=1.0, fixed_s=0.0)
    full = Tiles(((1, 1),), 1.0, 1e9, 0.0, 0.0, 1.0, 1.0, 0.0)
    measured = profile()
    return replace(
        measured,
        traffic=dict.fromkeys(measured.traffic, free),
        tiles=dict.fromkeys(measured.tiles, full),
        dram_reach=1.0,
        residuals={},
        gpu=A100.id,
    )


def by_physics() -> Profile:
    """The measured curves, without the residuals of individual shapes."""
    return replace(profile(), residuals={})


def seconds(work: Work, curves: Profile) -> float:
    """Seconds of one kernel whose operands come from memory."""
    compute, held, fixed = roofs([work], A100, curves).parts(np.zeros(1), 0.0)
    return float((np.maximum(compute, held) + fixed)[0])


def pointwise(instructions: int, flops: int = 0) -> Work:
    """Work that reads and writes every element once, with these instructions and FLOPs for each
    element.
    """
    return Work(
        "pointwise",
        flops * ELEMENTS,
        BYTES,
        BYTES,
        instructions=instructions * ELEMENTS,
        dims={"elements": ELEMENTS, "inputs": 1, "contiguous": True},
    )


@lru_cache
def traced(name: str, batch: int, seq: int | None, phase: str, dtype: str) -> Trace:
    with torch.device("meta"):
        module = build(name).to(getattr(torch, dtype))
        inputs = module.example_inputs(batch, seq, phase == "training")  # pyright: ignore
    return trace(module, inputs, phase=phase, optimizer=None)


# -- compute and bandwidth ----------------------------------------------------------------------


def test_the_ridge_of_an_a100() -> None:
    # 312e12 / 1.5e12 = 208 FLOPs per byte; with the data sheet's 1,555 GB/s it is 200.6
    assert A100.ridge("tensor", "bf16") == pytest.approx(208)
    assert find_gpu("a100-40gb").ridge("tensor", "bf16") == pytest.approx(312e12 / 1.555e12)
    # for the vector units: 19.5e12 / 1.5e12 = 13
    assert A100.ridge("vector", "fp32") == pytest.approx(13)


def test_an_h100_has_three_times_the_flops_and_twice_the_bandwidth() -> None:
    old, new = find_gpu("a100-40gb"), find_gpu("h100")
    flops = new.tensor_flops_per_s["bf16"] / old.tensor_flops_per_s["bf16"]
    bandwidth = new.bandwidth_bytes_per_s / old.bandwidth_bytes_per_s
    assert round(flops) == 3 and round(bandwidth) == 2
    # so a compute-bound kernel becomes memory-bound: the ridge moves right
    ridges = [card.ridge("tensor", "bf16") or 0.0 for card in (old, new)]
    assert ridges[0] < ridges[1]


def test_python_runs_32_million_operations_while_an_a100_does_10_million_flops_in_each() -> None:
    peak = A100.peak("tensor", "bf16") or 0.0
    # 312e12 / 32e6 = 9,750,000 times
    assert peak / 32e6 == 9.75e6


# -- operator fusion ----------------------------------------------------------------------------


def test_cos_cos_fused_costs_what_one_cos_costs() -> None:
    """Both read x once and write once; a cosine counts as one FLOP by convention, but takes 27
    instructions."""
    cosine = next(
        work
        for work in lower(traced("chain", 1, None, "inference", "float32"), A100).works
        if work.family == "pointwise"
    )
    one, fused = pointwise(27, 1), pointwise(2 * 27, 2)
    assert (cosine.flops, cosine.instructions) == (one.flops, one.instructions)
    assert cosine.bytes == one.bytes == fused.bytes == 2 * BYTES
    alone, both = seconds(one, by_data_sheet()), seconds(fused, by_data_sheet())
    # 134,217,728 bytes at 1.5e12 bytes/s are 89.5 µs; 54 instructions per element at 9.75e12 per
    # second are 92.9 µs
    assert alone == pytest.approx(89.478e-6, rel=1e-4)
    assert both == pytest.approx(alone, rel=0.05)
    # eager mode launches both: twice the traffic, twice the time
    assert 2 * alone > 1.9 * both


def test_cheap_chains_fuse_for_free_by_the_measured_curves_too() -> None:
    one, four = (seconds(pointwise(n, n), by_physics()) for n in (1, 4))
    assert four == pytest.approx(one, rel=0.05)


REPEATS = [1, 2, 4, 8, 16, 32, 64, 128, 256]


def achieved(curves: Profile) -> dict[int, float]:
    """FLOP/s of `repeat` multiply-adds on each element, as in the essay's plot."""
    return {
        n: 2 * n * ELEMENTS / seconds(pointwise(instructions=n, flops=2 * n), curves)
        for n in REPEATS
    }


def test_flops_rise_with_the_repeat_count_until_the_vector_peak() -> None:
    rates = achieved(by_data_sheet())
    # memory-bound while 2n FLOPs per 8 bytes stay below the ridge of 13, so up to n = 52: a line
    # through the origin
    for n in (1, 2, 4, 8, 16, 32):
        assert rates[n] == pytest.approx(n * rates[1], rel=1e-9)
    # 2 FLOPs for 8 bytes at 1.5e12 bytes per second
    assert rates[1] == pytest.approx(0.375e12, rel=1e-9)
    for n in (64, 128, 256):
        assert rates[n] == pytest.approx(19.5e12, rel=1e-9)


def test_measured_curves_rise_and_flatten_below_the_peak() -> None:
    rates = achieved(by_physics())
    for n in (2, 4, 8, 16):
        assert rates[n] == pytest.approx(n * rates[1], rel=0.02)
    # its integer lanes leave 1.4 times as much of the issue rate to the 64 FP32 lanes of a
    # multiprocessor
    ceiling = 1.4 * profile().traffic["pointwise"].issue * 19.5e12
    assert rates[256] == pytest.approx(ceiling, rel=0.02) and rates[256] < 19.5e12
    values = list(rates.values())
    assert values == sorted(values)


# -- where the FLOPs are ------------------------------------------------------------------------


def test_bert_has_99_8_percent_of_its_flops_in_tensor_contractions() -> None:
    """BERT-large, forward and backward, as in Ivanov et al. 2020, whose table the essay shows.

    Counted as contractions: the kernels of matrix products and of attention. Everything else that
    computes is counted too: pointwise ops, norms and their weight gradients, softmax, reductions,
    random numbers.
    """
    step = traced("bert-large", 8, 512, "training", "bfloat16")
    lowered = lower(step, A100)
    flops: Counter[str] = Counter()
    for row in lowered.work_of.tolist():
        flops[lowered.works[row].family] += lowered.works[row].flops
    assert {f for f, n in flops.items() if n} >= {
        "gemm",
        "attention",
        "pointwise",
        "norm",
        "softmax",
        "reduction",
        "weight_gradient",
    }
    contractions = flops["gemm"] + flops["attention"]
    assert contractions / flops.total() == pytest.approx(0.998, abs=0.003)
    assert 1 - contractions / flops.total() > 0.0005
    # matrix products: 3 passes of 2·m·n·k; a layer has 4 of 1024 by 1024 and 2 of 4096 by 1024; the
    # head has 1024·1024 and the vocabulary; 8·512 tokens
    layers = 24 * (4 * 1024 * 1024 + 2 * 1024 * 4096)
    heads = 1024 * 1024 + 1024 * 30522
    assert flops["gemm"] == pytest.approx(3 * 2 * 8 * 512 * (layers + heads), rel=0.001)


def test_norms_and_pointwise_ops_reach_a_hundredth_of_a_products_flops() -> None:
    """The essay: normalisation reaches 250 times fewer FLOP/s than the products, pointwise ops 700
    times fewer."""
    prediction = predict_trace(traced("bert-large", 8, 512, "training", "float16"), gpu="v100")
    flops: Counter[str] = Counter()
    taken: Counter[str] = Counter()
    for kernel in prediction.kernels:
        flops[kernel.family] += kernel.flops
        taken[kernel.family] += kernel.duration_s  # pyright: ignore
    rate = {family: flops[family] / taken[family] for family in ("gemm", "norm", "pointwise")}
    assert 50 < rate["gemm"] / rate["norm"] < 1250
    assert 140 < rate["gemm"] / rate["pointwise"] < 3500


# -- the three regimes --------------------------------------------------------------------------


@pytest.mark.parametrize("gpu", ["a100", "h200"])
def test_a_tiny_mlp_is_overhead_bound(gpu: str) -> None:
    prediction = predict_trace(traced("mlp-tiny", 32, None, "inference", "float32"), gpu=gpu)
    assert prediction.regime == "overhead" and prediction.shares["overhead"] > 0.95
    # the essay's test for it: a larger batch costs nothing
    base, larger = (
        predict_trace(traced("mlp-tiny", batch, None, "inference", "float32"), gpu=gpu).period_s
        for batch in (256, 512)
    )
    assert larger == pytest.approx(base, rel=0.1)


@pytest.mark.parametrize("gpu", ["a100", "h200"])
def test_a_wide_mlp_is_compute_bound(gpu: str) -> None:
    prediction = predict_trace(traced("mlp-wide", 1024, None, "inference", "bfloat16"), gpu=gpu)
    assert prediction.regime == "compute" and prediction.shares["compute"] > 0.8
    # most of the card's peak, but not more than the peak
    peak = find_gpu(gpu).tensor_flops_per_s["bf16"]
    assert 0.5 * peak < prediction.flops / prediction.period_s < peak


@pytest.mark.parametrize("gpu", ["a100-40gb", "h200"])
def test_a_chain_of_pointwise_ops_is_memory_bound(gpu: str) -> None:
    prediction = predict_trace(traced("chain", 1, None, "inference", "float32"), gpu=gpu)
    assert prediction.regime == "memory" and prediction.shares["memory"] > 0.8
    # two reads and two writes of 67,108,864 bytes
    assert sum(kernel.bytes for kernel in prediction.kernels) == 4 * BYTES
    bandwidth = find_gpu(gpu).bandwidth_bytes_per_s
    assert 0.5 * bandwidth < 4 * BYTES / prediction.period_s < bandwidth
