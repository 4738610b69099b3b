"""Trace the module of a request, with a progress watch and the requested attention kernel.

If the blocks of a deep network are identical, only a few are traced; `whole_trace` traces all.
"""

from __future__ import annotations

from contextlib import nullcontext
from threading import RLock

from simulator.hardware.gpu import GPU
from simulator.networks.loading.loaded import Facts
from simulator.networks.loading.watching import watched
from simulator.records import Trace
from simulator.scenario.few_blocks import trace_of_few_blocks
from simulator.scenario.module import AUTOCAST, forced_attention, loaded
from simulator.scenario.resolved import TraceRequest

_LOCK = RLock()


def trace_module(request: TraceRequest, gpu: GPU) -> tuple[Trace, Facts]:
    """The trace of a request without its edits, and the network's facts with the batch filled in.

    One thread traces at a time. Raises InputError if the network cannot be traced.
    """
    return trace_of_few_blocks(request, gpu, whole_trace) or whole_trace(request, gpu)


def whole_trace(request: TraceRequest, gpu: GPU) -> tuple[Trace, Facts]:
    """`trace_module`, with all blocks traced."""
    # torch is imported only where a network is traced
    from simulator.networks.product_settings import own_settings
    from simulator.tracing import trace
    from simulator.tracing.dynamo import called_directly
    from simulator.tracing.python_code.user_code import place_of

    with (
        _LOCK,
        watched(f"tracing {request.network}", place_of),
        forced_attention(request.sdpa) if request.sdpa else nullcontext(),
        called_directly(),
        own_settings(),
    ):
        network = loaded(request)
        step = trace(
            network.module,
            network.args,
            network.kwargs,
            gpu=gpu,
            autocast=AUTOCAST.get(request.dtype),
            phase="training" if request.training else "inference",
            sizes=dict(request.data_sizes),
            optimizer=request.optimizer,
            run=request.run,
        )
    name, batch, seq = network.facts
    return step, Facts(name, batch or step.samples, seq)
