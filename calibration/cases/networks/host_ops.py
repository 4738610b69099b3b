"""Micro-networks of one op or one piece of Python each, to separate the host's costs.

`ops-NAME` runs `OPS[NAME]` `count` times over small tensors, in a plain Python loop.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from calibration.cases.networks.host import WIDTH, Micro


class OneOp(Micro):
    """A network that repeats one small piece of work `count` times."""

    rows: Tensor
    mask: Tensor
    mean: Tensor
    variance: Tensor

    def __init__(self, name: str, count: int = 100) -> None:
        super().__init__(1)
        self.one = OPS[name]
        self.count = count
        self.bias = nn.Parameter(torch.zeros(WIDTH))
        self.table = nn.Parameter(torch.randn(128, WIDTH))
        self.kernel = nn.Parameter(torch.randn(4, 4, 3, 3))
        self.register_buffer("rows", torch.arange(4))
        self.register_buffer("mask", torch.arange(WIDTH) % 2 == 0)
        self.register_buffer("mean", torch.zeros(WIDTH))
        self.register_buffer("variance", torch.ones(WIDTH))
        self.child = nn.Identity()
        self.hooked = nn.Identity()
        self.hooked.register_forward_hook(_hook)
        self.linear = nn.Linear(WIDTH, WIDTH)
        self.record = {"key": 1}

    def body(self, x: Tensor) -> Tensor:
        x = x * self.scale
        one = self.one
        for _ in range(self.count):
            x = one(self, x)
        return x


def _hook(module: nn.Module, inputs: Any, output: Any) -> None:
    """A forward hook that does nothing."""


def _bytecode(m: OneOp, x: Tensor) -> Tensor:
    a, b = 1, 2
    for _ in range(50):
        a = b + 1 if a > b else b - 1
    return x


def _attributes(m: OneOp, x: Tensor) -> Tensor:
    for _ in range(50):
        m.count  # noqa: B018
    return x


def _parameters(m: OneOp, x: Tensor) -> Tensor:
    for _ in range(20):
        m.scale  # noqa: B018
    return x


def _c_calls(m: OneOp, x: Tensor) -> Tensor:
    for _ in range(50):
        len(())
    return x


def _isinstance(m: OneOp, x: Tensor) -> Tensor:
    for _ in range(50):
        isinstance(x, Tensor)  # pyright: ignore[reportUnnecessaryIsInstance]
    return x


def _nothing(value: int, other: int = 0) -> int:
    return value


def _keywords(m: OneOp, x: Tensor) -> Tensor:
    for _ in range(30):
        _nothing(1, other=2)
    return x


def _star(m: OneOp, x: Tensor) -> Tensor:
    pair, named = (1,), {"other": 2}
    for _ in range(30):
        _nothing(*pair, **named)
    return x


def _containers(m: OneOp, x: Tensor) -> Tensor:
    for _ in range(20):
        both = [1, 2, 3]
        both.append(4)
        {"a": both}  # noqa: B018 # pyright: ignore[reportUnusedExpression]
    return x


def _comprehension(m: OneOp, x: Tensor) -> Tensor:
    [i for i in range(50)]  # noqa: C416
    return x


def _with(m: OneOp, x: Tensor) -> Tensor:
    for _ in range(10):
        with nullcontext():
            pass
    return x


def _shape(m: OneOp, x: Tensor) -> Tensor:
    for _ in range(20):
        x.shape  # noqa: B018
    return x


def _size(m: OneOp, x: Tensor) -> Tensor:
    for _ in range(20):
        x.size(0)
    return x


def _dtype(m: OneOp, x: Tensor) -> Tensor:
    for _ in range(20):
        x.dtype  # noqa: B018
    return x


def _no_grad(m: OneOp, x: Tensor) -> Tensor:
    for _ in range(5):
        with torch.no_grad():
            pass
    return x


def _heads(x: Tensor) -> Tensor:
    return x.view(1, 2, 2, WIDTH)


def _discard(op: Callable[..., Any], m: OneOp, x: Tensor) -> Tensor:
    """Discard the op's result, so that the next op works on the same tensor."""
    op(m, x)
    return x


def _of(op: Callable[[OneOp, Tensor], Any]) -> Callable[[OneOp, Tensor], Tensor]:
    return partial(_discard, op)


PYTHON: dict[str, Callable[..., Tensor]] = {
    "nothing": lambda m, x: x,
    "bytecode": _bytecode, "attributes": _attributes, "parameters": _parameters,
    "ccalls": _c_calls, "isinstance": _isinstance, "keywords": _keywords, "star": _star,
    "containers": _containers, "comprehension": _comprehension, "with": _with, "shape": _shape,
    "size": _size, "dtype": _dtype, "nograd": _no_grad,
    "identity": lambda m, x: m.child(x), "hooked": lambda m, x: m.hooked(x),
}  # fmt: skip
"""Pieces of Python that dispatch nothing."""

SAME_SHAPE: dict[str, Callable[..., Tensor]] = {
    "view": lambda m, x: x.view(-1, WIDTH),
    "reshape": lambda m, x: x.reshape(-1, WIDTH),
    "transpose": lambda m, x: x.transpose(0, 1).transpose(0, 1),
    "permute": lambda m, x: x.permute(0, 1),
    "expand": lambda m, x: x.expand(-1, WIDTH),
    "unsqueeze": lambda m, x: x.unsqueeze(0).squeeze(0),
    "slice": lambda m, x: x[:, :WIDTH],
    "ellipsis": lambda m, x: x[..., None].squeeze(-1),
    "narrow": lambda m, x: x.narrow(1, 0, WIDTH),
    "contiguous": lambda m, x: x.contiguous(),
    "tosame": lambda m, x: x.to(x.dtype),
    "add": lambda m, x: x + 1.0,
    "mul": lambda m, x: x * m.scale,
    "sub": lambda m, x: x - m.bias,
    "div": lambda m, x: x / 2.0,
    "pow": lambda m, x: x.pow(2),
    "cos": lambda m, x: x.cos(),
    "torchcos": lambda m, x: torch.cos(x),
    "exp": lambda m, x: x.exp(),
    "rsqrt": lambda m, x: x.rsqrt(),
    "neg": lambda m, x: -x,
    "relu": lambda m, x: F.relu(x),
    "gelu": lambda m, x: F.gelu(x),
    "silu": lambda m, x: F.silu(x),
    "sigmoid": lambda m, x: x.sigmoid(),
    "tanh": lambda m, x: torch.tanh(x),
    "clamp": lambda m, x: x.clamp(-1, 1),
    "softmax": lambda m, x: F.softmax(x, -1),
    "logsoftmax": lambda m, x: F.log_softmax(x, -1),
    "layernorm": lambda m, x: F.layer_norm(x, (WIDTH,), m.scale, m.bias),
    "rmsnorm": lambda m, x: F.rms_norm(x, (WIDTH,), m.scale),
    "groupnorm": lambda m, x: F.group_norm(x, 4, m.scale, m.bias),
    "mm": lambda m, x: x.mm(m.matrix),
    "linear": lambda m, x: F.linear(x, m.matrix, m.bias),
    "linearmodule": lambda m, x: m.linear(x),
    "linear3": lambda m, x: F.linear(x[None], m.matrix, m.bias)[0],
    "matmul": lambda m, x: torch.matmul(x, m.matrix),
    "bmm": lambda m, x: x[None].bmm(m.matrix[None])[0],
    "conv2d": lambda m, x: F.conv2d(x.view(1, 4, 8, 8), m.kernel, None, 1, 1).view(4, WIDTH),
    "attention": lambda m, x: F.scaled_dot_product_attention(
        _heads(x), _heads(x), _heads(x)
    ).reshape(4, WIDTH),
    "dropout": lambda m, x: F.dropout(x, 0.1, m.training),
    "cumsum": lambda m, x: x.cumsum(-1),
    "clone": lambda m, x: x.clone(),
    "cat": lambda m, x: torch.cat((x[:, :32], x[:, 32:]), 1),
    "where": lambda m, x: torch.where(m.mask, x, m.bias),
    "maskedfill": lambda m, x: x.masked_fill(m.mask, 0.0),
    "tril": lambda m, x: x.tril(),
    "flip": lambda m, x: x.flip(0),
    "roll": lambda m, x: x.roll(1, 0),
    "maxpool": lambda m, x: F.max_pool2d(x.view(1, 4, 8, 8), 3, 1, 1).view(4, WIDTH),
}
"""Ops whose result has the shape and dtype of their operand: each op works on the result of the
previous one."""

APART: dict[str, Callable[..., Tensor]] = {
    "split": _of(lambda m, x: x.split(32, -1)),
    "chunk": _of(lambda m, x: x.chunk(2, -1)),
    "unbind": _of(lambda m, x: x.unbind(0)),
    "detach": _of(lambda m, x: x.detach()),
    "addinplace": _of(lambda m, x: x.add_(1.0)),
    "copyinplace": _of(lambda m, x: x.copy_(m.table[:4])),
    "tobf16": _of(lambda m, x: x.to(torch.bfloat16)),
    "float": _of(lambda m, x: x.double()),
    "sum": _of(lambda m, x: x.sum(0)),
    "mean": _of(lambda m, x: x.mean(-1)),
    "amax": _of(lambda m, x: x.amax(-1)),
    "maxdim": _of(lambda m, x: x.max(-1)),
    "argmax": _of(lambda m, x: x.argmax(-1)),
    "topk": _of(lambda m, x: x.topk(2, -1)),
    "sort": _of(lambda m, x: x.sort(-1)),
    "stack": _of(lambda m, x: torch.stack((x, x))),
    "embedding": _of(lambda m, x: F.embedding(m.rows, m.table)),
    "indexselect": _of(lambda m, x: x.index_select(0, m.rows)),
    "index": _of(lambda m, x: x[m.rows]),
    "gather": _of(lambda m, x: x.gather(0, m.rows[:, None])),
    "compare": _of(lambda m, x: x > 0),
    "batchnorm": _of(lambda m, x: F.batch_norm(x, m.mean, m.variance, m.scale, m.bias)),
    "einsum": _of(lambda m, x: torch.einsum("ij,jk->ik", x, m.matrix)),
    "empty": _of(lambda m, x: torch.empty(4, WIDTH, device=x.device)),
    "zeros": _of(lambda m, x: torch.zeros(4, WIDTH, device=x.device)),
    "full": _of(lambda m, x: torch.full((4, WIDTH), 2.0, device=x.device)),
    "arange": _of(lambda m, x: torch.arange(WIDTH, device=x.device)),
    "oneslike": _of(lambda m, x: torch.ones_like(x)),
    "randn": _of(lambda m, x: torch.randn(4, WIDTH, device=x.device)),
    "interpolate": _of(lambda m, x: F.interpolate(x.view(1, 4, 8, 8), scale_factor=2.0)),
    "crossentropy": _of(lambda m, x: F.cross_entropy(x, m.rows)),
}
"""Ops whose result is not the next op's operand."""

WAITING: dict[str, Callable[..., Tensor]] = {
    "item": _of(lambda m, x: x[0, 0].item()),
    "tocpu": _of(lambda m, x: x.cpu()),
    "upload": _of(lambda m, x: torch.tensor([1.0, 2.0], device=x.device)),
    "cpuadd": _of(lambda m, x: torch.ones(4) + 1.0),
    "nonzero": _of(lambda m, x: m.mask.nonzero()),
}
"""Copies between host and GPU, and waits for them."""

OPS: dict[str, Callable[..., Tensor]] = {**PYTHON, **SAME_SHAPE, **APART, **WAITING}
ONE_OP: dict[str, Callable[..., Micro]] = {f"ops-{name}": partial(OneOp, name) for name in OPS}
