"""Replicas over several GPUs: their step, their memory, and the GPU counts of whole replicas."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import pytest
import torch
from msgspec import structs

from simulator import InputError
from simulator.cluster.step import NetworkStep
from simulator.collectives.price import collective_time
from simulator.hardware.gpu import gpu
from simulator.networks.catalogue import build
from simulator.parallel.predict_step import predict_network
from simulator.planning import serve_search
from simulator.planning.bounds import bound, splits
from simulator.planning.result import Row
from simulator.planning.serve_plan import candidate
from simulator.planning.serve_search import of_card
from simulator.planning.spec_file import read
from simulator.planning.step import rank_step
from simulator.planning.step.rank_step import (
    Communication,
    communication,
    communication_share,
    node,
    with_communication,
)
from simulator.planning.step.scenarios import base_scenario
from simulator.planning.step.step_time import constant
from simulator.planning.step.tables import Machine, machine
from simulator.planning.step.traced_step import NetworkSize, of_rank, parts, steps
from simulator.scenario.scenario import Scenario
from simulator.simulate.step_columns import StepColumns
from simulator.timing.profile import learned

SERVE: dict[str, Any] = {
    "workload": {"kind": "serving", "network": "llama3-70b", "prompt": 512, "output": 100},
    "load": {"rate": "8/s"},
    "limits": {"per_token": "100 ms"},
    "candidates": {"gpus": ["h100"], "counts": [1, 2, 3, 4, 8]},
    "simulation": {"requests": 600},
}
SIZE = NetworkSize(70.55e9, 70.55e9 - 128256 * 8192)


def spec(**candidates: Any) -> Any:
    table = deepcopy(SERVE)
    table["candidates"] |= candidates
    return read(table)


def test_ranks_together_compute_the_same_as_one_gpu() -> None:
    """The sum of the ranks' outputs after attention and after the feed-forward layer, and their
    concatenated logits, equal those of the whole network."""
    sizes = {"width": 32, "layers": 2, "heads": 4, "kv_heads": 2, "hidden": 48, "vocab": 50}
    torch.manual_seed(0)
    whole: Any = build("llama3-8b", **sizes)
    ranks: list[Any] = [build("llama3-8b", **sizes, ranks=2) for _ in range(2)]
    by_rows = ("query", "key", "value", "gate", "up", "head", "tokens")
    for number, rank in enumerate(ranks):
        own = {}
        for name, weight in whole.state_dict().items():
            layer = name.split(".")[-2]
            if layer in by_rows:
                own[name] = weight.chunk(2)[number]
            elif layer in ("out", "down"):
                own[name] = weight.chunk(2, dim=1)[number]
            else:
                own[name] = weight
        rank.load_state_dict(own)
    ids = torch.randint(0, 50, (2, 7))
    x = whole.tokens(ids)
    cos, sin = whole.rope(torch.arange(7), x.dtype)
    for number, layer in enumerate(whole.layers):
        each = [rank.layers[number] for rank in ranks]
        x = x + sum(r.attention(layer.attention_norm(x), cos, sin) for r in each)
        x = x + sum(r.feed_forward(layer.norm(x)) for r in each)
    logits = torch.cat([rank.head(whole.norm(x)) for rank in ranks], dim=-1)
    assert torch.allclose(logits, whole(ids), atol=1e-5)


@pytest.mark.parametrize("ranks", [0, 3, 16])
def test_ranks_that_do_not_divide_are_refused(ranks: int) -> None:
    with pytest.raises(ValueError) as error:
        build("llama3-8b", ranks=ranks)
    assert str(error.value) == f"ranks = {ranks} does not divide kv_heads = 8: use a divisor"


def test_the_bytes_of_collectives_are_those_of_the_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    """16 sequences of one token: 2 · 80 + 1 all-reduces of 16 · 8192 elements of 2 bytes, and one
    all-gather of 16 · 128,256 logits."""
    collectives: list[tuple[str, int]] = []

    def timed(kind: str, message_bytes: int, *rest: Any, **more: Any) -> Any:
        collectives.append((kind, message_bytes))
        return collective_time(kind, message_bytes, *rest, **more)

    monkeypatch.setattr(rank_step, "collective_time", timed)
    group = node(gpu("h100"), 4)
    moved = communication("llama3-70b", [(16, 1)], "bf16", group, "cuda_graph")
    assert collectives == [("all_reduce", 16 * 8192 * 2), ("all_gather", 16 * 128256 * 2)]
    reduce_s, gather_s = (collective_time(*each, group, mode="cuda_graph") for each in collectives)
    gap_s = learned("h100_sxm").graph_gap_s
    assert moved.seconds[0] == pytest.approx(
        161 * reduce_s.seconds + gather_s.seconds + 162 * gap_s
    )
    assert moved.low_s[0] < moved.seconds[0] < moved.high_s[0]
    assert moved.issue_s[0] == 0.0
    eager = communication("llama3-70b", [(16, 1)], "bf16", group, "eager")
    assert eager.issue_s[0] > 0.0


def step_of(**figures: float) -> StepColumns[Any]:
    plain = dict.fromkeys(StepColumns._fields, 0.0)
    return StepColumns(**{name: np.array([v]) for name, v in (plain | figures).items()})


def test_a_captured_step_takes_its_kernels_and_then_its_collectives() -> None:
    """Kernels take 10 ms (−3, +4) and collectives 5 ms (−4, +3): 15 ms, −√(3² + 4²) = −5 and +√(4²
    + 3²) = +5. A third is communication."""
    ms = 1e-3
    rank = step_of(period_s=10 * ms, low_s=7 * ms, high_s=14 * ms, compute=0.3, memory=0.6,
                   overhead=0.1, gpu_busy_s=10 * ms)  # fmt: skip
    moved = Communication(*(np.array([s * ms]) for s in (5, 1, 8, 0, 0, 0)))
    both = with_communication(rank, moved, gpu("h100"), "cuda_graph")
    assert (both.period_s[0], both.low_s[0], both.high_s[0]) == pytest.approx((0.015, 0.01, 0.02))
    assert both.compute[0] == pytest.approx(0.2) and both.memory[0] == pytest.approx(0.4)
    assert communication_share(both)[0] == pytest.approx(1 / 3)


def test_a_host_that_takes_longest_hides_collectives() -> None:
    """The host takes 12 ms and 2 ms more to issue collectives, the GPU 6 + 5 ms: 14 ms."""
    ms = 1e-3
    rank = step_of(
        period_s=12 * ms, gpu_busy_s=6 * ms, host_s=12 * ms, low_s=12 * ms, high_s=12 * ms
    )
    moved = Communication(*(np.array([s * ms]) for s in (5, 5, 5, 2, 0, 0)))
    both = with_communication(rank, moved, gpu("h100"), "eager")
    assert both.period_s[0] == pytest.approx(0.014)


def test_an_eager_step_whose_host_is_ahead_takes_both() -> None:
    """A GPU with gaps takes 10 ms, its host 4 ms, and collectives take 5 ms: 15 ms."""
    ms = 1e-3
    long = dict.fromkeys(("period_s", "low_s", "high_s"), 10 * ms)
    rank = step_of(gpu_busy_s=9 * ms, host_s=4 * ms, **long)
    moved = Communication(*(np.array([s * ms]) for s in (5, 5, 5, 2, 0, 0)))
    both = with_communication(rank, moved, gpu("h100"), "eager")
    assert both.period_s[0] == pytest.approx(0.015)


def test_a_rank_takes_as_long_as_one_of_a_traced_group() -> None:
    """A decode of 16 sequences over two H200s. The traced group splits neither the head nor the
    embedding, so each of its ranks reads the half of the head (128,256 · 8192 elements of 2 bytes)
    that a rank does not have."""
    card = gpu("h200")
    scenario = of_rank(base_scenario("llama3-70b-decode", card, "bf16", "cuda_graph"), 2)
    moved = communication("llama3-70b", [(16, 1)], "bf16", node(card, 2), "cuda_graph")
    own = with_communication(steps(scenario, [(16, 1024)]), moved, card, "cuda_graph")
    step = NetworkStep("llama3-70b-decode", 16, 1024, "bf16")
    group = predict_network(step, "tp=2", "2xh200", mode="cuda_graph")
    head_s = 128256 * 8192 * 2 / 2 / card.bandwidth_bytes_per_s
    assert own.period_s[0] == pytest.approx(group.period_s - head_s, rel=0.005)


def test_a_rank_is_predicted_from_one_and_two_layers() -> None:
    whole = Scenario("llama3-70b-decode", sizes={})
    assert parts(whole) == ((1.0, whole),)
    rank = Scenario("llama3-70b-decode", sizes={"ranks": 4})
    weighted = [(weight, dict(part.sizes)) for weight, part in parts(rank)]
    assert weighted == [(-78.0, {"ranks": 4, "layers": 1}), (79.0, {"ranks": 4, "layers": 2})]


def test_weights_and_cache_are_divided() -> None:
    """A rank has half of all weights, except 161 norms of 8192 weights, and 4 of 8 cache heads."""
    work = spec().workload
    two = machine(work, gpu("h200"), "bf16", "compiled+graph", 2)
    whole = 2 * 70_553_706_496  # Llama 3 70B in bf16, in bytes
    norms = 2 * 161 * 8192
    assert two.weight_bytes == pytest.approx((whole - norms) / 2 + norms, abs=1000)
    assert two.cache_bytes_per_token == 80 * 2 * 4 * 128 * 2
    assert two.split == 2 and sum(two.shares.values()) == pytest.approx(1.0)
    assert 0 < two.shares["communication"] < 0.5


def fixed(split: int, seconds: float = 0.02) -> Machine:
    nothing = np.full(257, np.nan)
    return Machine(
        constant(seconds, 256), 1e10, 0.0, 1000.0, {"memory": 0.4, "communication": 0.6}, "bf16",
        nothing, nothing, split,
    )  # fmt: skip


@pytest.mark.parametrize(("count", "split"), [(4, 1), (4, 2), (8, 2), (8, 8), (64, 4)])
def test_replicas_times_their_gpus_are_all_gpus(count: int, split: int) -> None:
    row = candidate(spec(), gpu("h100"), count, "vllm", "bf16", fixed(split))
    alone = candidate(spec(), gpu("h100"), count // split, "vllm", "bf16", fixed(1))
    assert row.replicas * row.split == row.count == count
    assert row.largest_rate_per_s == alone.largest_rate_per_s
    assert (row.per_token_s, row.first_token_s) == (alone.per_token_s, alone.first_token_s)
    assert row.usd_per_h == pytest.approx(split * (alone.usd_per_h or 0.0))
    assert row.binds == "communication"


def test_a_row_names_its_replicas() -> None:
    def name(count: int, split: int) -> str:
        return Row("h", "H100", count, "vllm", "bf16", "fits", split).configuration

    assert name(8, 2) == "8 × H100 as 4 replicas of tp=2, vllm, bf16"
    assert name(8, 8) == "8 × H100 as 1 replica of tp=8, vllm, bf16"
    assert name(8, 1) == "8 × H100, vllm, bf16"


def test_only_whole_replicas_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve_search, "machine", lambda *arguments: fixed(arguments[-1], 0.001))
    tried = of_card(spec(splits=[2, 4]), SIZE, ("bf16", gpu("h100")))
    assert [(row.count, row.split) for row in tried.rows] == [(2, 2), (4, 2), (4, 4), (8, 4)]
    assert tried.pruned == {
        "8 × H100 SXM5 80GB, tp=2, vllm, bf16": "fewer GPUs of this kind meet every limit"
    }
    few = of_card(spec(counts=[1, 2], splits=[4]), SIZE, ("bf16", gpu("h100")))
    assert few.pruned == {"H100 SXM5 80GB, tp=4, bf16": "no count of 1, 2 is a multiple of 4"}


@pytest.mark.parametrize(("card", "precision", "tried"), [
    ("h200", "bf16", (1, 2)), ("h200", "fp8", (1,)), ("h100", "bf16", (1, 2)),
    ("l40s", "bf16", (1, 4)), ("l4", "bf16", (1, 8)), ("rtx4060ti_8", "bf16", (1,)),
])  # fmt: skip
def test_the_fewest_gpus_that_hold_the_weights_are_tried(
    card: str, precision: str, tried: tuple[int, ...]
) -> None:
    """141 GB of weights: 2 cards of 80 GB or of 141 GB at 90%, 4 of 48 GB, 8 of 24 GB."""
    assert splits(spec(gpus=[card]), gpu(card), precision, SIZE) == tried


def test_a_replica_that_does_not_fit_names_a_split_that_fits() -> None:
    plan = spec(gpus=["h100", "rtx4060ti_8"])
    one = bound(plan, gpu("h100"), "bf16", SIZE)
    assert one is not None and one.reason == (
        "weights of 131.4 GiB do not fit in 72.0 GiB (90% of the memory); tp=2 holds them"
    )
    eight = bound(plan, gpu("rtx4060ti_8"), "bf16", SIZE, 8)
    assert eight is not None and eight.reason == (
        "weights of 16.4 GiB do not fit in 7.2 GiB (90% of the memory); no split over GPUs of one "
        "node holds them"
    )
    assert bound(plan, gpu("h100"), "bf16", SIZE, 2) is None


@pytest.mark.parametrize(("card", "split", "message"), [
    ("mi300x", 2, "its cards are linked by Infinity Fabric x7, whose collectives are not known"),
    ("h100_nvl", 4, "no link joins 4 of its cards: NVLink4 bridge joins two"),
])  # fmt: skip
def test_cards_without_known_links_say_so(card: str, split: int, message: str) -> None:
    with pytest.raises(InputError) as error:
        node(gpu(card), split)
    assert str(error.value) == message


def test_a_card_without_an_interconnect_is_not_split() -> None:
    alone = structs.replace(gpu("h100"), interconnect=None)
    with pytest.raises(InputError) as error:
        node(alone, 2)
    assert str(error.value) == "its cards have no link: its file gives no interconnect"


def test_a_node_has_the_links_of_its_card() -> None:
    assert (node(gpu("h100"), 8).link.fabric, node(gpu("l40s"), 4).link.fabric) == (
        "nvlink4", "pcie4"
    )  # fmt: skip
    assert node(gpu("h100_nvl"), 2).gpus == 2


@pytest.mark.parametrize("value", [3, 0, 16, "two", [], [2, 3], [True], 2.0])
def test_splits_that_are_refused(value: Any) -> None:
    with pytest.raises(InputError) as error:
        spec(splits=value)
    assert str(error.value) == (
        f"candidates.splits = {value!r}: expected GPUs of one replica, 1, 2, 4 or 8, which one "
        "node links and which divide the 8 heads of keys and values; write [1, 2, 4, 8]"
    )


def test_splits_mean_nothing_for_training() -> None:
    table = deepcopy(SERVE) | {
        "workload": {"kind": "training", "network": "resnet50", "samples": "1M"}, "load": {},
        "limits": {},
    }  # fmt: skip
    table["candidates"] = {"gpus": ["h100"], "per_gpu": {"h100": {"splits": [2]}}}
    with pytest.raises(InputError) as error:
        read(table)
    assert str(error.value) == (
        "candidates.splits does not apply to training: expected no such key, since each GPU is a "
        "separate replica; remove it"
    )
