"""Ranks that hold all weights take the fast path of attention where one GPU takes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulator.cluster.step import NetworkStep
from simulator.parallel.predict_step import predict_network
from simulator.scenario.predict import predict
from simulator.scenario.scenario import Scenario

NETS = """
import torch
from torch import nn

class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        layers = [nn.TransformerEncoderLayer(512, 8, batch_first=True) for _ in range(2)]
        self.blocks = nn.Sequential(*layers)
    def forward(self, x):
        return self.blocks(x)
    def example_inputs(self, batch=1, seq=128):
        return (torch.empty(batch, seq, 512),)
"""
LAYER = "aten._transformer_encoder_layer_fwd.default"


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> str:
    path: Path = tmp_path_factory.mktemp("nets") / "encoders.py"
    path.write_text(NETS, "utf-8")
    return f"{path}:Encoder"


def test_one_gpu_launches_ten_kernels_a_layer(network: str) -> None:
    p = predict(Scenario(network, batch=1, seq=128, dtype="bf16", gpu="h200"))
    assert [op.name for op in p.trace.ops] == [LAYER, LAYER]
    assert len(p.kernels) == 20


@pytest.mark.parametrize(("cluster", "layout"), [("1xh200", "dp=1"), ("2xh200", "dp=2 ddp")])
def test_a_replica_launches_the_kernels_of_one_gpu(network: str, cluster: str, layout: str) -> None:
    step = NetworkStep(network, batch=1, seq=128, dtype="bf16", training=False)
    (rank,) = predict_network(step, layout, cluster).ranks
    assert [op.name for op in rank.trace.ops] == [LAYER, LAYER]
    assert len(rank.kernels) == 20


def test_hooks_of_fsdp_keep_a_layer_from_it(network: str) -> None:
    step = NetworkStep(network, batch=1, seq=128, dtype="bf16", training=False)
    (rank,) = predict_network(step, "dp=2 fsdp", "2xh200").ranks
    assert LAYER not in [op.name for op in rank.trace.ops]
