"""The weights, gradients and optimizer state of a running program, and the phase of its step."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.nn.modules import module as hooks
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from torch.utils._pytree import tree_leaves

from simulator.records import Role
from simulator.tracing.device import OnRank
from simulator.tracing.parallel.recorder import RankRecorder
from simulator.tracing.substituted import substituted


@dataclass
class TensorRoles:
    """Tensors by their ids, and the optimizer's name in lower case."""

    weights: dict[int, torch.Tensor] = field(default_factory=dict[int, torch.Tensor])
    buffers: dict[int, torch.Tensor] = field(default_factory=dict[int, torch.Tensor])
    state: dict[int, torch.Tensor] = field(default_factory=dict[int, torch.Tensor])
    optimizer: str | None = None


@contextmanager
def tensor_roles(recorder: RankRecorder, answers: OnRank) -> Generator[TensorRoles]:
    """Collect the roles of the tensors used inside this context, and set the recorder's phase."""
    roles = TensorRoles()
    visited: set[int] = set()

    def forward(module: nn.Module, _: Any) -> None:
        was_busy, recorder.busy = recorder.busy, True
        recorder.phase = "forward" if not recorder.backward_depth else recorder.phase
        if id(module) not in visited:
            visited.add(id(module))
            roles.weights.update((id(p), p) for p in module.parameters(recurse=False))
            roles.buffers.update((id(b), b) for b in module.buffers(recurse=False))
        recorder.busy = was_busy

    def before_update(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        was_busy, recorder.busy = recorder.busy, True
        roles.optimizer = type(optimizer).__name__.lower()
        recorder.phase = "optimizer"
        for group in optimizer.param_groups:
            for p in group["params"]:
                roles.weights[id(p)] = p
                if p.grad is not None and recorder.ops:
                    _record_role(recorder, p.grad, "gradient")
        recorder.busy = was_busy

    def after_update(optimizer: torch.optim.Optimizer, *_: Any) -> None:
        was_busy, recorder.busy = recorder.busy, True
        for leaf in tree_leaves(list(optimizer.state.values())):
            if isinstance(leaf, torch.Tensor):
                roles.state[id(leaf)] = leaf
        recorder.busy = was_busy

    engine = torch.autograd._engine_run_backward  # pyright: ignore
    autograd_backward = torch.autograd.backward

    def begin(*args: Any, **kwargs: Any) -> Any:
        recorder.phase = "backward"
        return autograd_backward(*args, **kwargs)

    def backward(*args: Any, **kwargs: Any) -> Any:
        recorder.phase = "backward"
        recorder.backward_depth += 1
        try:
            with answers:  # a function mode is off inside its own calls, such as Tensor.backward
                return engine(*args, **kwargs)
        finally:
            recorder.backward_depth -= 1

    handles = [
        hooks.register_module_forward_pre_hook(forward),
        register_optimizer_step_pre_hook(before_update),
        register_optimizer_step_post_hook(after_update),
    ]
    try:
        with substituted(torch.autograd, _engine_run_backward=backward, backward=begin):
            yield roles
    finally:
        for handle in handles:
            handle.remove()


def record_roles(recorder: RankRecorder, roles: TensorRoles) -> None:
    """Give the storages of weights, buffers and optimizer state their roles."""
    by_role: list[tuple[Role, dict[int, torch.Tensor]]] = [
        ("weight", roles.weights),
        ("buffer", roles.buffers),
        ("optimizer", roles.state),
    ]
    for role, tensors in by_role:
        for tensor in tensors.values():
            _record_role(recorder, tensor, role)


def _record_role(recorder: RankRecorder, tensor: torch.Tensor, role: Role) -> None:
    local = getattr(tensor, "_local_tensor", tensor)
    with contextlib.suppress(NotImplementedError, RuntimeError):
        recorder.storages.own(local, role)
