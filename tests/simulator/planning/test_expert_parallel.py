"""Whole experts and separate sequences on each GPU of a replica, and attention over latents."""

from __future__ import annotations

from typing import Any

import pytest

from simulator import InputError
from simulator.collectives.price import collective_time
from simulator.hardware.gpu import gpu
from simulator.planning.result import Row
from simulator.planning.spec import Workload
from simulator.planning.spec_file import read
from simulator.planning.step.engine_attention import cached_token_s
from simulator.planning.step.expert_exchange import exchange, reached
from simulator.planning.step.rank_step import node
from simulator.planning.step.scenarios import engine_scenario
from simulator.planning.step.traced_step import (
    cache_bytes,
    few_layers,
    of_rank,
    parts,
    sizes_of,
    weight_bytes,
)
from simulator.scenario.scenario import Scenario
from simulator.timing.profile import learned
from simulator.timing.rates import dram_reach

TINY = dict(
    width=64, heads=8, hidden=32, dense_hidden=96, experts=16, top=8, groups=8, top_groups=4,
    query_latent=48, latent=32, plain=16, rotated=8, value=16, vocab=48,
)  # fmt: skip


def served(**workload: Any) -> Any:
    known = {"kind": "serving", "network": "deepseek-v3", "prompt": 1024, "output": 300}
    return read(
        {
            "workload": known | workload,
            "load": {"rate": "20/s"},
            "candidates": {"gpus": ["h200"], "counts": [8], "splits": [8]},
        }
    )


def test_three_dense_layers_are_traced_with_those_with_experts() -> None:
    """−56 times 4 layers and 57 times 5 layers are 61 layers, 3 of which are dense: −56·3 + 57·3 =
    3."""
    scenario = of_rank(engine_scenario("deepseek-v3-decode", gpu("h200"), "bf16", "vllm"), 8)
    assert few_layers(scenario) == (4, 5)
    assert [share for share, _ in parts(scenario)] == [-56, 57]


def test_a_rank_has_the_whole_cache_and_its_share_of_weights() -> None:
    """The cache has 61 · (32 + 8) numbers of 2 bytes. Weights of attention: latents of 64·88 and
    norms of 80 on every GPU, and 48·8·24 + 32·8·32 + 8·16·64 divided among GPUs; the norms of a
    layer have 128."""
    one = Scenario("deepseek-v3-decode", dtype="bf16", sizes=TINY)
    tp = of_rank(one, 8)
    assert cache_bytes(tp, 64, 128) == 61 * 40 * 2
    attention = 64 * 88 + 80 + (48 * 8 * 24 + 32 * 8 * 32 + 8 * 16 * 64) // 8 + 128
    dense = 3 * 64 * 96 // 8
    # routed and shared experts; the router and its biases
    mixture = 17 * 3 * 64 * 32 // 8 + 16 * 64 + 16
    rope = 4 * 4 / 2  # angles in float32
    total = 61 * attention + 3 * dense + 58 * mixture + 2 * 48 // 8 * 64 + 64 + rope
    assert weight_bytes(tp, 64) == pytest.approx(2 * total, rel=1e-3)
    whole = Workload("serving", "deepseek-v3", expert_parallel=True)
    assert weight_bytes(of_rank(one, 8, whole), 64) == weight_bytes(tp, 64)


def test_own_sequences_need_the_whole_attention() -> None:
    one = Scenario("deepseek-v3-decode", dtype="bf16", sizes=TINY)
    work = Workload("serving", "deepseek-v3", expert_parallel=True, attention_dp=True)
    saved = weight_bytes(one, 64) - weight_bytes(of_rank(one, 8, work), 64)
    assert saved == 58 * 14 * 3 * 64 * 32 * 2  # 14 of 16 experts, in 58 layers


@pytest.mark.parametrize(("gpus", "copies"), [(2, 2), (4, 4), (8, 4), (16, 8)])
def test_a_token_is_sent_to_the_gpus_of_four_groups(gpus: int, copies: int) -> None:
    """Each of 8 GPUs has one group; each of 16 has half a group, and 8 experts are on at most 8
    GPUs."""
    assert reached(sizes_of("deepseek-v3"), gpus) == copies


def test_tokens_are_sent_in_float8_and_returned_in_16_bits() -> None:
    """16 tokens of 7,168 numbers, sent to 4 GPUs, are 458,752 bytes, and twice that on the way
    back; in 58 layers."""
    group = node(gpu("h200"), 8)
    moved = exchange("deepseek-v3", [(16, 1)], "bf16", "fp8", group, "cuda_graph")
    sent, back = (
        collective_time("all_to_all", n, group, mode="cuda_graph").seconds
        for n in (458_752, 917_504)
    )
    gaps_s = 2 * 58 * learned("h200_sxm").graph_gap_s
    assert moved.seconds[0] == pytest.approx(58 * (sent + back) + gaps_s)


def test_the_cache_of_latents_is_read_once_by_a_few_heads_and_computed_by_many() -> None:
    """61 · 576 numbers of 2 bytes. The 16 heads of a rank fit in a tile of 64; for 128 heads, 2 ·
    128 · (576 + 512) · 61 FLOPs at 0.667 of 989.4 TFLOP/s take 25.7 ns, which is longer than the
    read."""
    card = gpu("h200")
    rate = card.bandwidth_bytes_per_s * dram_reach(card, learned(card.id))
    cache = 61 * 576 * 2
    name = "deepseek-v3-decode"
    assert cached_token_s("vllm", name, card, 8, cache, "bf16") == cache / rate
    flops = 2 * 128 * 1088 * 61
    own_s = cached_token_s("vllm", name, card, 1, cache, "bf16")
    assert own_s == pytest.approx(flops / (0.667 * 989.4e12)) and own_s > cache / rate


def test_other_attention_reads_its_cache() -> None:
    """At the share of the bandwidth that was measured for the card's compute capability, or at the
    card's highest memory rate."""
    own_s = cached_token_s("vllm", "llama3-8b-decode", gpu("h200"), 1, 131072, "bf16")
    assert own_s == 131072 / (4.8e12 * 0.85)
    card = gpu("mi300x")
    rate = card.bandwidth_bytes_per_s * dram_reach(card, learned(card.id))
    assert cached_token_s("vllm", "llama3-8b-decode", card, 1, 131072, "bf16") == 131072 / rate


@pytest.mark.parametrize(
    ("workload", "message"),
    [
        (
            {"attention_dp": True},
            "workload.attention_dp = true: expected expert_parallel = true as well, since each GPU "
            "then has its own sequences and whole experts; add it",
        ),
        (
            {"network": "llama3-8b", "expert_parallel": True},
            "workload.expert_parallel = true: the experts of 'llama3-8b' cannot be divided among "
            "GPUs: expected deepseek-v3; choose it, or leave the key out",
        ),
    ],
)
def test_what_cannot_be_divided_is_refused(workload: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        served(**workload)
    assert str(error.value) == message


def test_own_sequences_and_separate_pools_exclude_each_other() -> None:
    table = {
        "workload": {"kind": "serving", "network": "deepseek-v3", "prompt": 1024, "output": 300,
                     "expert_parallel": True, "attention_dp": True},
        "load": {"rate": "20/s"},
        "candidates": {"gpus": ["h200"], "disaggregated": ["1:1"]},
    }  # fmt: skip
    with pytest.raises(InputError, match="expected one of the two"):
        read(table)


def test_every_gpu_with_sequences_of_its_own_is_a_queue() -> None:
    row = Row(
        "h200_sxm", "H200 SXM", 16, "vllm", "fp8", "fits", split=8, queues=8, expert_parallel=True
    )
    assert (row.replicas, row.servers) == (2, 16)
    assert row.layout == " as 2 replicas of dp=8 with whole experts"


def test_a_spec_may_ask_for_both() -> None:
    work = served(expert_parallel=True, attention_dp=True).workload
    assert work.expert_parallel and work.attention_dp
