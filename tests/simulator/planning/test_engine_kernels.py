"""An engine's own attention, experts and host in decodes."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.hardware.gpu import gpu
from simulator.planning.spec import Workload
from simulator.planning.step import rank_step
from simulator.planning.step.engine_attention import (
    fixed_difference_s,
    linear_prompts_s,
    measured_attention,
)
from simulator.planning.step.engine_experts import experts_saved_s
from simulator.planning.step.rank_step import communication, node
from simulator.planning.step.scenarios import engine_scenario
from simulator.planning.step.step_time import StepTime
from simulator.planning.step.tables import machine
from simulator.planning.step.traced_step import few_layers, layer_kernels
from simulator.timing.profile import learned


@pytest.mark.parametrize(
    ("card", "sequences", "cached", "kv_heads", "measured_us"),
    [("h200", 64, 4096, 8, 265.0), ("h200", 1, 128, 8, 9.8), ("h100", 128, 1024, 8, 202.0)],
)
def test_attention_takes_as_long_as_measured(
    card: str, sequences: int, cached: int, kv_heads: int, measured_us: float
) -> None:
    """FlashAttention 3 in CUDA graphs, with heads of 128 numbers in bf16
    (ai-dynamo/aiconfigurator)."""
    device = gpu(card)
    fit = measured_attention("vllm", "llama3-8b-decode", device)
    assert fit is not None
    read = 2 * 2 * sequences * cached * kv_heads * 128
    seconds = fit.fixed_s + read / (fit.share * device.bandwidth_bytes_per_s)
    assert seconds == pytest.approx(measured_us * 1e-6, rel=0.15)


def test_attention_without_a_cache_takes_a_fixed_time_in_each_layer() -> None:
    """9.5 µs in each of 32 layers replace the traced kernels, which have a tile for each sequence
    and head."""
    decode = engine_scenario("llama3-8b-decode", gpu("h200"), "bf16", "vllm")
    difference_s = fixed_difference_s("vllm", decode, gpu("h200"), (1, 256))
    traced = [
        sum(k.duration_s for k in layer_kernels(decode, b, 1) if k.family == "attention") / 2
        for b in (1, 256)
    ]
    assert few_layers(decode)[1] == 2
    assert difference_s == pytest.approx(32 * (9.5e-6 - np.array(traced)))
    assert difference_s[0] > 0 > difference_s[1]


def test_the_cache_is_read_at_the_share_of_the_engine_for_every_batch() -> None:
    """Llama 3 8B on an H200: 2 · 2 bytes · 32 layers · 8 heads · 128 = 131 kB per token, at 0.85 of
    4.8 TB/s. PyTorch's kernel, which has a tile for each sequence, seems to read faster, because it
    takes longer without a cache."""
    step = machine(Workload("serving", "llama3-8b"), gpu("h200"), "bf16", "vllm").step
    own_s = 2 * 2 * 32 * 8 * 128 / (0.85 * gpu("h200").bandwidth_bytes_per_s)
    assert step.near_s == pytest.approx(own_s, rel=1e-6)
    assert step.far_s == pytest.approx(own_s, rel=1e-6)


def test_a_b300_serves_no_slower_than_a_b200() -> None:
    """Their bandwidth and their products are the same, and PyTorch's attention, which differs, is
    replaced in decodes and in prompts; fused kernels around it differ by up to 0.5%."""
    work = Workload("serving", "llama3-8b")
    b200, b300 = (machine(work, gpu(c), "fp8", "vllm").step for c in ("b200", "b300"))
    assert (b300.decode_s <= b200.decode_s * 1.005).all()
    assert b300.mixed(8192, 8192.0**2, 0, 0.0) < 0.99 * b200.mixed(8192, 8192.0**2, 0, 0.0)
    at = [64, 256, 2048, 4096, 8192]
    assert (b300.forward_s[at] <= b200.forward_s[at] * 1.002).all()


def test_the_linear_part_of_prompts_has_the_engine_s_fixed_time_of_attention() -> None:
    """Llama 3 8B in bf16 on an H200: the traced kernels of attention, including the op's fill, are
    replaced by 9.5 µs in each of 32 layers."""
    card = gpu("h200")
    prefill = engine_scenario("llama3-8b", card, "bf16", "vllm")
    name = "_scaled_dot_product_cudnn_attention.default"
    traced = [k for k in layer_kernels(prefill, 1, 512) if k.name == name]
    assert [k.family for k in traced] == ["fill", "attention"] * 2
    traced_s = sum(k.duration_s for k in traced) / 2
    linear = linear_prompts_s("vllm", prefill, card, (512,), np.array([0.1]))
    assert linear is not None
    assert linear[0] == pytest.approx(0.1 + 32 * (9.5e-6 - traced_s))
    assert linear_prompts_s("vllm", prefill, gpu("mi300x"), (512,), np.array([0.1])) is None


def test_cards_without_measured_attention_keep_the_traced_kernels() -> None:
    decode = engine_scenario("llama3-8b-decode", gpu("mi300x"), "bf16", "vllm")
    assert not fixed_difference_s("vllm", decode, gpu("mi300x"), (1, 256)).any()
    assert measured_attention("vllm", "deepseek-v3", gpu("h200")) is None


def test_blackwell_reads_experts_at_the_highest_rate_of_the_card() -> None:
    """64 tokens use 111 of 128 experts with 3 · 2880² numbers of 4.5 bits in 36 layers: 56 GB,
    which take 7.7 ms at 0.91 of 8 TB/s."""
    card = gpu("b200")
    decode = engine_scenario("gpt-oss-120b-decode", card, "nvfp4", "vllm")
    products = [k for k in layer_kernels(decode, 64, 1) if "grouped_mm" in k.name]
    traced_s = sum(k.duration_s for k in products) * 36 / few_layers(decode)[1]
    saved = experts_saved_s("vllm", decode, card, [(64, 1)])
    assert traced_s - saved[0] == pytest.approx(7.7e-3, rel=0.05)
    hopper = engine_scenario("gpt-oss-120b-decode", gpu("h200"), "nvfp4", "vllm")
    assert not experts_saved_s("vllm", hopper, gpu("h200"), [(64, 1)]).any()
    dense = engine_scenario("llama3-8b-decode", card, "fp8", "vllm")
    assert not experts_saved_s("vllm", dense, card, [(64, 1)]).any()


def test_the_host_works_for_each_sequence() -> None:
    """1 ms, and 25 µs for each of 40 sequences; scaled with the step."""
    zero = np.zeros(65)
    step = StepTime(np.zeros(2049), zero, zero, zero, 512.0, 0.0, 0.0, 1e-3, request_s=25e-6)
    assert step.decode(40, 1e5) == pytest.approx(2e-3)
    assert step.mixed(100, 0.0, 40, 1e5) == pytest.approx(2e-3)
    assert step.scaled(2.0).decode(40, 0.0) == pytest.approx(4e-3)


def test_only_an_engine_with_a_scheduler_pays_for_each_sequence() -> None:
    work = Workload("serving", "llama3-8b", token_budget=2048, max_requests=64)
    names = ("eager", "compiled+graph", "vllm")
    engines = {name: machine(work, gpu("h200"), "bf16", name).step for name in names}
    assert [engines[name].request_s for name in names] == [0.0, 25e-6, 25e-6]
    assert (np.diff(engines["vllm"].decode_s) >= 0).all()


def test_few_tokens_choose_more_experts_than_a_line_between_batches_says() -> None:
    """1, 4 and 16 tokens use 8, 30.6 and 102 of 256 experts; for 4, a straight line would give only
    8 + 94 · 3 / 15 = 26.8."""
    work = Workload("serving", "minimax-m2", token_budget=2048, max_requests=64)
    step = machine(work, gpu("h200"), "fp8", "vllm", 8).step
    one, four, sixteen = step.decode_s[[1, 4, 16]]
    assert four > one + (sixteen - one) * 3 / 15


def test_norms_over_all_heads_add_a_small_all_reduce_to_each_layer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """MiniMax-M2's ranks add up two sums of squares in fp32 of each of 16 tokens, 16 · 2 · 4 = 128
    bytes, in 62 layers."""
    group = node(gpu("h200"), 4)
    with_norms = communication("minimax-m2", [(16, 1)], "bf16", group, "cuda_graph", "vllm")
    monkeypatch.setattr(rank_step, "_NORMS_OVER_HEADS", ())
    without = communication("minimax-m2", [(16, 1)], "bf16", group, "cuda_graph", "vllm")
    each_s = 4.55e-6 + 3 * 128 / 270.5e9 + learned("h200_sxm").graph_gap_s
    assert with_norms.seconds[0] - without.seconds[0] == pytest.approx(62 * each_s)
