"""Optimizers that a network runs itself, inside its forward pass."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

from simulator.tracing.recorder import Recorder


@contextmanager
def state_exists(recorder: Recorder) -> Generator[None]:
    """Let each optimizer that steps while this is entered have its state already, as in all steps
    but the first: one more step before it, unrecorded, creates the state.

    A step with a closure runs the network again, so its state is created where it is recorded.
    """
    stepping = False

    def create_state(optimizer: torch.optim.Optimizer, args: tuple[Any, ...], _: Any) -> None:
        nonlocal stepping
        if stepping or optimizer.state or len(args) > 1:
            return
        stepping = True
        try:
            with recorder.paused():
                optimizer.step()
        finally:
            stepping = False
        for state in optimizer.state.values():
            for tensor in state.values():
                if isinstance(tensor, torch.Tensor):
                    recorder.storages.own(tensor, "optimizer")

    hook = register_optimizer_step_pre_hook(create_state)
    try:
        yield
    finally:
        hook.remove()
