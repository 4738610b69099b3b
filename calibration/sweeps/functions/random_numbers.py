"""Functions that draw random numbers, or fill tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from calibration.sweeps.functions.table import Function


def _of(functions: dict[str, Callable[..., Any]], *fields: Any, **more: Any) -> dict[str, Function]:
    return {name: Function(call, *fields, gradient=False, **more)
            for name, call in functions.items()}  # fmt: skip


DRAWN: dict[str, Function] = {
    **_of({
        "rand_like": torch.rand_like, "randn_like": torch.randn_like, "ones_like": torch.ones_like,
        "zeros_like": torch.zeros_like, "bernoulli": lambda x: torch.empty_like(x).bernoulli_(0.3),
        "exponential": lambda x: torch.empty_like(x).exponential_(),
        "log_normal": lambda x: torch.empty_like(x).log_normal_(), "cauchy": lambda x:
            torch.empty_like(x).cauchy_(),
            "geometric": lambda x: torch.empty_like(x).geometric_(0.3),
        "uniform": lambda x: torch.empty_like(x).uniform_(-1, 1), "noised": lambda x:
            x + 0.1 * torch.randn_like(x), "full": lambda x: torch.full_like(x, 0.5),
    }),
    **_of({"randint": lambda x: torch.randint_like(x, 0, 1000)}, dtypes=("int64", "int32")),
    **_of({
        "poisson": torch.poisson, "bernoulli of each": lambda x: torch.bernoulli(x.clamp(0, 1)),
    }, values="positive", dtypes=("fp32",)),
    **_of({
        "multinomial": lambda x: x.softmax(-1).multinomial(1), "sampled": lambda x: (
            x.softmax(-1) / torch.empty_like(x).exponential_()).argmax(-1),
        "multinomial of 8": lambda x: x.softmax(-1).multinomial(8, replacement=True),
    }, "rows", dtypes=("fp32",), most_elements=2**22),
    **_of({
        "randperm": lambda x: torch.randperm(x.numel(), device=x.device),
        "arange": lambda x: torch.arange(x.numel(), device=x.device),
        "linspace": lambda x: torch.linspace(0, 1, x.numel(), device=x.device),
        "eye": lambda x: torch.eye(x.shape[0] % 4096 + 1, device=x.device),
        "triangle": lambda x: x.new_ones(x.shape[-1] % 4096 + 1, x.shape[-1] % 4096 + 1).tril(),
        "meshgrid": lambda x: torch.stack(torch.meshgrid(
            torch.arange(x.shape[0] % 2048 + 1, device=x.device),
            torch.arange(x.shape[-1] % 2048 + 1, device=x.device), indexing="ij"), -1),
        "sinusoids": lambda x: torch.outer(
            torch.arange(x.shape[0] % 4096 + 1.0, device=x.device),
            torch.logspace(0, -4, 64, device=x.device)).sin(),
    }, "rows"),
}  # fmt: skip
"""Functions that draw numbers, by name."""
