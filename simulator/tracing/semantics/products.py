"""Gradients of products. ATen asks whether an element is zero, since it then cannot divide by it
(torch/csrc/autograd/FunctionsManual.cpp, `prod_backward`, `cumprod_backward`).

While a tracer watches, ATen does not ask, and computes the gradient without a division, as in a
graph of torch.compile. In eager mode it asks, and the data of a network seldom has a zero: the
answer is assumed to be no, which the prediction lists.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from simulator.records import Assumption
from simulator.tracing.recorder import Recorder
from simulator.tracing.semantics.registry import Situation, eager_gradient

aten = torch.ops.aten


@eager_gradient("cumprod")
def cumprod(
    situation: Situation, x: Tensor, dim: int, *, dtype: torch.dtype | None = None
) -> Tensor:
    """[...] to [...]."""
    return _CumulativeProduct.apply(situation.recorder, x if dtype is None else x.to(dtype), dim)


@eager_gradient("prod.dim_int")
def prod_over(
    situation: Situation,
    x: Tensor,
    dim: int,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
) -> Tensor:
    """[...] to [...] without `dim`, or with its size 1."""
    return _Product.apply(situation.recorder, x, dim, keepdim, dtype)


@eager_gradient("prod")
def prod(situation: Situation, x: Tensor, *, dtype: torch.dtype | None = None) -> Tensor:
    """[...] to a number."""
    return _Product.apply(situation.recorder, x, None, False, dtype)


class _CumulativeProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, recorder: Recorder, x: Tensor, dim: int) -> Tensor:
        with torch._C._AutoDispatchBelowAutograd():
            out = aten.cumprod(x, dim)
        ctx.save_for_backward(x, out)
        ctx.recorder, ctx.dim = recorder, dim
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        x, out = ctx.saved_tensors
        (grad,), dim = grads, ctx.dim
        if x.numel() <= 1 or x.shape[dim] == 1:
            return None, grad, None
        weighted = out * grad
        _asked(ctx.recorder, (x == 0).any())
        return None, weighted.flip(dim).cumsum(dim).flip(dim).div(x), None


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        recorder: Recorder,
        x: Tensor,
        dim: int | None,
        keepdim: bool,
        dtype: torch.dtype | None,
    ) -> Tensor:
        with torch._C._AutoDispatchBelowAutograd():
            if dim is None:
                out = aten.prod(x, dtype=dtype)
            else:
                out = aten.prod(x, dim, keepdim, dtype=dtype)
        ctx.save_for_backward(x, out)
        ctx.recorder, ctx.dim, ctx.keepdim = recorder, dim, keepdim
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Any, ...]:
        x, out = ctx.saved_tensors
        (grad,), dim = grads, ctx.dim
        if x.dim() == 0:
            return None, grad.clone(), None, None, None
        x = x.to(grad.dtype)
        if dim is not None and not ctx.keepdim and x.dim() > 1:
            grad, out = grad.unsqueeze(dim), out.unsqueeze(dim)
        zeros = x == 0
        if dim is None:
            _no_places(ctx.recorder, zeros)
        else:
            _asked(ctx.recorder, zeros.sum(dim, True).sum())
        return None, grad * (out / x), None, None, None


def _asked(recorder: Recorder, answer: Tensor) -> None:
    """Record that the host reads the answer, which is that no element is zero."""
    _assume_none(recorder, "aten._local_scalar_dense.default")
    if recorder.recording:
        recorder.emit("aten._local_scalar_dense.default", {"self": answer}, {}, None)


def _no_places(recorder: Recorder, zeros: Tensor) -> None:
    """Record the search for zeros, which has an empty result."""
    _assume_none(recorder, "aten.nonzero.default")
    if recorder.recording:
        with recorder.paused():
            places = zeros.new_empty((0, zeros.dim()), dtype=torch.int64)
        recorder.emit("aten.nonzero.default", {"self": zeros}, {}, places)


def _assume_none(recorder: Recorder, op: str) -> None:
    taken = "no element assumed to be zero, in the gradient of a product"
    recorder.assumptions.append(Assumption(len(recorder.ops), op, taken))
