"""When modules of attention take one op in inference, as on a GPU without a mode of a trace."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from simulator.records import Trace
from simulator.tracing import trace

LAYER = "aten._transformer_encoder_layer_fwd.default"
ATTENTION = "aten._native_multi_head_attention.default"
X = torch.ones(2, 16, 64)


def layer(**options: Any) -> nn.TransformerEncoderLayer:
    return nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, **options)


def traced(module: nn.Module, *inputs: Tensor, **options: Any) -> Trace:
    return trace(module, inputs or (X,), **options)


def names(module: nn.Module, *inputs: Tensor, **options: Any) -> list[str]:
    return [op.name for op in traced(module, *inputs, **options).ops]


class Attends(nn.Module):
    """Attention of a sequence to itself, or to another one."""

    def __init__(self, weights: bool = True, **options: Any) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(64, 4, batch_first=True, **options)
        self.weights = weights

    def forward(self, x: Tensor, y: Tensor | None = None) -> Tensor:
        y = x if y is None else y
        out, weights = self.attention(x, y, y, need_weights=self.weights)
        return out if weights is None else out + weights.mean()


class Overriding(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


class UnderAMode(nn.Module):
    """A layer that a user runs under a mode of their own."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = layer()

    def forward(self, x: Tensor) -> Tensor:
        with Overriding():
            return self.inner(x)


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("run", ["eager", "captured", "compiled"])
def test_a_layer_is_one_op(first: bool, run: Any) -> None:
    assert names(layer(norm_first=first), run=run) == [LAYER]


@pytest.mark.parametrize(
    "module",
    [
        layer(activation=nn.SiLU()),
        layer(bias=False),
        nn.TransformerEncoderLayer(64, 4, 128),  # batch second
    ],
)
def test_other_layers_run_op_by_op(module: nn.Module) -> None:
    assert LAYER not in names(module)


def test_a_layer_that_trains_runs_op_by_op() -> None:
    assert LAYER not in names(layer(), phase="training")


def test_a_layer_under_autocast_runs_op_by_op() -> None:
    assert LAYER not in names(layer(), autocast="bf16")


def test_a_mode_of_the_user_keeps_a_layer_from_it() -> None:
    assert LAYER not in names(UnderAMode())


@pytest.mark.parametrize("weights", [False, True])
def test_attention_of_a_sequence_to_itself_is_one_op(weights: bool) -> None:
    module = Attends(weights)
    ops = traced(module).ops
    assert ops[0].name == ATTENTION
    shapes = [out.shape for out in ops[0].signature.outputs]
    assert shapes == [(2, 16, 64), (2, 16, 16)][: 1 + weights]
    assert ATTENTION not in names(module, X, X + 1)  # to another sequence
    assert ATTENTION not in names(module, run="compiled")  # make_fx traces it


def test_tensors_inside_a_layer_count_as_memory() -> None:
    result = traced(layer())
    during = [s.nbytes for s in result.storages if s.born == 0]
    # in float32: 32 rows of the hidden layer and of the residual, 128 and 64 wide; the result
    assert during == [4 * 32 * (128 + 64), 4 * 32 * 64]
