"""Functions under `torch.compile`, registered for timing.

A function is compiled if its operands are in memory; on meta tensors it runs op by op, so that the
same point can be traced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
import torch._dynamo.config
from torch import Tensor

from calibration.sweeps.registry import Call, Params, operation

Function = Callable[..., Any]
MOST_SHAPES = 4096
"""Maximum number of compiled versions of one function per process; by default the ninth would run
uncompiled."""


def points(sizes: Iterable[Params], half: Sequence[str] = ("bf16",)) -> list[Params]:
    """Add dtypes to sizes: each size in `half`, every second one also in fp32, and the middle one
    also in fp16."""
    every = list(sizes)
    return [
        *({"dtype": dtype, **size} for size in every for dtype in half),
        *({"dtype": "fp32", **size} for size in every[1::2]),
        {"dtype": "fp16", **every[len(every) // 2]},
    ]


def generated(
    sizes: Callable[[], Iterable[Params]],
) -> Callable[[Callable[..., Call]], Callable[..., Call]]:
    """Register a function whose kernels are generated."""
    return operation(sizes, kind="generated")


def compiled(function: Function, operands: Sequence[Tensor]) -> Call:
    """The call of `function(*operands)`."""
    run = _run(function, operands)
    return lambda: run(*operands)


class Trained:
    """The call that runs `function(*operands)` forward and backward, from a random gradient to the
    gradients of all operands that require one."""

    def __init__(self, function: Function, operands: Sequence[Tensor]) -> None:
        self.operands = operands
        self.run = _run(function, operands)
        with torch.no_grad():
            self.gradient = torch.randn_like(function(*operands))
        self.wanted = [each for each in operands if each.requires_grad]

    def forward(self) -> Tensor:
        """The call that runs only the forward pass."""
        return self.run(*self.operands)

    def __call__(self) -> object:
        output = self.forward()  # returned too, since otherwise the kernel would have less work
        return output, torch.autograd.grad(output, self.wanted, self.gradient)


def _run(function: Function, operands: Sequence[Tensor]) -> Function:
    if operands[0].device.type == "meta":
        return function
    compiled = torch.compile(function, dynamic=False)
    limits = torch._dynamo.config.patch(
        recompile_limit=MOST_SHAPES, accumulated_recompile_limit=MOST_SHAPES * 64
    )

    def run(*operands: Tensor) -> Any:
        with limits:
            return compiled(*operands)

    return run
