"""The engine TensorRT-LLM in plans: its products, its all-reduces, and a host whose work overlaps
with the GPU."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from simulator import plan
from simulator.errors import InputError
from simulator.hardware.gpu import gpu
from simulator.planning.server.requests import Requests
from simulator.planning.server.scheduler import Rules, serve
from simulator.planning.spec import Workload
from simulator.planning.step.engine_attention import prompt_attention_s
from simulator.planning.step.engine_products import products_saved_s
from simulator.planning.step.engine_reduce import engine_reduce
from simulator.planning.step.rank_step import node
from simulator.planning.step.scenarios import engine_scenario
from simulator.planning.step.step_time import StepTime, constant
from simulator.planning.step.tables import machine
from simulator.planning.step.traced_step import layer_kernels


def overlapping(gpu_s: float, host_s: float, request_s: float = 0.0) -> StepTime:
    step = constant(gpu_s, 64)
    return replace(step, host_s=host_s, request_s=request_s, overlaps=True)


def test_an_iteration_takes_the_longer_of_gpu_and_host() -> None:
    """10 ms on the GPU; on the host 2 ms, and 0.2 ms for each sequence: with 40 sequences both take
    10 ms."""
    step = overlapping(10e-3, 2e-3, 0.2e-3)
    assert step.decode(1, 100.0) == pytest.approx(10e-3)
    assert step.decode(60, 100.0) == pytest.approx(14e-3)
    assert step.mixed(16, 256.0, 60, 100.0) == pytest.approx(14e-3)
    assert step.scaled(2.0).decode(60, 100.0) == pytest.approx(28e-3)
    assert replace(step, overlaps=False).decode(60, 100.0) == pytest.approx(24e-3)


def test_the_scheduler_hides_the_host_behind_the_gpu() -> None:
    """4 answers of 11 tokens that arrive together take 11 iterations of 10 ms, or of 15 ms if the
    host takes 3 + 4 · 3 ms. The last ten have no prompts, and the GPU hides the host in those
    too."""
    load = Requests(np.zeros(4), np.full(4, 8), np.full(4, 11))
    rules = Rules(64, 64, 10_000)
    assert serve(load, overlapping(10e-3, 3e-3), rules).end_s == pytest.approx(0.110)
    assert serve(load, overlapping(10e-3, 3e-3, 3e-3), rules).end_s == pytest.approx(0.160)


@pytest.mark.parametrize(
    ("card", "engine", "share"),
    [("h200", "tensorrt-llm", 0.78), ("h200", "vllm", 0.62), ("b200", "tensorrt-llm", 0.64)],
)
def test_products_read_their_weights_at_the_share_of_the_engine(
    card: str, engine: str, share: float
) -> None:
    """Llama 3 70B in fp8 with 64 sequences: the products of 80 layers and the head read 80 · 8192 ·
    (8192 · 2 + 3 · 28672) + 8192 · 128256 weights, and 2% more bytes of activations. The products
    of keys and values have few tiles and take as long as traced."""
    device = gpu(card)
    decode = engine_scenario("llama3-70b-decode", device, "fp8", engine)
    saved = products_saved_s(engine, decode, device, "fp8", [(64, 1)])[0]
    large = [
        k
        for k in layer_kernels(decode, 64, 1)
        if k.name.startswith("_scaled_mm") and k.family == "gemm" and k.bytes > 16e6
    ]
    traced = sum((1 if k.module == "head" else 40) * k.duration_s for k in large)
    fixed = sum((1 if k.module == "head" else 40) * k.fixed_s for k in large)
    weights = 80 * 8192 * (2 * 8192 + 3 * 28672) + 8192 * 128256
    read = weights / (share * device.bandwidth_bytes_per_s)
    assert traced - saved - fixed == pytest.approx(1.02 * read, rel=0.02)


def test_products_without_a_fit_are_traced() -> None:
    for card, precision in (("h200", "bf16"), ("mi300x", "fp8")):
        decode = engine_scenario("llama3-8b-decode", gpu(card), precision, "vllm")
        assert not products_saved_s("vllm", decode, gpu(card), precision, [(1, 1), (64, 1)]).any()
    decode = engine_scenario("llama3-8b-decode", gpu("h200"), "fp8", "vllm")
    assert products_saved_s("vllm", decode, gpu("h200"), "fp8", [(256, 1)])[0] == 0  # beyond it


def test_all_reduces_are_the_engines_own() -> None:
    """8 H200s, 4 KiB: 3.5 µs with TensorRT-LLM, 4.8 µs with vLLM (ai-dynamo/aiconfigurator)."""
    group = node(gpu("h200"), 8)
    own, other = (engine_reduce(e, 4096, group) for e in ("tensorrt-llm", "vllm"))
    assert own is not None and other is not None
    assert own.seconds == pytest.approx(3.5e-6, rel=0.2)
    assert other.seconds == pytest.approx(4.8e-6, rel=0.1)


def test_prompts_attend_faster_with_more_exponentials_per_second() -> None:
    """PyTorch calls cuDNN's attention on a B200 and FlashAttention 2 on a B300; engines have
    kernels for both. 64 heads of 128 in 80 layers: 2 · 64 · 128 · 80 FLOPs for each token squared,
    at 0.53 of 2,250 TFLOP/s. A B300 has 10.7 instead of 5 · 10¹² exponentials per second: the sum
    of products and exponentials is (1.30 + 0.41) / (1.30 + 0.88) = 0.79 of a B200's."""
    b200, b300 = (prompt_attention_s("vllm", "llama3-70b", gpu(c), 1) for c in ("b200", "b300"))
    assert b200 == pytest.approx(2 * 64 * 128 * 80 / (0.53 * 2250e12), rel=1e-3)
    assert b300 is not None and b200 is not None
    assert b300 / b200 == pytest.approx(0.79, abs=0.01)
    # 18 of 36 layers have a window
    windowed = prompt_attention_s("vllm", "gpt-oss-120b", gpu("b200"), 2)
    assert windowed == pytest.approx(2 * 32 * 64 * 18 / (0.33 * 2250e12), rel=1e-3)
    assert prompt_attention_s("vllm", "deepseek-v3", gpu("b200"), 1) is None
    assert prompt_attention_s("vllm", "llama3-70b", gpu("mi300x"), 1) is None


def test_a_card_that_the_engine_does_not_support_is_refused() -> None:
    work = Workload("serving", "llama3-8b")
    with pytest.raises(InputError) as error:
        machine(work, gpu("t4"), "fp16", "tensorrt-llm")
    assert str(error.value) == (
        "tensorrt-llm runs on NVIDIA cards of compute capability 8.0 and later; T4 has 7.5"
    )
    with pytest.raises(InputError, match="MI300X has none"):
        machine(work, gpu("mi300x"), "bf16", "tensorrt-llm")


def test_a_plan_compares_the_engines() -> None:
    spec: dict[str, Any] = {
        "workload": {"kind": "serving", "network": "llama3-8b", "prompt": 512, "output": 100},
        "load": {"rate": "10/s"},
        "limits": {"per_token": "60 ms", "first_token": "1 s"},
        "candidates": {
            "gpus": ["h200", "mi300x"],
            "counts": [1],
            "engines": ["vllm", "tensorrt-llm"],
            "precisions": ["fp8"],
            "splits": [1],
        },
        "simulation": {"requests": 300},
    }
    answer = plan(spec)
    times: dict[str, Any] = {r.engine: r.per_token_s for r in answer.rows if r.gpu == "h200_sxm"}
    assert 0 < times["tensorrt-llm"] < times["vllm"]
    assert any("tensorrt-llm runs on NVIDIA cards" in why for why in answer.pruned.values())
    fast = plan(spec | {"candidates": spec["candidates"] | {"engines": ["tensorrt-llm"]}})
    engine = next(a for a in fast.assumptions if a.name == "engine")
    assert (engine.value, "during the previous one" in engine.source) == ("tensorrt-llm", True)
