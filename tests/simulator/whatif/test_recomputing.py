"""Recomputation against a trace of torch's own checkpoint."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from simulator.errors import InputError
from simulator.networks.catalogue import build
from simulator.records import Trace
from simulator.scenario.scenario import predict
from simulator.schedule.memory import memory
from simulator.tracing import trace
from simulator.whatif import apply
from simulator.whatif.edits.recomputing import Recomputed
from tests.simulator.conftest import SMALL
from tests.simulator.whatif.conftest import small_scenario

SIZES = {
    "llama3-1b": SMALL["llama3-1b"] | dict(layers=3),
    "gpt2": SMALL["gpt2"] | dict(layers=3, dropout=0.0),
    "bert-base": dict(width=64, layers=3, heads=4, hidden=128, vocab=100, dropout=0.0),
}


class Checkpointed(nn.Module):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, *args: Any) -> Any:
        return checkpoint(self.inner, *args, use_reentrant=False, preserve_rng_state=False)


def stepped(name: str, checkpointed: bool, seq: int = 64) -> Trace:
    with torch.device("meta"):
        module: Any = build(name, **SIZES[name])
        inputs = module.example_inputs(4, seq, training=True)
    layers = module.blocks if name == "gpt2" else module.layers
    if checkpointed:
        for i, layer in enumerate(layers):
            layers[i] = Checkpointed(layer)
    return trace(module, inputs, phase="training", optimizer=None)


@pytest.mark.parametrize("name", [*SIZES])
def test_the_ops_are_those_of_torchs_checkpoint(name: str):
    expected = stepped(name, True)
    recomputed = Recomputed("**.#")(stepped(name, False))
    saved = "aten.detach.default"  # a view of the saved tensor, without a kernel
    assert Counter(n for n in recomputed.names() if n != saved) == Counter(
        n for n in expected.names() if n != saved
    )


@pytest.mark.parametrize("name", [*SIZES])
def test_the_peak_of_memory_is_that_of_torchs_checkpoint(name: str):
    plain = stepped(name, False)
    expected = memory(stepped(name, True)).peak_bytes
    peak_bytes = memory(Recomputed("**.#")(plain)).peak_bytes
    assert peak_bytes < 0.9 * memory(plain).peak_bytes
    assert peak_bytes == expected


def test_a_longer_network_keeps_little_more():
    few, many = (
        small_scenario(
            "gpt2", sizes=dict(layers=n), seq=64, training=True, optimizer="none", dtype="bf16"
        )
        for n in (2, 6)
    )
    activations = [predict(s).memory.at_peak["activation"] for s in (few, many)]
    again = [predict(apply(s, "recompute")).memory.at_peak["activation"] for s in (few, many)]
    assert again[1] - again[0] < 0.35 * (activations[1] - activations[0])


def test_the_forward_of_a_block_runs_twice_and_its_work_with_it():
    base = small_scenario("llama3-1b", sizes=dict(layers=3), seq=64, training=True, dtype="bf16")
    before, after = predict(base), predict(apply(base, "recompute"))
    products = [sum(n == "aten.mm.default" for n in p.trace.names()) for p in (before, after)]
    # each of 3 layers has 7 products; the last (down) is not recomputed: 3·(7 − 1) = 18
    assert products[1] - products[0] == 18
    assert after.gpu_busy_s > before.gpu_busy_s
    assert after.peak_memory_bytes < before.peak_memory_bytes


def test_recomputing_is_refused_with_its_reason():
    inference = small_scenario("gpt2")
    with pytest.raises(InputError, match="recompute: the step is inference: expected training"):
        apply(inference, "recompute")
    training = small_scenario("gpt2", training=True)
    with pytest.raises(InputError, match=r"no module with a backward pass matches 'layers.\*'"):
        predict(apply(training, "recompute", {"modules": "layers.*"}))
    once = apply(training, "recompute")
    with pytest.raises(InputError, match="other modules are already recomputed"):
        apply(once, "recompute", {"modules": "blocks.0"})
    assert once == apply(training, "recompute")
