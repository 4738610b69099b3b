"""The cost of a function in registers: chains of one function, long enough to be compute-bound.

Each chain maps results back into a range in which the function is smooth and fast: no overflow, no
denormal numbers, no angle beyond the fast path of a sine.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from calibration.generated.compiled import compiled, generated
from calibration.sweeps.operands import random
from calibration.sweeps.registry import Call, Params

CHAINED: dict[str, Callable[[Tensor], Tensor]] = {
    "multiply_add": lambda x: x * 0.9 + 0.1,
    "sin": torch.sin,
    "cos": torch.cos,
    "exp": lambda x: torch.exp(-x),
    "exp2": lambda x: torch.exp2(-x),
    "expm1": lambda x: torch.expm1(-x),
    "log": lambda x: torch.log(x.abs() + 1),
    "log2": lambda x: torch.log2(x.abs() + 1),
    "log1p": lambda x: torch.log1p(x.abs()),
    "sigmoid": torch.sigmoid,
    "silu": F.silu,
    "tanh": torch.tanh,
    "erf": torch.erf,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "softplus": F.softplus,
    "mish": F.mish,
    "hardswish": F.hardswish,
    "elu": F.elu,
    "leaky_relu": lambda x: F.leaky_relu(x, 0.9) + 0.1,
    "where": lambda x: torch.where(x > 0.5, x * 0.9, x + 0.1),
    "clamp": lambda x: torch.clamp(x + 0.1, -1, 1),
    "sqrt": lambda x: torch.sqrt(x.abs() + 1),
    "rsqrt": lambda x: torch.rsqrt(x.abs() + 1),
    "reciprocal": lambda x: torch.reciprocal(x.abs() + 1),
    "div": lambda x: (x + 1) / (x * x + 2),
    "pow": lambda x: torch.pow(x.abs() + 0.1, 0.7),
}


def _points() -> list[Params]:
    return [
        {"name": name, "dtype": "fp32", "size": 2**24, "ops": ops}
        for name in CHAINED
        for ops in (4, 16)
    ]


@generated(_points)
def generated_function_chain(name: str, dtype: str, size: int, ops: int) -> Call:
    """Apply a function to its own result, `ops` times."""
    function = CHAINED[name]

    def chain(x: Tensor) -> Tensor:
        for _ in range(ops):
            x = function(x)
        return x

    return compiled(chain, [random(size, dtype=dtype)])
