"""Rules for ops that a GPU build of PyTorch dispatches differently from this build.

A rule is one decorated function. While a network is traced, the rules are registered in the
dispatcher for `meta` tensors, above autograd, so that they apply to calls from Python and C++.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from simulator.hardware.gpu import GPU
from simulator.modes import Run
from simulator.tracing.recorder import Recorder

Rule = Callable[..., Any]


@dataclass(frozen=True)
class Situation:
    """The inputs of a rule: the GPU that is predicted, the recorder of the trace, and the run."""

    gpu: GPU
    recorder: Recorder
    run: Run = "eager"

    @property
    def capability(self) -> tuple[int, int]:
        """The CUDA compute capability. For other GPUs with matrix units for bf16 it is (8, 0),
        because they offer its attention kernels (ROCm's builds, Gaudi's FusedSDPA, torch_xla's
        flash_attention); else (0, 0)."""
        if self.gpu.compute_capability:
            return self.gpu.compute_capability
        return (8, 0) if self.gpu.peak("tensor", "bf16") else (0, 0)


COMPOSITES: dict[str, Rule] = {}
"""Ops that a GPU build decomposes into others: rule(situation, *args, **kwargs)."""

META_KERNELS: dict[str, Rule] = {}
"""Ops whose shape rule is missing in this build, or differs."""

EAGER_GRADIENTS: dict[str, Rule] = {}
"""Ops whose gradient takes another path in eager mode than while a tracer watches."""


def on_gpu(name: str) -> Callable[[Rule], Rule]:
    """Register the decomposition of the composite op `name` on a GPU."""
    return _register(COMPOSITES, name)


def shape_rule(name: str) -> Callable[[Rule], Rule]:
    """Register the shapes that the GPU-only op `name` returns."""
    return _register(META_KERNELS, name)


def eager_gradient(name: str) -> Callable[[Rule], Rule]:
    """Register the op `name` with the gradient that it has in eager mode."""
    return _register(EAGER_GRADIENTS, name)


def _register(table: dict[str, Rule], name: str) -> Callable[[Rule], Rule]:
    def decorate(rule: Rule) -> Rule:
        if name in table:
            raise ValueError(f"aten::{name} already has a rule")
        table[name] = rule
        return rule

    return decorate


@contextmanager
def gpu_semantics(situation: Situation) -> Generator[None]:
    """Register every rule for `meta` tensors while entered. Rules run in each call, because they
    may give tensors a role."""
    gradients = {} if situation.run == "compiled" else EAGER_GRADIENTS
    excluded = frozenset({*COMPOSITES, *META_KERNELS, *gradients})
    situation.recorder.repeated_calls.share(excluded, situation.gpu)

    def bound(rule: Rule) -> Rule:
        return lambda *args, **kwargs: rule(situation, *args, **kwargs)

    library = torch.library.Library("aten", "IMPL")
    dispatcher: Any = (
        library.m
    )  # Library.impl rejects composites under Meta, which is intended here
    try:
        for name, rule in COMPOSITES.items():
            dispatcher.impl(name, "AutogradMeta", bound(rule), False)
            dispatcher.impl(name, "Meta", bound(rule), False)
        for name, rule in META_KERNELS.items():
            dispatcher.impl(name, "Meta", bound(rule), False)
        for name, rule in gradients.items():
            dispatcher.impl(name, "AutogradMeta", bound(rule), False)
        yield
    finally:
        library._destroy()
