"""Training plans that split their steps over GPUs by tensor and pipeline parallelism."""

from __future__ import annotations

from typing import Any

import pytest

from simulator import plan
from simulator.cluster.layout import Layout
from simulator.cluster.step import NetworkStep
from simulator.errors import InputError
from simulator.hardware.gpu import gpu
from simulator.parallel.predict_step import predict_network
from simulator.planning.batches.search import ring
from simulator.planning.batches.sharded import machines
from simulator.planning.batches.split import too_large
from simulator.planning.spec_file import read

WORK = {"kind": "training", "network": "gpt2", "tokens": "100M", "batch": 2, "seq": 64}
SPEC: dict[str, Any] = {
    "workload": WORK,
    "candidates": {
        "gpus": ["l40s"],
        "counts": [2],
        "engines": ["eager"],
        "precisions": ["bf16"],
        "parallel": ["tensor", "pipeline"],
    },
}


@pytest.fixture(scope="module")
def answer() -> Any:
    return plan(SPEC)


def test_both_ways_over_two_cards_are_planned(answer: Any) -> None:
    """Two GPUs have a tensor group, or a pipeline of two stages with micro-batches of 1 or 2; only
    two splits are predicted in full."""
    spreads = {row.spread for row in answer.rows}
    others = [name for name in answer.pruned if name.startswith("2 × L40S, ")]
    assert len(spreads) + len(others) >= 2 and len(spreads) <= 2
    assert all("tp=2" in text or "pp=2" in text for text in (*spreads, *others))
    for row in answer.rows:
        assert row.configuration == f"2 × L40S, {row.spread}, eager, bf16"
        assert row.joint and not row.sharded and row.replicas == 2


def test_its_duration_follows_from_the_step_over_both_cards(answer: Any) -> None:
    """100 million tokens in steps of 2 GPUs · 2 · 64 tokens, 4 samples in each."""
    row = answer.best
    step = NetworkStep("gpt2", 4, 64, "bf16", True, "adamw")
    seconds = predict_network(step, row.spread, "2xl40s").period_s
    assert row.duration_s == pytest.approx(100e6 / (2 * 2 * 64) * seconds)
    named = {a.name: a.value for a in answer.assumptions}
    assert named["weights, gradients, optimizer"] == row.spread
    assert named["not modelled"] == "data loading"


def test_only_the_ways_of_the_spec_are_tried() -> None:
    spec = SPEC | {"candidates": SPEC["candidates"] | {"parallel": ["tensor"]}}
    answer = plan(spec)
    assert {row.spread for row in answer.rows} == {"tp=2"}
    assert not any("pp=" in name for name in answer.pruned)


@pytest.mark.parametrize(("layout", "gib"), [
    (Layout(1, 2, 1), 131.4), (Layout(1, 2, 2), 65.7), (Layout(2, 2, 1, fsdp=True), 65.7),
    (Layout(2, 2, 1), 131.4),
])  # fmt: skip
def test_splits_without_room_for_weights_and_gradients_are_not_traced(
    layout: Layout, gib: float
) -> None:
    """2 · 141.1e9 bytes are divided over tp · pp ranks, and over dp only if they are sharded; a
    card has 141 GB."""
    reason = too_large(layout, 141.1e9, 141e9 if gib < 100 else 80e9)
    assert reason == (
        "" if gib < 100 else "weights and gradients of 131.4 GiB do not fit in 74.5 GiB"
    )


def test_more_than_eight_gpus_are_nodes_of_eight() -> None:
    group = machines(gpu("h100"), 32, 25e9)
    assert (group.nodes, group.gpus_per_node, group.gpus) == (4, 8, 32)
    assert group.network is not None and group.network.bandwidth_bytes_per_s == 25e9
    assert machines(gpu("h100"), 4, 25e9).network is None
    for count in (1, 12):
        with pytest.raises(InputError, match=rf"count {count}: expected 2 to 8 GPUs of one node"):
            machines(gpu("h100"), count, 25e9)


def test_replicas_on_several_nodes_wait_for_the_network() -> None:
    """Eight network cards of 400 Gb/s send 400 GB/s, less than NVLink's 450; of 100 Gb/s they send
    100 GB/s."""
    card = gpu("h100")
    assert ring(card, 8, 1e9, 12.5e9) == pytest.approx(2 * 7 / 8 / 450)
    assert ring(card, 16, 1e9) == pytest.approx(2 * 15 / 16 / 400)
    assert ring(card, 16, 1e9, 12.5e9) == pytest.approx(2 * 15 / 16 / 100)


def test_the_network_is_read_for_training_alone() -> None:
    candidates = SPEC["candidates"] | {"network": "200 Gb/s"}
    assert read(SPEC | {"candidates": candidates}).candidates.network_bytes_per_s == 25e9
    served = {"kind": "inference", "network": "resnet18"}
    with pytest.raises(InputError, match=r"candidates\.network does not apply to inference"):
        read({"workload": served, "candidates": {"network": "200 Gb/s"}})
