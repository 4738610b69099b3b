"""Optimizers that a network runs itself, inside its forward pass."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

from simulator.tracing.recorder import Recorder
from simulator.tracing.substituted import substituted


@contextmanager
def state_exists(recorder: Recorder) -> Generator[None]:
    """Create the state of each optimizer that steps inside this context, as in all steps after the
    first: an unrecorded step runs before the optimizer's first one.

    An optimizer that the network builds inside this context has no state in any step, so its first
    step is recorded.
    """
    stepping = False
    built: WeakSet[torch.optim.Optimizer] = WeakSet()
    initialize = torch.optim.Optimizer.__init__

    def note(self: torch.optim.Optimizer, *args: Any, **kwargs: Any) -> None:
        built.add(self)
        initialize(self, *args, **kwargs)

    def create_state(
        optimizer: torch.optim.Optimizer, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        nonlocal stepping
        if stepping or optimizer.state or optimizer in built:
            return
        stepping = True
        try:
            with recorder.unrecorded():
                optimizer.step(*args[1:], **kwargs)
        finally:
            stepping = False
        for state in optimizer.state.values():
            for tensor in state.values():
                if isinstance(tensor, torch.Tensor):
                    recorder.storages.own(tensor, "optimizer")

    hook = register_optimizer_step_pre_hook(create_state)
    try:
        with substituted(torch.optim.Optimizer, __init__=note):
            yield
    finally:
        hook.remove()
