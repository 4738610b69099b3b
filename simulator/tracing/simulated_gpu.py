"""Make tensors without memory behave as on a GPU, for the code of a network."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Any

from torch import nn
from torch.nn.modules import module as hooks

from simulator.hardware.gpu import GPU
from simulator.modes import Run
from simulator.tracing import dynamo
from simulator.tracing.device import OnGpu, fake_cuda
from simulator.tracing.flex_attention import traceable_flex_attention
from simulator.tracing.mode_flags import Flags, mode_flags
from simulator.tracing.other_threads import one_thread
from simulator.tracing.recorder import Recorder
from simulator.tracing.semantics import Situation, gpu_semantics
from simulator.tracing.semantics.autocast import autocast_semantics
from simulator.tracing.semantics.fast_path import without_mode

_ONE_AT_A_TIME = threading.Lock()  # the dispatcher's rules are global


@contextmanager
def simulated_gpu(
    gpu: GPU,
    recorder: Recorder,
    module: nn.Module,
    run: Run = "eager",
    answers: OnGpu | None = None,
    *,
    imports_dynamo: bool = True,
) -> Generator[Flags]:
    """Make tensors on `meta` behave as on `gpu`, answer queries of the mode as for `run`, and keep
    `recorder.module_path` at the part of `module` that runs.

    A step that is not under `dynamo.traced` imports Dynamo before it runs.
    """
    if imports_dynamo:
        import_module("torch._dynamo")
    with ExitStack() as stack:
        stack.enter_context(_ONE_AT_A_TIME)
        stack.enter_context(one_thread())
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")  # warnings about a missing GPU
        stack.enter_context(fake_cuda(gpu))
        stack.enter_context(gpu_semantics(Situation(gpu, recorder, run)))
        stack.enter_context(autocast_semantics())
        stack.enter_context(_module_paths(recorder, module))
        stack.enter_context(dynamo.not_compiling())
        stack.enter_context(traceable_flex_attention(recorder, run))
        stack.enter_context(answers or OnGpu(recorder))
        stack.enter_context(without_mode(recorder, OnGpu))
        yield stack.enter_context(mode_flags(run, recorder))


@contextmanager
def _module_paths(recorder: Recorder, module: nn.Module) -> Generator[None]:
    """Keep `recorder.module_path` at the module that is running, by its path in `module` or in the
    outermost module that runs it."""
    paths = {id(child): name for name, child in module.named_modules()}
    stack: list[str] = [""]

    def enter(child: nn.Module, _: Any) -> None:
        if len(stack) == 1 and id(child) not in paths:
            was_busy, recorder.busy = recorder.busy, True
            paths.update((id(part), name) for name, part in child.named_modules())
            recorder.busy = was_busy
        recorder.module_calls += 1
        recorder.python_calls -= 1  # torch calls `inner` only if hooks exist, and this one does
        stack.append(paths.get(id(child), stack[-1]))
        recorder.module_path = stack[-1]

    def leave(child: nn.Module, _: Any, output: Any) -> None:
        stack.pop()
        recorder.module_path = stack[-1]

    before = hooks.register_module_forward_pre_hook(enter)
    after = hooks.register_module_forward_hook(leave, always_call=True)
    try:
        yield
    finally:
        before.remove()
        after.remove()
