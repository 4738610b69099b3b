"""FLOPs of whole networks against `torch.utils.flop_counter`, forward and backward, exactly.

The oracle runs over the same tensors without memory, with the same GPU semantics. It counts matrix
products, convolutions and attention; other kernels are not compared.
"""

from __future__ import annotations

from math import prod

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode, flop_registry

from simulator.costs import works
from simulator.hardware.gpu import gpu as find_gpu
from simulator.records import Trace
from simulator.tracing import trace
from simulator.tracing.loss import default_loss
from simulator.tracing.recorder import Recorder
from simulator.tracing.simulated_gpu import simulated_gpu
from tests.simulator.conftest import SMALL, small

CARD = find_gpu("h200")
KNOWN = {str(packet) for packet in flop_registry}
PRODUCTS = ("gemm", "conv", "attention")
RECURRENT = ("lstm", "gru")  # torch has no formula for cuDNN's op


def ours(traced: Trace) -> int:
    """FLOPs of the products in the ops that torch counts."""
    return sum(
        work.flops
        for op in traced.ops
        if op.name.rpartition(".")[0] in KNOWN
        for work in works(op.signature) or ()
        if work.family in PRODUCTS
    )


def torchs(module: nn.Module, inputs: tuple[object, ...], training: bool) -> int:
    counter = FlopCounterMode(display=False)
    with simulated_gpu(CARD, Recorder({}), module), torch.set_grad_enabled(training), counter:
        output = module(*inputs)
        if training:
            default_loss(output).backward()
    return counter.get_total_flops()


def grouped_excess(traced: Trace) -> int:
    """The FLOPs that torch counts in excess: it counts the weight gradient of a grouped convolution
    as that of an ungrouped one, which is `groups` times the work.
    """
    excess = 0
    for op in traced.ops:
        if op.name == "aten.convolution_backward.default":
            call = op.signature
            groups, kernel = call.arg("groups"), call["weight"].shape[1:]
            excess += (groups - 1) * 2 * call["grad_output"].numel * prod(kernel)
    return excess


@pytest.mark.layered(5, daily=["convnet-tiny", "convnext-t", "dlrm"])
@pytest.mark.parametrize("name", SMALL)
def test_forward_flops_are_torchs(name: str) -> None:
    module, inputs = small(name)
    module.eval()
    flops = ours(trace(module, inputs))
    assert flops == torchs(module, inputs, training=False) > 0


@pytest.mark.layered(5, daily=["swin-t", "t5-base"])
@pytest.mark.parametrize("name", SMALL)
def test_training_flops_are_torchs(name: str) -> None:
    module, inputs = small(name, training=True)
    module.train()
    traced = trace(module, inputs, phase="training", optimizer=None)
    assert ours(traced) == torchs(module, inputs, training=True) - grouped_excess(traced) > 0


@pytest.mark.parametrize("gpu", ["a100", "v100", "mi300x"])
def test_another_cards_attention_has_the_same_flops(gpu: str) -> None:
    """cuDNN's, flash, efficient and plain attention: in the backward pass flash and efficient
    attention recompute the scores once; plain attention stores them."""
    flops = [ours(trace(*small("gpt2"), gpu=card)) for card in ("h200", gpu)]
    assert flops[0] == flops[1]


def test_an_mlps_flops_by_hand() -> None:
    module, inputs = small("mlp-tiny", training=True)
    forward = ours(trace(*small("mlp-tiny")))
    # 2·4·(2·128·128 + 128·10) = 272,384
    assert forward == 2 * 4 * (2 * 128 * 128 + 128 * 10) == 272384
    # twice as many backward, except for the input of the first layer: 3·272,384 − 2·4·128·128 =
    # 686,080
    assert ours(trace(module, inputs, phase="training", optimizer=None)) == 686080


@pytest.mark.parametrize(
    ("name", "excess"),
    [
        # 15 times more for a depthwise 7×7 on [4, 16, 16, 16], and 31 times more for two on [4, 32,
        # 8, 8]: 15·2·4·16·256·49 + 2·31·2·4·32·64·49 = 24,084,480 + 49,774,592
        ("convnext-t", 73_859_072),
        ("resnet18", 0),
    ],
)
def test_excess_flops_of_torchs_counter(name: str, excess: int) -> None:
    module, inputs = small(name, training=True)
    traced = trace(module, inputs, phase="training", optimizer=None)
    assert torchs(module.train(), inputs, training=True) - ours(traced) == excess


@pytest.mark.parametrize(("name", "gates"), [("lstm", 4), ("gru", 3)])
def test_a_recurrent_networks_flops_by_hand(name: str, gates: int) -> None:
    op = next(o for o in trace(*small(name)).ops if o.name == "aten._cudnn_rnn.default")
    flops = sum(work.flops for work in works(op.signature) or () if work.family == "gemm")
    flops = flops or sum(work.flops for work in works(op.signature) or ())
    # a layer: 2·(4·16 rows)·(gates·32)·(32 + 32); two layers, plus pointwise work
    products = 2 * 2 * 64 * gates * 32 * 64
    assert products <= flops <= 1.1 * products
