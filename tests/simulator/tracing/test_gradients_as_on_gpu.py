"""Gradients that ATen computes in another way while a tracer watches."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from simulator.modes import Run
from simulator.records import Trace
from simulator.tracing import trace_call

Call = Callable[[Tensor], Tensor]
SELECTED: list[Call] = [
    lambda x: x.max(1).values,
    lambda x: x.min(0, keepdim=True).values,
    lambda x: x.sort(-1).values,
    lambda x: x.sort(dim=0, stable=True).values,
    lambda x: x.topk(3).values,
    lambda x: x.median(1).values,
    lambda x: x.nanmedian(1).values,
    lambda x: x.kthvalue(2).values,
    lambda x: x.mode().values,
]
RUNNING: list[Call] = [lambda x: x.cummax(1).values, lambda x: x.cummin(0).values]
NO_ZERO = "no element assumed to be zero, in the gradient of a product"
OVER = "eq sum sum _local_scalar_dense div mul"
PRODUCTS: list[tuple[Call, str, str]] = [
    (
        lambda x: x.cumprod(1),
        "mul eq any _local_scalar_dense flip cumsum flip div",
        "_local_scalar_dense",
    ),
    (lambda x: x.prod(1), OVER, "_local_scalar_dense"),
    (lambda x: x.prod(0, keepdim=True), OVER, "_local_scalar_dense"),
    (lambda x: x.prod(), "eq nonzero div mul", "nonzero"),
]


def gradient(call: Call, run: Run = "eager") -> Trace:
    """The trace of the gradient of a call of [6, 8]."""

    def make() -> Callable[[], object]:
        x = torch.empty(6, 8, requires_grad=True)
        y = call(x)
        grad = torch.empty_like(y)
        return lambda: torch.autograd.grad(y, x, grad)

    return trace_call(make, run=run)


def names(trace: Trace) -> list[str]:
    """The ops of a trace that launch kernels or make the host wait."""
    views = ("detach", "unsqueeze", "view", "squeeze", "select", "expand")
    short = [op.signature.name.split(".")[1] for op in trace.ops]
    return [name for name in short if name not in views]


@pytest.mark.parametrize("call", SELECTED)
def test_selected_values_are_scattered_into_zeros(call: Call) -> None:
    trace = gradient(call)
    assert names(trace) == ["new_zeros", "scatter"]
    assert trace.ops[-1].signature.args["into_zeros"] is True


@pytest.mark.parametrize("call", RUNNING)
def test_running_extremes_are_added_to_zeros(call: Call) -> None:
    trace = gradient(call)
    assert names(trace)[-1] == "scatter_add"
    assert trace.ops[-1].signature.args["into_zeros"] is True


def test_a_network_that_scatters_keeps_its_target() -> None:
    def make() -> Callable[[], object]:
        x, i = torch.empty(6, 8), torch.zeros(6, 8, dtype=torch.int64)
        return lambda: (x.scatter(0, i, x), x.index_put((i[0, :6],), x, accumulate=True))

    written = ("aten.scatter.src", "aten.index_put.default")
    ops = [op.signature for op in trace_call(make).ops]
    scattered, put = (op for op in ops if op.name in written)
    assert "into_zeros" not in scattered.args
    assert put.args["by_user"] is True


def test_the_gradient_of_indexing_is_not_called_by_a_network() -> None:
    def indexed(x: Tensor) -> Tensor:
        return x[torch.zeros(4, dtype=torch.int64)]

    (put,) = (op.signature for op in gradient(indexed).ops if "index_put" in op.signature.name)
    assert put.args["accumulate"] is True and "by_user" not in put.args


def test_the_gradient_of_an_angle_fills_in_place() -> None:
    trace = gradient(lambda x: torch.atan2(x, torch.ones_like(x)))
    (fill,) = (op.signature for op in trace.ops if "masked_fill" in op.signature.name)
    assert fill.args["in_place"] is True


@pytest.mark.parametrize(("call", "ops", "asks"), PRODUCTS)
def test_a_product_without_zeros_is_divided(call: Call, ops: str, asks: str) -> None:
    """As measured on an H200: 9 kernels for `cumprod`, 7 for `prod` over a dimension."""
    trace = gradient(call)
    assert names(trace) == ops.split()
    (assumption,) = trace.assumptions
    assert (assumption.name, assumption.taken) == (f"aten.{asks}.default", NO_ZERO)
    assert trace.ops[assumption.op].signature.name == assumption.name


def test_a_compiled_product_is_not_asked_for_zeros() -> None:
    trace = gradient(lambda x: x.cumprod(1), "compiled")
    assert "_local_scalar_dense" not in names(trace) and "where" in names(trace)
    assert trace.assumptions == []
