"""LoRA: its results, its trained parameters, and the trace of its step."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from simulator import InputError
from simulator.networks.catalogue import build
from simulator.scenario.resolve import resolve
from simulator.scenario.scenario import Scenario
from simulator.scenario.trace_source import trace_resolved

SMALL = {"width": 32, "layers": 2, "heads": 4, "kv_heads": 2, "hidden": 48, "vocab": 50}
TRAINED = Scenario(
    "llama3-8b", batch=1, seq=64, dtype="bf16", gpu="h100", training=True, optimizer="adamw",
    sizes={"layers": 2},
)  # fmt: skip


def test_adapters_add_a_product_of_low_rank() -> None:
    """y = W·x + 2·B·(A·x); B is initially 0, so that the network computes the same as without
    adapters.
    """
    torch.manual_seed(0)
    plain: Any = build("llama3-8b", **SMALL)
    adapted: Any = build("llama3-8b", **SMALL, lora_rank=4)
    weights = plain.state_dict()
    own = adapted.state_dict()
    adapted.load_state_dict(own | {name: weights[name.replace(".base.", ".")] for name in own
                                   if name.replace(".base.", ".") in weights})  # fmt: skip
    ids = torch.randint(0, 50, (2, 7))
    torch.testing.assert_close(adapted(ids), plain(ids))
    linear = adapted.layers[0].attention.query
    torch.nn.init.normal_(linear.up.weight)
    x = torch.randn(3, 32)
    low_rank = 2 * linear.up.weight @ linear.down.weight
    torch.testing.assert_close(linear(x), x @ (linear.base.weight + low_rank).T)


def test_adapters_alone_are_trained() -> None:
    """Llama 3 8B, rank 16 at query and value: 32 · 16 · (4096 + 4096 + 4096 + 1024) = 6,815,744,
    as PEFT counts them."""
    with torch.device("meta"):
        network = build("llama3-8b", lora_rank=16)
    trained = {name: p.numel() for name, p in network.named_parameters() if p.requires_grad}
    assert sum(trained.values()) == 6_815_744
    assert {name.split(".")[-2] for name in trained} == {"down", "up"}
    assert {name.split(".")[-3] for name in trained} == {"query", "value"}


def test_memory_of_a_step_is_that_of_frozen_weights_and_trained_adapters() -> None:
    """Two layers: 2 · 212,992 = 425,984 adapters, whose gradients take 2 bytes each and whose two
    moments 4, plus a step count of 4 bytes for each of the 8 tensors. All weights take 2 bytes: 2 ·
    218,112,000 of layers, 2 · 525,336,576 of table and head, 4,096 of the norm, adapters."""
    sizes = {**TRAINED.sizes, "lora_rank": 16}
    trace = trace_resolved(resolve(replace(TRAINED, sizes=sizes)))
    held = {
        role: sum(s.nbytes for s in trace.storages if s.role == role)
        for role in ("weight", "gradient", "optimizer")
    }
    parameters = 2 * 218_112_000 + 2 * 525_336_576 + 4_096 + 425_984
    assert trace.parameters == parameters
    assert held["weight"] == 2 * parameters
    assert held["gradient"] == 2 * 425_984
    assert held["optimizer"] == 4 * 425_984 + 8 * 4


def test_frozen_weights_have_no_product_of_a_gradient() -> None:
    """Full training has two gradient products for each of 2 · 7 + 1 linear layers. With adapters,
    each of 4 adapters has 2 · 2, minus the 2 input gradients of the first layer; frozen weights
    have only the gradient of the input: 7 in the second layer, 4 after attention in the first, and
    that of the head."""
    adapted = trace_resolved(resolve(replace(TRAINED, sizes={**TRAINED.sizes, "lora_rank": 16})))
    full = trace_resolved(resolve(TRAINED))
    backward = [[op.name for op in t.ops if op.phase == "backward"] for t in (adapted, full)]
    assert [names.count("aten.mm.default") for names in backward] == [4 * 4 - 2 + 7 + 4 + 1, 2 * 15]
    embedding = "aten.embedding_dense_backward.default"
    assert [embedding in names for names in backward] == [False, True]


@pytest.mark.parametrize(("sizes", "message"), [
    ({"lora_rank": 0}, "lora_rank = 0: expected a whole number from 1; correct it"),
    ({"lora_rank": 8, "lora_modules": "q_proj"},
     "lora_modules: no linear layer is named 'q_proj': expected query, key, value, out, gate, up, "
     "down, head; choose some of them"),
])  # fmt: skip
def test_invalid_adapters_are_refused(sizes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        build("llama3-8b", **SMALL, **sizes)
    assert str(error.value) == message
