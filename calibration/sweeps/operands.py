"""Random operands by dtype name, on torch's default device, and the call of a backward pass.

Operands are never zeros, since a GPU needs less power to multiply zeros and so runs at a higher
clock.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from calibration.sweeps.registry import Call

DTYPES = {
    "fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16,
    "fp8": torch.float8_e4m3fn, "int8": torch.int8, "int32": torch.int32, "int64": torch.int64,
    "uint8": torch.uint8, "bool": torch.bool,
}  # fmt: skip


def random(*shape: int, dtype: str, grad: bool = False) -> Tensor:
    """Normal random numbers. Integers cover the whole range of an 8-bit dtype, or go up to 1000 in
    a wider dtype; half of the elements of a mask are true."""
    kind = DTYPES[dtype]
    if dtype == "fp8":
        return torch.randn(shape, dtype=torch.bfloat16).to(kind)
    if dtype == "bool":
        return torch.empty(shape, dtype=kind).bernoulli_(0.5)
    if not kind.is_floating_point:
        low, high = {"int8": (-128, 128), "uint8": (0, 256)}.get(dtype, (0, 1001))
        return torch.randint(low, high, shape, dtype=kind)
    return torch.randn(shape, dtype=kind).requires_grad_(grad)


def indices(*shape: int, below: int) -> Tensor:
    """Random int64 indices in [0, below)."""
    return torch.randint(0, below, shape)


def channels_last(x: Tensor, grad: bool = False) -> Tensor:
    """The same values with the channels innermost in memory, as a leaf; [N, C, H, W] or 3-d."""
    order = torch.channels_last if x.dim() == 4 else torch.channels_last_3d
    return x.detach().contiguous(memory_format=order).requires_grad_(grad)


def backward(y: Tensor, inputs: Sequence[Tensor]) -> Call:
    """A repeatable call that computes the gradients of `inputs` from a random gradient of `y`."""
    gy = torch.randn_like(y)
    differentiable = list(inputs)
    return lambda: torch.autograd.grad(y, differentiable, gy, retain_graph=True)
