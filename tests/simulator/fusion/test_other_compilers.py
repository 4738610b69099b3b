"""The launches of the fusion levels that model other compilers, op by op, on one small network."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simulator import trace
from simulator.fusion import LIKE, fused
from simulator.fusion.rules import Level
from simulator.hardware.gpu import gpu
from simulator.scenario.registry import named
from simulator.scenario.scenario import Scenario, predict
from simulator.whatif import apply


class Block(nn.Module):
    """A product, an activation, a norm, and two loops over its result."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.norm = nn.Linear(64, 128), nn.LayerNorm(128)
        self.down = nn.Linear(128, 64)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x = self.norm(F.gelu(self.up(x)) + 1)
        return torch.exp(x), torch.tanh(x), torch.relu(self.down(x)) * 2


PRODUCT, NORM = "addmm", "native_layer_norm"
LAUNCHES: dict[Level, list[str]] = {
    # eager, torch.jit and torch.fx: addmm gelu add norm exp tanh addmm relu mul
    "none": [PRODUCT, "gelu", "add", NORM, "exp", "tanh", PRODUCT, "relu", "mul"],
    "pointwise": [PRODUCT, "gelu add", NORM, "exp", "tanh", PRODUCT, "relu mul"],
    "pointwise+reductions": [PRODUCT, "gelu add native_layer_norm exp tanh", PRODUCT, "relu mul"],
    "compiled": [PRODUCT, "gelu add native_layer_norm exp tanh", PRODUCT, "relu mul"],
    # the moments, then the loops over their inputs
    "xla": [PRODUCT, "gelu add native_layer_norm", "gelu add native_layer_norm exp tanh", PRODUCT,
            "relu mul"],
    "nvfuser": [PRODUCT, "gelu add native_layer_norm exp tanh", PRODUCT, "relu mul"],
    "tensorrt": ["addmm gelu add", NORM, "exp", "tanh", "addmm relu mul"],
}  # fmt: skip


def launches(level: Level) -> list[str]:
    step = trace(Block().bfloat16(), (torch.zeros(32, 64, dtype=torch.bfloat16),))
    compiled = fused(step, gpu("h200"), level).trace
    return [
        str(op.signature.args["ops"]).replace(",", "")
        if op.name.startswith("fused.")
        else op.name.split(".")[1]
        for op in compiled.ops
        if op.name.split(".")[1] not in ("t", "view", "detach")
    ]


@pytest.mark.parametrize("level", LAUNCHES)
def test_launches(level: Level) -> None:
    assert launches(level) == LAUNCHES[level]


def test_each_that_is_like_another_compiler_has_its_launches() -> None:
    assert set(LIKE) < set(LAUNCHES)


def test_a_traced_step_has_no_python_and_eager_kernels() -> None:
    """As with torch.jit and torch.fx."""
    eager = Scenario("mlp-tiny", batch=8)
    traced = apply(eager, "no_python")
    before, after = predict(eager), predict(traced)
    assert after.trace.names() == before.trace.names()
    assert after.kernel_count == before.kernel_count and after.host_s < before.host_s


def test_the_help_explains_the_approximations() -> None:
    text = " ".join(named("fusion").help.split())
    assert (
        "xla, nvfuser and tensorrt are approximations from published descriptions, without "
        "measurements" in text
    )
    assert "traced by torch.jit or torch.fx" in " ".join(named("no_python").help.split())
