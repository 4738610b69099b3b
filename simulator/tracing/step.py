"""Trace one step of a network that runs on tensors without memory."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Set
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.utils._pytree import tree_leaves

from simulator.errors import InputError
from simulator.hardware.gpu import GPU
from simulator.hardware.gpu import gpu as find_gpu
from simulator.modes import Run
from simulator.networks.product_settings import current
from simulator.records import Storage, Trace
from simulator.tracing import dynamo
from simulator.tracing.attempts import may_be_untrue, run_that_succeeds
from simulator.tracing.inner_optimizers import state_exists
from simulator.tracing.loss import Loss, loss_of
from simulator.tracing.meta import weightless, weightless_inputs
from simulator.tracing.mode_flags import Flags
from simulator.tracing.python_code.user_code import is_user_code
from simulator.tracing.raising import as_input_error
from simulator.tracing.recorder import Recorder
from simulator.tracing.simulated_gpu import simulated_gpu

OPTIMIZERS: dict[str, Callable[[list[nn.Parameter]], torch.optim.Optimizer]] = {
    "adamw": lambda weights: torch.optim.AdamW(weights, lr=1e-3),
    "adamw_fused": lambda weights: torch.optim.AdamW(weights, lr=1e-3, fused=True),
    "sgd": lambda weights: torch.optim.SGD(weights, lr=1e-3, momentum=0.9),
}
PHASES = ("inference", "training")
_NO_DATA = "correct the network or its inputs; Ridgepoint runs tensors without data"
_NO_GRADIENT = (
    "expected a gradient for every op: register one for a custom op (register_autograd), or "
    "predict inference"
)
_OTHER_OPTIMIZER = "expected gradients that this optimizer supports: choose another optimizer"


def trace(
    module: nn.Module,
    args: tuple[Any, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    phase: str = "inference",
    loss: Loss | None = None,
    optimizer: str | None = "adamw",
    gpu: GPU | str = "h200",
    sizes: Mapping[str, int] | None = None,
    autocast: str | None = None,
    run: Run = "eager",
) -> Trace:
    """The ops that one eager step dispatches on `gpu`, without a GPU and without weights.

    `module` and the tensors among `args` and `kwargs` may live on any device, `meta` included;
    neither is changed. A training step is forward, `loss` (by default the output's `.loss`, else
    the mean of its squares), backward and the optimizer's second step, when its state exists.
    Of a network that computes tensors once and keeps them, the second step is traced.
    `sizes` answers data-dependent ops by name; `autocast` ("bf16", "fp16") wraps forward and loss
    in `torch.autocast("cuda", ...)`. Code that queries whether it is captured or compiled gets the
    answer for `run`; `Trace.asked` names the functions that it called. The process's settings of
    float32 products and of cuBLAS's workspace hold for the step. Raises InputError if the network
    cannot be run.
    """
    if not isinstance(module, nn.Module):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InputError(
            f"cannot trace {type(module).__name__}: expected an nn.Module; pass the module itself"
        )
    if phase not in PHASES:
        raise InputError(f"unknown phase {phase!r}: expected 'inference' or 'training'")
    if optimizer is not None and optimizer not in OPTIMIZERS:
        names = ", ".join(map(repr, OPTIMIZERS))
        raise InputError(f"unknown optimizer {optimizer!r}: expected one of {names} or None")
    gpu = find_gpu(gpu) if isinstance(gpu, str) else gpu
    training = phase == "training"

    def traced_step(false_at: Set[str]) -> _Step:
        copy = weightless(module).train(training)
        inputs = weightless_inputs(tuple(args)), weightless_inputs(dict(kwargs or {}))

        def step() -> _Step:
            recorder, tensors = _recorder(copy, inputs, sizes or {}, false_at)
            recorder.has_tf32 = bool(gpu.peak("tensor", "tf32"))
            with simulated_gpu(gpu, recorder, copy, run, imports_dynamo=False) as flags:
                if training:
                    _training_step(copy, *inputs, loss, optimizer, autocast, recorder)
                else:
                    _inference_step(copy, *inputs, autocast, recorder)
            return _Step(copy, tensors, recorder, flags)

        return _later(copy, step)

    copy, tensors, recorder, flags = run_that_succeeds(
        lambda false_at: dynamo.traced(lambda: traced_step(false_at))
    )
    storages = recorder.storages.records()
    _check_bytes(storages)
    batch = [t for t in tensors if t.dim() > 0]
    samples = batch[0].shape[0] if batch else 1
    tokens = next((t.numel() for t in batch if t.dim() == 2 and not t.is_floating_point()), None)
    weights = list(copy.parameters())
    forward = sum(op.phase == "forward" for op in recorder.ops)
    return Trace(
        ops=recorder.ops,
        storages=storages,
        phase="training" if training else "inference",
        optimizer=optimizer if training else None,
        samples=samples,
        tokens=tokens,
        parameters=sum(w.numel() for w in weights),
        weight_bytes=sum(w.numel() * w.element_size() for w in weights),
        assumptions=recorder.assumptions,
        torch_version=str(torch.__version__),
        gpu=gpu.id,
        **recorder.tail(),
        breaks=recorder.breaks.graph_breaks(forward),
        code=_forward_lines(copy),
        run=run,
        asked=sorted(flags.queried),
        workspace_configured=current().workspace is not None,
    )


class _Step(NamedTuple):
    """A traced step: the network without data, its inputs, the recorder and the mode flags."""

    module: nn.Module
    tensors: list[torch.Tensor]
    recorder: Recorder
    flags: Flags


def _later(module: nn.Module, step: Callable[[], _Step]) -> _Step:
    """The second step if it has fewer ops than the first, which then computed tensors that the
    network keeps, such as a table of positions; else the first, also if the second fails. A
    network that keeps no new tensor runs one step."""
    first = step()
    leaves = [*module.parameters(), *first.tensors]
    if not first.recorder.storages.outlive(t.grad for t in leaves if t.grad is not None):
        return first
    for leaf in leaves:
        leaf.grad = None
    try:
        second = step()
    except InputError:
        return first
    return second if len(second.recorder.ops) < len(first.recorder.ops) else first


def _recorder(
    module: nn.Module, inputs: Any, sizes: Mapping[str, int], false_at: Set[str]
) -> tuple[Recorder, list[torch.Tensor]]:
    """A recorder with the role of each tensor, and the input tensors."""
    recorder = Recorder(sizes, false_at)
    for parameter in module.parameters():
        recorder.storages.own(parameter, "weight")
    for buffer in module.buffers():
        recorder.storages.own(buffer, "buffer")
    tensors = [t for t in tree_leaves(inputs) if isinstance(t, torch.Tensor)]
    for tensor in tensors:
        recorder.storages.own(tensor, "input")
    return recorder, tensors


_MOST_BYTES = 2**60
"""Bytes of all tensors of a step, bounded so that sums fit into 64 bits."""


def _check_bytes(storages: list[Storage]) -> None:
    total = sum(storage.nbytes for storage in storages)
    if total > _MOST_BYTES:
        raise InputError(
            f"the tensors of the step have {total:.3g} bytes in total: expected at most 2**60 "
            "(1 EiB); give smaller sizes, or a smaller batch"
        )


def _forward_lines(module: nn.Module) -> dict[str, str]:
    """The first line of each module's `forward`, such as "nets.py, line 31", by module path."""
    lines: dict[str, str] = {}
    for path, child in module.named_modules():
        code = getattr(inspect.unwrap(type(child).forward), "__code__", None)
        if code is not None and is_user_code(code):
            lines[path] = f"{Path(code.co_filename).name}, line {code.co_firstlineno}"
    return lines


def _forward(
    module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], recorder: Recorder
) -> Any:
    data_sizes = recorder.data_sizes
    with (
        may_be_untrue(data_sizes),
        as_input_error(module, "forward", _NO_DATA, (args, kwargs), data_sizes.remedy),
    ):
        return module(*args, **kwargs)


def _autocast(precision: str | None) -> torch.autocast:
    dtypes = {"bf16": torch.bfloat16, "fp16": torch.float16, None: torch.bfloat16}
    if precision not in dtypes:
        raise InputError(f"unknown autocast dtype {precision!r}: expected 'bf16' or 'fp16'")
    return torch.autocast("cuda", dtype=dtypes[precision], enabled=precision is not None)


def _inference_step(
    module: nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    autocast: str | None,
    recorder: Recorder,
) -> None:
    with torch.no_grad(), state_exists(recorder), recorder, recorder.counting_python():
        if autocast is None:
            output = _forward(module, args, kwargs, recorder)
        else:
            with _autocast(autocast):
                output = _forward(module, args, kwargs, recorder)
    _ = output  # the result is alive until the step ends, as in a loop that reads it


def _training_step(
    module: nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    loss: Loss | None,
    optimizer: str | None,
    autocast: str | None,
    recorder: Recorder,
) -> None:
    weights = [w for w in module.parameters() if w.requires_grad]
    with torch.enable_grad(), state_exists(recorder), recorder, recorder.counting_python():
        if autocast is None:
            value = loss_of(module, loss, _forward(module, args, kwargs, recorder))
        else:
            with _autocast(autocast):
                value = loss_of(module, loss, _forward(module, args, kwargs, recorder))
        if not value.requires_grad:
            raise InputError(
                f"the loss of {type(module).__name__} depends on no trainable parameter: expected "
                "at least one parameter with requires_grad; predict phase='inference' instead"
            )
        recorder.phase = "backward"
        with (
            may_be_untrue(recorder.data_sizes),
            as_input_error(module, "backward", _NO_GRADIENT),
        ):
            value.backward()
        del value
    for weight in weights:
        if weight.grad is not None:
            recorder.storages.own(weight.grad, "gradient")
    if optimizer is None:
        return
    with dynamo.graph_breaks_ignored():
        stepper = OPTIMIZERS[optimizer](weights)
        with as_input_error(module, f"step of {optimizer}", _OTHER_OPTIMIZER):
            stepper.step()  # creates its state; only later steps repeat
        for state in stepper.state.values():
            for tensor in state.values():
                if isinstance(tensor, torch.Tensor):
                    recorder.storages.own(tensor, "optimizer")
        recorder.phase = "optimizer"
        with recorder, recorder.counting_python():
            stepper.step()
            stepper.zero_grad()
