"""Tensor parallelism of the catalogue's transformers: Megatron's split (Shoeybi et al. 2019).

The first linear layers of attention and of the feed-forward layer are split by column, the last
ones by row. The output of the last layers is all-reduced, as is the gradient at the input of the
first.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn

from simulator.errors import InputError

_COLUMNS = ("query", "key", "value", "gate", "up", "qkv")
_ROWS = ("out", "down")
_SAME_INPUT = ("query", "gate")
"""A module with one of these layers passes its own input to all of its first layers."""


def tensor_split(module: nn.Module, group: dist.ProcessGroup, ranks: int) -> None:
    """Split a module in place. Raises InputError if it cannot be split."""
    done = 0
    for path, child in module.named_modules():
        linears = {n: c for n, c in child.named_children() if isinstance(c, nn.Linear)}
        first = {n: c for n, c in linears.items() if n in _COLUMNS}
        last = [c for n, c in linears.items() if n in _ROWS]
        if not first or not last:
            continue
        _check_heads(path, child, first, ranks)
        for name, linear in first.items():
            _by_column(path, linear, 3 if name == "qkv" else 1, ranks)
        for linear in last:
            _check_divides(path, "in_features", linear.in_features, ranks)
            _set_weight(linear, linear.weight[:, : linear.in_features // ranks])
            linear.register_forward_hook(lambda _m, _a, out: _AllReduceForward.apply(out, group))
        inputs = [child] if any(n in first for n in _SAME_INPUT) else list(first.values())
        for each in inputs:
            each.register_forward_pre_hook(
                lambda _m, a: (_AllReduceBackward.apply(a[0], group), *a[1:])
            )
        if hasattr(child, "heads"):
            _localize(path, child, ranks)
        done += 1
    if not done:
        raise InputError(
            f"tp = {ranks}: {type(module).__name__} has no module with linear layers both of "
            f"{', '.join(_COLUMNS)} and of {', '.join(_ROWS)}: expected a transformer of the "
            "catalogue; write make(rank, world_size) with parallelize_module and call predict_step"
        )


def _check_heads(path: str, child: nn.Module, first: dict[str, nn.Linear], ranks: int) -> None:
    """Raise InputError unless each rank gets whole heads, also of keys and values."""
    heads: Any = getattr(child, "heads", None)
    size: Any = getattr(child, "d", None)
    if isinstance(heads, int):
        _check_divides(path, "heads", heads, ranks)
    elif isinstance(size, int):
        for name in ("query", "key"):
            _check_divides(path, "heads", first[name].out_features // size, ranks)


def _by_column(path: str, linear: nn.Linear, parts: int, ranks: int) -> None:
    """Keep a rank's rows of each part that is stacked in the weight."""
    _check_divides(path, "out_features", linear.out_features // parts, ranks)
    rows = linear.out_features // parts // ranks
    _set_weight(
        linear, torch.cat([part[:rows] for part in linear.weight.chunk(parts)]) if parts > 1
        else linear.weight[:rows],
    )  # fmt: skip
    if linear.bias is not None:  # pyright: ignore
        linear.bias = nn.Parameter(torch.cat([part[:rows] for part in linear.bias.chunk(parts)]))


def _set_weight(linear: nn.Linear, weight: Tensor) -> None:
    linear.weight = nn.Parameter(weight.detach().clone())


def _check_divides(path: str, what: str, size: int, ranks: int) -> None:
    if size % ranks:
        raise InputError(
            f"tp = {ranks} does not divide {what} = {size} of {path}: expected a divisor; choose "
            "another tp"
        )


def _localize(path: str, child: Any, ranks: int) -> None:
    """Run attention over the rank's own heads."""
    family = type(child).__module__.rpartition(".")[2]
    if family not in _ATTENTION:
        raise InputError(
            f"tp = {ranks}: {path} needs all of its heads: expected a network of the bert, gpt2, "
            "llama or vit family; write make(rank, world_size) with parallelize_module and call "
            "predict_step"
        )
    child.heads //= ranks
    name, forward = _ATTENTION[family]
    setattr(child, name, MethodType(forward, child))


def _bert(self: Any, x: Tensor, mask: Tensor | None) -> Tensor:
    batch, seq, _ = x.shape

    def split(y: Tensor) -> Tensor:
        return y.view(batch, seq, self.heads, -1).transpose(1, 2)

    y = F.scaled_dot_product_attention(
        split(self.query(x)),
        split(self.key(x)),
        split(self.value(x)),
        attn_mask=mask,
        dropout_p=self.dropout if self.training else 0.0,
    )
    return self.out(y.transpose(1, 2).reshape(batch, seq, -1))


def _gpt2(self: Any, x: Tensor) -> Tensor:
    batch, seq, _ = x.shape
    qkv = self.qkv(x)
    q, k, v = (
        part.view(batch, seq, self.heads, -1).transpose(1, 2)
        for part in qkv.split(qkv.shape[2] // 3, dim=2)
    )
    y = F.scaled_dot_product_attention(
        q, k, v, is_causal=True, dropout_p=self.dropout if self.training else 0.0
    )
    return self.out(y.transpose(1, 2).reshape(batch, seq, -1))


def _vit(self: Any, x: Tensor) -> Tensor:
    batch, patches, _ = x.shape
    qkv = self.qkv(x).view(batch, patches, 3, self.heads, -1)
    q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
    y = F.scaled_dot_product_attention(q, k, v)
    return self.out(y.transpose(1, 2).reshape(batch, patches, -1))


_ATTENTION: dict[str, tuple[str, Callable[..., Tensor]]] = {
    "bert": ("forward", _bert), "gpt2": ("forward", _gpt2), "vit": ("attend", _vit),
}  # fmt: skip
"""Methods that read the number of heads from `self.heads` alone, by the network's file."""


class _AllReduceForward(torch.autograd.Function):
    """All-reduce forward, identity backward."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: Any) -> Tensor:
        dist.all_reduce(x, group=group)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return grads[0], None


class _AllReduceBackward(torch.autograd.Function):
    """Identity forward, all-reduce backward."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: Any) -> Tensor:
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        grad = grads[0].contiguous()
        dist.all_reduce(grad, group=ctx.group)
        return grad, None
