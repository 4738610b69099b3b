"""Errors of networks that cannot be traced name the value, the expected value and a remedy."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from simulator.errors import InputError
from simulator.tracing import trace
from tests.simulator.conftest import Calls

X = torch.ones(4, 4)
CORRECT = "correct the network or its inputs; Ridgepoint runs tensors without data"


@torch.library.custom_op("ridgepoint_tests::twice", mutates_args=())
def twice(x: Tensor) -> Tensor:
    return x * 2


@twice.register_fake
def _(x: Tensor) -> Tensor:
    return torch.empty_like(x)


class OneWay(torch.autograd.Function):
    """A function that fails in the backward pass."""

    @staticmethod
    def forward(ctx: Any, *args: Any, **_: Any) -> Tensor:
        return args[0] * 2

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise KeyError("way back")


def error_text(module: Any, *args: Tensor, **options: Any) -> str:
    with pytest.raises(InputError) as caught:
        trace(module, args, **options)
    return str(caught.value)


def test_no_module() -> None:
    assert error_text(torch.relu, X) == (
        "cannot trace builtin_function_or_method: expected an nn.Module; pass the module itself"
    )
    assert error_text(nn.Linear, X) == (
        "cannot trace type: expected an nn.Module; pass the module itself"
    )


def test_unknown_phase() -> None:
    assert error_text(nn.Linear(4, 4), X, phase="train") == (
        "unknown phase 'train': expected 'inference' or 'training'"
    )


def test_unknown_optimizer() -> None:
    assert error_text(nn.Linear(4, 4), X, phase="training", optimizer="adam") == (
        "unknown optimizer 'adam': expected one of 'adamw', 'adamw_fused', 'sgd' or None"
    )


@pytest.mark.parametrize("phase", ["inference", "training"])
def test_unknown_autocast_dtype(phase: str) -> None:
    assert error_text(nn.Linear(4, 4), X, phase=phase, autocast="bfloat16") == (
        "unknown autocast dtype 'bfloat16': expected 'bf16' or 'fp16'"
    )


def test_unknown_gpu() -> None:
    assert error_text(nn.Linear(4, 4), X, gpu="h2000").startswith(
        "unknown GPU 'h2000': did you mean"
    )


def test_a_forward_that_raises_names_the_network_and_its_inputs() -> None:
    ids = torch.zeros(2, 3, dtype=torch.int64)
    text = error_text(nn.Linear(4, 4), torch.ones(2, 5))
    assert text == (
        "Linear.forward failed on inputs (float32[2, 5]): RuntimeError: "
        "a and b must have same reduction dim, but got [2, 5] X [4, 4].; " + CORRECT
    )
    assert error_text(nn.Identity(), X, ids) == (
        "Identity.forward failed on inputs (float32[4, 4], int64[2, 3]): TypeError: "
        "Identity.forward() takes 2 positional arguments but 3 were given; " + CORRECT
    )


def test_a_loss_without_a_gradient() -> None:
    expected = (
        "the loss of Linear depends on no trainable parameter: expected at least one parameter "
        "with requires_grad; predict phase='inference' instead"
    )
    frozen = nn.Linear(4, 4).requires_grad_(False)
    assert error_text(frozen, X, phase="training") == expected
    layer = nn.Linear(4, 4)
    assert error_text(layer, X, phase="training", loss=lambda y: y.detach().sum()) == expected


def test_a_loss_that_is_not_a_scalar() -> None:
    expected = "expected a tensor of one element, such as loss=lambda out: out.mean()"
    assert error_text(nn.Linear(4, 4), X, phase="training", loss=lambda y: y) == (
        f"the loss of Linear is a tensor of shape [4, 4]: {expected}"
    )
    assert error_text(nn.Linear(4, 4), X, phase="training", loss=lambda y: 1.0) == (
        f"the loss of Linear is of type float: {expected}"
    )


def test_an_output_without_a_loss() -> None:
    module = Calls(lambda self, x: x.argmax(-1))
    assert error_text(module, X, phase="training") == (
        "the network returns no floating-point tensor to compute a loss from: return one, or an "
        "output with a .loss; in Python, loss= also takes a function of the output"
    )


def test_a_network_that_cannot_be_copied() -> None:
    class Cached(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)
            self.cache = self.layer(X)  # not a parameter or buffer, but with autograd history

    text = error_text(Cached(), X)
    assert text.startswith("Cached cannot be copied: Only Tensors created explicitly by the user ")
    assert text.endswith(
        ": expected a module whose tensors are parameters or buffers; register the others with "
        "register_buffer()"
    )


def test_a_generator_in_a_network_cannot_be_copied() -> None:
    module = nn.Linear(4, 4)
    module.lines = (i for i in range(3))  # pyright: ignore
    assert error_text(module, X).startswith("Linear cannot be copied: cannot pickle 'generator'")


def test_an_op_that_needs_data() -> None:
    text = error_text(Calls(lambda _, x: torch.unique(x, dim=0)), X)
    assert text.startswith("Calls uses an op that cannot be traced without data: aten::unique_dim")


def test_numpy_has_no_data() -> None:
    text = error_text(Calls(lambda _, x: x.numpy()), X)
    assert text.startswith("Calls.forward failed on inputs (float32[4, 4]): TypeError: ")


def test_a_users_op_without_a_gradient() -> None:
    class Doubles(nn.Linear):
        def forward(self, input: Tensor) -> Tensor:
            return twice(super().forward(input))

    assert trace(Doubles(4, 4), (X,)).ops[-1].name == "ridgepoint_tests.twice.default"
    text = error_text(Doubles(4, 4), X, phase="training")
    assert text.startswith("Doubles.backward failed: RuntimeError: Trying to backward through ")
    assert "ridgepoint_tests.twice.default but no autograd formula was registered" in text
    assert text.endswith(
        "; expected a gradient for every op: register one for a custom op (register_autograd), or "
        "predict inference"
    )


def test_a_backward_that_raises_names_its_line() -> None:
    text = error_text(
        Calls(lambda _, x: OneWay.apply(x)), X.clone().requires_grad_(), phase="training"
    )
    assert text.startswith(
        "Calls.backward failed: KeyError: 'way back' (test_trace_errors.py, line "
    )


def test_a_network_that_ends_python() -> None:
    def leave(_: nn.Module, x: Tensor) -> Tensor:
        raise SystemExit(3)

    text = error_text(Calls(leave), X)
    assert text.startswith("Calls.forward failed on inputs (float32[4, 4]): SystemExit: 3 (test_")
    assert text.endswith("; " + CORRECT)


def test_a_loss_that_raises() -> None:
    text = error_text(nn.Linear(4, 4), X, phase="training", loss=lambda y: y.missing)
    assert text.startswith("Linear.loss failed on inputs (float32[4, 4]): AttributeError: ")
    assert text.endswith("; correct the loss, a callable(output) -> scalar tensor")


def test_sparse_gradients_cannot_be_traced() -> None:
    class Looks(nn.Embedding):
        pass

    rows = Looks(10, 4, sparse=True)
    text = error_text(rows, torch.zeros(3, dtype=torch.int64), phase="training")
    assert text.startswith("Looks uses an op that cannot be traced without data: ")
    assert text.endswith("; compute it outside the network, or replace it")


class _Changing(nn.Module):
    """A module that creates a submodule in forward, as BigBird does for short sequences."""

    class Part(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(8, 8, device="meta")

        def forward(self, x: Tensor) -> Tensor:
            return self.linear(x)

    def forward(self, x: Tensor) -> Tensor:
        return self.Part()(x)


def test_a_module_may_be_constructed_in_forward() -> None:
    names = [op.name for op in trace(_Changing(), (torch.empty(2, 8),)).ops]
    assert names[-1] == "aten.addmm.default"
