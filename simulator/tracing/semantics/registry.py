"""Where a GPU build of PyTorch dispatches another op than this build would.

One rule, one decorated function. While a network is traced, the rules stand in the dispatcher for
`meta` tensors, above autograd, so calls from Python and from C++ are caught alike.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from simulator.hardware.gpu import GPU
from simulator.tracing.recorder import Recorder

Rule = Callable[..., Any]


@dataclass(frozen=True)
class Situation:
    """What a rule may look at: the GPU traced for, and the recorder to write into."""

    gpu: GPU
    recorder: Recorder

    @property
    def capability(self) -> tuple[int, int]:
        """CUDA compute capability, or the one whose attention kernels the others offer as well that
        have matrix units for bf16 (ROCm's builds, Gaudi's FusedSDPA, torch_xla's flash_attention);
        (0, 0) where there is none."""
        if self.gpu.compute_capability:
            return self.gpu.compute_capability
        return (8, 0) if self.gpu.peak("tensor", "bf16") else (0, 0)


COMPOSITES: dict[str, Rule] = {}
"""Ops that a GPU build decomposes into others: rule(situation, *args, **kwargs)."""

META_KERNELS: dict[str, Rule] = {}
"""Ops that exist on a GPU only and have no shape rule here."""


def on_gpu(name: str) -> Callable[[Rule], Rule]:
    """Register what the composite op `name` becomes on a GPU."""
    return _register(COMPOSITES, name)


def shape_rule(name: str) -> Callable[[Rule], Rule]:
    """Register the shapes that the GPU-only op `name` returns."""
    return _register(META_KERNELS, name)


def _register(table: dict[str, Rule], name: str) -> Callable[[Rule], Rule]:
    def decorate(rule: Rule) -> Rule:
        if name in table:
            raise ValueError(f"aten::{name} has a rule already")
        table[name] = rule
        return rule

    return decorate


@contextmanager
def gpu_semantics(situation: Situation) -> Generator[None]:
    """Install every rule for `meta` tensors; remove them on the way out."""

    def bound(rule: Rule) -> Rule:
        return lambda *args, **kwargs: rule(situation, *args, **kwargs)

    library = torch.library.Library("aten", "IMPL")
    dispatcher: Any = library.m  # Library.impl refuses composites under Meta; here it is the aim
    try:
        for name, rule in COMPOSITES.items():
            dispatcher.impl(name, "AutogradMeta", bound(rule), False)
            dispatcher.impl(name, "Meta", bound(rule), False)
        for name, rule in META_KERNELS.items():
            dispatcher.impl(name, "Meta", bound(rule), False)
        yield
    finally:
        library._destroy()
