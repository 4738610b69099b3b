"""The device of a network and its inputs changes nothing; their bytes are counted once."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode

from simulator.networks.catalogue import build
from simulator.records import Trace
from simulator.tracing import trace
from tests.simulator.conftest import SEQ, SMALL, small


def lines(traced: Trace) -> list[Any]:
    return [(op.signature, op.module, op.phase, op.storages) for op in traced.ops]


@pytest.mark.layered(5)
@pytest.mark.parametrize("phase", ["inference", "training"])
@pytest.mark.parametrize("name", ["bert-base", "resnet18", "gru"])
def test_networks_on_the_cpu_and_without_memory_give_one_trace(name: str, phase: str) -> None:
    training = phase == "training"
    module, inputs = small(name, training=training)
    want = trace(module, inputs, phase=phase)
    on_cpu = build(name, **SMALL[name])
    real: tuple[Tensor, ...] = on_cpu.example_inputs(4, SEQ, training)  # pyright: ignore
    mode = FakeTensorMode()
    fake = tuple(mode.from_tensor(x) for x in real)
    for network, given in [(on_cpu, real), (on_cpu, inputs), (module, real), (module, fake)]:
        step = trace(network, given, phase=phase)
        assert lines(step) == lines(want)
        assert step.storages == want.storages


def test_a_network_made_of_fake_tensors() -> None:
    with FakeTensorMode():
        module, x = nn.Linear(8, 8), torch.ones(2, 8)
    assert lines(trace(module, (x,))) == lines(trace(nn.Linear(8, 8), (torch.ones(2, 8),)))


def test_arguments_by_name_and_in_nests() -> None:
    class Nested(nn.Module):
        def forward(self, pair: tuple[Tensor, dict[str, Tensor]], *, scale: float) -> Tensor:
            return pair[0] * scale + pair[1]["more"]

    x = torch.ones(3, 5)
    traced = trace(Nested(), ((x, {"more": x[0]}),), {"scale": 2.0})
    assert traced.names() == ["aten.mul.Tensor", "aten.add.Tensor"]
    assert traced.ops[0].signature.arg("other") == 2.0
    assert traced.samples == 3


def test_samples_and_tokens() -> None:
    module, inputs = small("bert-base", batch=3)
    traced = trace(module, inputs)
    assert (traced.samples, traced.tokens) == (3, 3 * SEQ)
    module, inputs = small("resnet18", batch=3)
    traced = trace(module, inputs)
    assert (traced.samples, traced.tokens) == (3, None)


def test_tied_weights_are_counted_once() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens = nn.Embedding(100, 8)
            self.head = nn.Linear(8, 100, bias=False)
            self.head.weight = self.tokens.weight

        def forward(self, ids: Tensor) -> Tensor:
            return self.head(self.tokens(ids))

    ids = torch.zeros(2, 4, dtype=torch.int64)
    traced = trace(Tied(), (ids,), phase="training")
    # one matrix of 100·8 = 800 weights takes 3,200 bytes; so do its gradient and each of two
    # moments
    assert (traced.parameters, traced.weight_bytes) == (800, 3200)
    by_role = {
        role: [s.nbytes for s in traced.storages if s.role == role and s.nbytes > 4]
        for role in ("weight", "gradient", "optimizer")
    }
    assert by_role == {"weight": [3200], "gradient": [3200], "optimizer": [3200, 3200]}


def test_weights_that_are_views_of_one_memory_share_it() -> None:
    module = nn.Module()
    whole = torch.zeros(6, 4)
    module.top, module.bottom = nn.Parameter(whole[:3]), nn.Parameter(whole[3:])
    module.forward = lambda x: x @ module.top.t()  # pyright: ignore
    traced = trace(module, (torch.ones(2, 4),))
    assert traced.parameters == 24 and traced.weight_bytes == 96


def test_buffers_are_the_networks_and_no_weights() -> None:
    module = nn.BatchNorm1d(8)
    traced = trace(module, (torch.ones(4, 8),))
    assert traced.parameters == 16
    # running mean and variance, 32 bytes each, and the count of batches, an int64
    assert [s.nbytes for s in traced.storages if s.role == "buffer"] == [32, 32, 8]
    assert all(s.born == -1 and s.freed is None for s in traced.storages if s.role == "buffer")


def test_strides_of_weights_and_inputs_are_kept() -> None:
    x = torch.ones(2, 3, 8, 8).to(memory_format=torch.channels_last)
    module = nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last)
    op = trace(module, (x,)).ops[-1]
    assert op.inputs[0].stride == (192, 1, 24, 3)
    assert op.inputs[1].stride == (27, 1, 9, 3)
    assert op.outputs[0].stride == (144, 1, 24, 4)


@pytest.mark.slow
def test_seventy_billion_parameters_need_no_memory_here_and_too_much_there() -> None:
    code = """
import resource, torch
from simulator import predict_trace
from simulator.networks.catalogue import build
from simulator.tracing import trace
trace(torch.nn.Linear(4, 4), (torch.ones(2, 4),), phase="training")  # torch's lazy imports
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
with torch.device("meta"):
    module = build("llama3-70b")
    inputs = module.example_inputs(1, 2048, True)
traced = trace(module, inputs, phase="training")
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
fits = predict_trace(traced, gpu="h200").fits
print(traced.parameters, len(traced.ops), grown * 1024, int(fits))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    parameters, ops, grown_bytes, fits = map(int, done.stdout.split())
    assert parameters == 70_553_706_496 and ops > 10_000
    assert grown_bytes < 1.5e9
    assert not fits  # 70.6 billion weights, five tensors of 4 bytes each
