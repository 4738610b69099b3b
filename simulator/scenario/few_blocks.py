"""The trace of a deep catalogue network, derived from a trace of a few of its identical blocks."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from msgspec.structs import replace

from simulator.blocks.growth import Growth, growth
from simulator.blocks.runs import LEAST, UnequalBlocksError, path_of_blocks
from simulator.caches.lru import LRUCache
from simulator.hardware.gpu import GPU
from simulator.networks.catalogue import depth
from simulator.networks.loading.loaded import Facts
from simulator.records import Trace
from simulator.scenario.gpu_class import traced_properties
from simulator.scenario.resolved import TraceRequest

Tracer = Callable[[TraceRequest, GPU], tuple[Trace, Facts]]

_SHALLOW = 2 * LEAST + 1
"""Up to this number of blocks, tracing all blocks takes no longer than tracing a few twice."""
_DEEPEST = 1024
_ATTEMPTS = 2
"""The first trace also counts work that a process does once, so a second attempt may succeed."""
_GROWTHS: LRUCache[Growth | None] = LRUCache(64)
_LAST: LRUCache[tuple[Trace, Facts]] = LRUCache(1)
"""The last trace of a few blocks, which was traced to derive the growth and serves the first
request."""


def trace_of_few_blocks(
    request: TraceRequest, gpu: GPU, tracer: Tracer
) -> tuple[Trace, Facts] | None:
    """Return the trace and facts of a request, derived from a trace of a few of its blocks that
    `tracer` makes. Return None if the network is shallow, its blocks differ, or the request names
    blocks or data-dependent sizes."""
    layers = depth(request.network, dict(request.sizes))
    if layers is None or not _SHALLOW < layers <= _DEEPEST:
        return None
    if request.frozen or request.module_dtypes or request.data_sizes or request.checkpoint:
        return None
    few = _with_layers(request, LEAST)
    card = traced_properties(request.network, gpu)
    key = replace(few, batch=None, seq=None), card

    def traced() -> tuple[Trace, Facts]:
        return _LAST.get((few, card), lambda: tracer(few, gpu))

    more = _GROWTHS.get(key, lambda: _growth(few, gpu, tracer, traced))
    if more is None:
        return None
    trace, facts = traced()
    try:
        return more.grown(trace, layers), facts
    except UnequalBlocksError:
        return None


def _growth(
    few: TraceRequest, gpu: GPU, tracer: Tracer, traced: Callable[[], tuple[Trace, Facts]]
) -> Growth | None:
    """The growth of the trace of a few blocks by one more block; None if blocks differ."""
    for _ in range(_ATTEMPTS):
        more, _ = tracer(_with_layers(few, LEAST + 1), gpu)
        trace, _ = traced()
        with suppress(UnequalBlocksError):
            return growth(trace, more, path_of_blocks(trace))
        _LAST.clear()
    return None


def _with_layers(request: TraceRequest, layers: int) -> TraceRequest:
    sizes = {**dict(request.sizes), "layers": layers}
    return replace(request, sizes=tuple(sorted(sizes.items())))
