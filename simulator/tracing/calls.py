"""Trace a single call, such as a softmax of 4096 rows."""

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
from simulator.tracing.simulated_gpu import simulated_gpu


def trace_call(
    make: Callable[[], Callable[[], object]], gpu: GPU | str = "h200", run: Run = "eager"
) -> Trace:
    """The ops that the call returned by `make()` dispatches on `gpu`.

    `make` allocates the operands on torch's default device, here `meta`, and may run a forward
    pass; `make` itself is not recorded. The callable that it returns is run once, with grad mode on
    as in eager PyTorch, and may be a backward pass. The operands count as inputs, the call as one
    sample of an inference step. Raises InputError if `make` or the call cannot run without data.
    """
    gpu = find_gpu(gpu) if isinstance(gpu, str) else gpu
    recorder = Recorder({})
    with simulated_gpu(gpu, recorder, nn.Module(), run), torch.enable_grad():
        try:
            with META:
                call = make()
            with recorder, recorder.counting_python():
                result = call()
        except InputError:
            raise
        except Exception as error:
            raise InputError(
                f"the call cannot be traced: {type(error).__name__}: {error}: expected a call "
                "that runs on tensors of the meta device, without data; read values before the call"
            ) from error
    storages = [
        msgspec.structs.replace(s, role="input") if s.born < 0 and s.role == "activation" else s
        for s in recorder.storages.records()
    ]
    _ = result  # the result is alive until here, as in a loop that keeps the last result
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
        gpu=gpu.id,
    )
    return msgspec.structs.replace(trace, **recorder.tail())
