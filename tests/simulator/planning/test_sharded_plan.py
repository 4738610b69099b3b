"""Training plans whose weights are sharded over GPUs."""

from __future__ import annotations

from typing import Any

import pytest

from simulator import plan
from simulator.cluster.step import NetworkStep
from simulator.errors import InputError
from simulator.parallel.predict_step import predict_network
from simulator.planning.spec_file import read

WORK = {
    "kind": "training", "network": "llama3-8b", "tokens": "100M", "batch": 1, "seq": 256,
    "accumulation": 2,
}  # fmt: skip
SPEC: dict[str, Any] = {
    "workload": WORK,
    "candidates": {
        "gpus": ["l40s"],
        "counts": [1, 2],
        "engines": ["eager"],
        "precisions": ["bf16"],
        "parallel": ["replicas", "fsdp"],
    },
}


@pytest.fixture(scope="module")
def answer() -> Any:
    return plan(SPEC)


def test_a_network_that_does_not_fit_one_card_is_sharded_over_two(answer: Any):
    """8.03 billion parameters take 8 bytes each with their gradients and AdamW's state in bf16:
    59.8 GiB. An L40S holds 45 GiB, and each of two needs only 30."""
    rows = {(row.sharded, row.count): row for row in answer.rows}
    assert set(rows) == {(False, 1), (True, 2)}
    assert rows[False, 1].status == "no memory"
    best = rows[True, 2]
    assert best.configuration == "2 × L40S, sharded, eager, bf16"
    assert 0.62 < best.memory_share < 0.95
    assert answer.pruned["1 × L40S, sharded or split, eager, bf16"] == (
        "count 1: expected 2 to 8 GPUs of one node, or a multiple of 8"
    )


def test_its_duration_follows_from_the_step_over_two_cards(answer: Any):
    """100 million tokens in steps of 2 GPUs · 2 · 256 tokens."""
    step = NetworkStep("llama3-8b", 1, 256, "bf16", True, "adamw")
    seconds = predict_network(step, "dp=2 fsdp", "2xl40s").period_s
    assert answer.best.duration_s == pytest.approx(100e6 / (2 * 2 * 256) * 2 * seconds)
    assert answer.best.per_s == pytest.approx(2 * 256 / seconds)


def test_its_assumptions_name_the_sharding(answer: Any):
    named = {a.name: a.value for a in answer.assumptions}
    assert named["weights, gradients, optimizer"] == "sharded over 2 GPUs"
    assert named["accumulation"] == "2 steps"


@pytest.mark.parametrize(("section", "key", "value", "message"), [
    ("candidates", "parallel", ["zero"], "candidates.parallel = 'zero': expected one of replicas"),
    ("workload", "lora_rank", 8, 'candidates.parallel = "fsdp" with workload.lora_rank: expected'),
    ("workload", "batch", None, "workload.batch is missing: expected the batch of each GPU for"),
])  # fmt: skip
def test_choices_that_cannot_be_sharded(section: str, key: str, value: Any, message: str):
    spec = SPEC | {section: {k: v for k, v in (SPEC[section] | {key: value}).items() if v}}
    with pytest.raises(InputError) as error:
        read(spec)
    assert str(error.value).startswith(message)


def test_a_card_without_room_for_a_replica_says_how_to_shard_it():
    alone = SPEC["candidates"] | {"counts": [1], "parallel": ["replicas"]}
    (row,) = plan(SPEC | {"candidates": alone}).rows
    assert row.reason.endswith(
        ' GiB; candidates.parallel = ["fsdp", "tensor", "pipeline"] shards or splits it'
    )


def test_only_training_is_sharded():
    served = {"kind": "inference", "network": "resnet18"}
    with pytest.raises(InputError, match=r"candidates\.parallel does not apply to inference"):
        read({"workload": served, "candidates": {"parallel": ["fsdp"]}})


def test_compiled_steps_are_left_out_by_name():
    work = {"kind": "training", "network": "resnet18", "samples": "1M", "batch": 8}
    candidates = {"gpus": ["h100"], "counts": [2], "engines": ["compiled+graph"]}
    spec = {"workload": work, "candidates": candidates | {"parallel": ["replicas", "fsdp"]}}
    assert plan(spec).pruned["H100 SXM5 80GB, sharded or split, compiled+graph, bf16"] == (
        'sharded and split steps are predicted in eager mode only; add "eager" to '
        "candidates.engines"
    )
