"""Chains that repeat one library call: the slope over the length is the host's time for one
call."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend

Run = Callable[[Tensor, list[Tensor]], Tensor]


def attention(x: Tensor, weights: list[Tensor], causal: bool = False) -> Tensor:
    for w in weights:
        x = F.scaled_dot_product_attention(x, w, w, is_causal=causal)
    return x


def products(x: Tensor, weights: list[Tensor]) -> Tensor:
    for w in weights:
        x = x @ w
    return x


def linears(x: Tensor, weights: list[Tensor]) -> Tensor:
    for w in weights:
        x = F.linear(x, w)
    return x


def biased(x: Tensor, weights: list[Tensor]) -> Tensor:
    for w in weights:
        x = F.linear(x, w, w[0])
    return x


def activated(x: Tensor, weights: list[Tensor]) -> Tensor:
    for w in weights:
        x = F.relu(F.linear(x, w))
    return x


def convolutions(x: Tensor, weights: list[Tensor]) -> Tensor:
    for w in weights:
        x = F.conv2d(x, w, padding=w.shape[-1] // 2)
    return x


def depthwise(x: Tensor, weights: list[Tensor]) -> Tensor:
    for w in weights:
        x = F.conv2d(x, w, padding=1, groups=x.shape[1])
    return x


_HEADS = (1, 4, 64, 64)
CALLS: dict[str, tuple[Run, tuple[int, ...], tuple[int, ...], str, SDPBackend | None]] = {
    "attention/cudnn": (attention, _HEADS, _HEADS, "bf16", SDPBackend.CUDNN_ATTENTION),
    "linear": (linears, (64, 64), (64, 64), "bf16", None),
    "attention/flash": (attention, _HEADS, _HEADS, "bf16", SDPBackend.FLASH_ATTENTION),
    "linear/bias": (biased, (64, 64), (64, 64), "bf16", None),
    "linear/relu": (activated, (64, 64), (64, 64), "bf16", None),
    "attention/causal/cudnn": (
        partial(attention, causal=True), _HEADS, _HEADS, "bf16", SDPBackend.CUDNN_ATTENTION),
    "product": (products, (64, 64), (64, 64), "bf16", None),
    "bmm": (products, (8, 64, 64), (8, 64, 64), "bf16", None),
    "conv3x3": (convolutions, (2, 16, 8, 8), (16, 16, 3, 3), "bf16", None),
    "conv1x1": (convolutions, (2, 16, 8, 8), (16, 16, 1, 1), "bf16", None),
    "depthwise": (depthwise, (2, 16, 8, 8), (16, 1, 3, 3), "bf16", None),
    "attention/efficient": (attention, _HEADS, _HEADS, "fp32", SDPBackend.EFFICIENT_ATTENTION),
    "linear/fp32": (linears, (64, 64), (64, 64), "fp32", None),
    "linear/three": (linears, (4, 16, 64), (64, 64), "bf16", None),
    "linear/bias/three": (biased, (4, 16, 64), (64, 64), "bf16", None),
    "conv3x3/fp32": (convolutions, (2, 16, 8, 8), (16, 16, 3, 3), "fp32", None),
}  # fmt: skip
"""The chain, the shapes of its input and of each weight, the dtype and the attention backend."""


class Chain(nn.Module):
    """A chain as a network whose weights are the calls' operands."""

    def __init__(self, run: Run, weights: list[Tensor]) -> None:
        super().__init__()
        self.run = run
        self.weights = nn.ParameterList(weights)

    def forward(self, x: Tensor) -> Tensor:
        return self.run(x, list(self.weights))


def chain(name: str, length: int) -> tuple[Chain, Tensor]:
    """A chain of `length` calls of a kind, and its input, both on the meta device."""
    run, shape, weight_shape, dtype_name, _ = CALLS[name]
    dtype = {"bf16": torch.bfloat16, "fp32": torch.float32}[dtype_name]
    weights = [torch.empty(weight_shape, device="meta", dtype=dtype) for _ in range(length)]
    return Chain(run, weights), torch.empty(shape, device="meta", dtype=dtype)
