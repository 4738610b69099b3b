"""One call by itself, such as a softmax of 4096 rows, traced as a step of a network is."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import torch
from torch import nn

from simulator.errors import InputError
from simulator.hardware.gpu import GPU
from simulator.hardware.gpu import gpu as find_gpu
from simulator.modes import Run
from simulator.records import Trace
from simulator.tracing.device import META
from simulator.tracing.recorder import Recorder
from simulator.tracing.step import on_card


def trace_call(
    make: Callable[[], Callable[[], object]], gpu: GPU | str = "h200", run: Run = "eager"
) -> Trace:
    """The ops that the call returned by `make()` dispatches on `gpu`.

    `make` allocates the operands on torch's default device, which is `meta` here, and may run a
    forward pass; nothing of it is recorded. What it returns is run once, grad mode on as in eager
    PyTorch: it may be a backward pass. Operands made before count as inputs, and the call as one
    sample of an inference step. Raises InputError when either cannot be run on tensors without
    data.
    """
    card = find_gpu(gpu) if isinstance(gpu, str) else gpu
    recorder = Recorder({})
    with on_card(card, recorder, nn.Module(), run), torch.enable_grad():
        try:
            with META:
                call = make()
            with recorder, recorder.counting_python():
                result = call()
        except InputError:
            raise
        except Exception as error:
            raise InputError(
                f"the call cannot be traced: {type(error).__name__}: {error}. Expected one that "
                "runs on tensors of the meta device, without their data"
            ) from error
    storages = [
        msgspec.structs.replace(s, role="input") if s.born < 0 and s.role == "activation" else s
        for s in recorder.storages()
    ]
    _ = result  # alive until here, as in a loop that keeps the result of the last call
    trace = Trace(
        ops=recorder.ops,
        storages=storages,
        phase="inference",
        optimizer=None,
        samples=1,
        tokens=None,
        parameters=0,
        weight_bytes=0,
        assumptions=recorder.assumptions,
        torch_version=str(torch.__version__),
        gpu=card.id,
    )
    return msgspec.structs.replace(trace, **recorder.tail())
